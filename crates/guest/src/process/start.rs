//! `Start`: from the request to a supervised process.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use hood_wire::Level;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::LOGGER;
use super::ending::{self, Cause};
use super::input::Input;
use super::outlet::{Outlet, Reader};
use super::pump::Pump;
use super::table::Process;
use super::wire::{Output, Pty, StartRequest};
use crate::app::App;
use crate::connect::{Code, ConnectError};
use crate::launch::{self, Launch, Running, Stdio};
use crate::limits::MAX_TAG;
use crate::oom::OomWatch;
use crate::reaper::Exit;
use crate::sys;

/// Size of a terminal whose request names none.
const DEFAULT_COLS: u16 = 80;
const DEFAULT_ROWS: u16 = 24;

/// Starts it and its supervisor. The reader has been there from before the first output.
pub(super) fn start(
    app: &App,
    user: Option<String>,
    deadline: Option<Instant>,
    request: StartRequest,
) -> Result<(u32, Reader), ConnectError> {
    let invalid = |message: String| ConnectError::new(Code::InvalidArgument, message);
    let config = request.process.unwrap_or_default();
    if config.cmd.is_empty() {
        return Err(invalid("`process.cmd` is missing: there is nothing to start".to_owned()));
    }
    if let Some(tag) = request.tag.as_ref().filter(|tag| tag.len() > MAX_TAG) {
        return Err(invalid(format!("the tag is {} bytes long, at most {MAX_TAG} are possible", tag.len())));
    }
    app.processes.check_room(&config)?;
    let stdio = match (request.pty, request.stdin) {
        (Some(pty), _) => {
            let (cols, rows) = size(pty)?;
            Stdio::Terminal { cols, rows }
        }
        (None, Some(false)) => Stdio::Output,
        (None, _) => Stdio::Piped,
    };
    let outlet = Arc::new(Outlet::default());
    let reader = outlet.subscribe()?;
    let oom = OomWatch::begin();
    let running = launch::launch(
        app,
        Launch {
            program: config.cmd.clone(),
            args: config.args.clone(),
            env: config.envs.clone(),
            cwd: config.cwd.clone(),
            user,
            stdio,
        },
    )?;
    let (pid, tree) = (running.pid, running.tree.clone());
    let wired = Wired::new(running).map_err(|error| {
        // Without its descriptors nobody could see or stop it.
        let killed =
            tree.kill(pid).map_or_else(|e| format!(", nor could it be killed: {e}"), |()| String::new());
        ConnectError::new(Code::Internal, format!("cannot watch the process's descriptors: {error}{killed}"))
    })?;
    let process = Arc::new(Process {
        pid,
        tag: request.tag,
        config,
        tree,
        outlet,
        input: wired.input,
        terminal: wired.terminal,
        gone: wired.gone,
    });
    let number = app.processes.insert(process.clone());
    let task = Supervisor { app: app.clone(), process: process.clone(), number, deadline, oom };
    tokio::task::spawn(task.run(wired.outputs, wired.exit));
    Ok((process.number(), reader))
}

/// A size in the range the kernel knows; zero, which the protocol's JSON leaves out, is the default.
pub(super) fn size(pty: Pty) -> Result<(u16, u16), ConnectError> {
    let size = pty.size.unwrap_or_default();
    let side = |n: u32, default: u16| match u16::try_from(n) {
        Ok(0) => Ok(default),
        Ok(n) => Ok(n),
        Err(_) => {
            let message = format!("a terminal of {n} columns or rows; at most {} are possible", u16::MAX);
            Err(ConnectError::new(Code::InvalidArgument, message))
        }
    };
    Ok((side(size.cols, DEFAULT_COLS)?, side(size.rows, DEFAULT_ROWS)?))
}

/// A process's descriptors under the event loop.
struct Wired {
    outputs: Vec<Source>,
    input: Input,
    terminal: Option<Arc<AsyncFd<OwnedFd>>>,
    gone: CancellationToken,
    exit: oneshot::Receiver<Exit>,
}

struct Source {
    fd: AsyncFd<OwnedFd>,
    wrap: fn(Bytes) -> Output,
}

impl Wired {
    fn new(running: Running) -> io::Result<Self> {
        let mut outputs = Vec::new();
        let mut source = |fd: Option<OwnedFd>, wrap| {
            if let Some(fd) = fd {
                outputs.push(Source { fd: sys::watch(fd)?, wrap });
            }
            io::Result::Ok(())
        };
        source(running.stdout, Output::Stdout)?;
        source(running.stderr, Output::Stderr)?;
        // Reading and writing are waited for apart, so each has a descriptor of its own.
        let reading = running.terminal.as_ref().map(OwnedFd::try_clone).transpose()?;
        source(reading, Output::Pty)?;
        let terminal = running.terminal.map(sys::watch).transpose()?.map(Arc::new);
        let stdin = running.stdin.map(sys::watch).transpose()?.map(Arc::new);
        let gone = CancellationToken::new();
        let input = match (stdin, &terminal) {
            (Some(stdin), _) => Input::pipe(stdin, gone.clone()),
            (None, Some(terminal)) => Input::terminal(terminal.clone(), gone.clone()),
            (None, None) => Input::disabled(gone.clone()),
        };
        Ok(Self { outputs, input, terminal, gone, exit: running.exit })
    }
}

/// Follows one process to its end, whoever listens.
struct Supervisor {
    app: App,
    process: Arc<Process>,
    number: u64,
    deadline: Option<Instant>,
    oom: OomWatch,
}

impl Supervisor {
    async fn run(self, outputs: Vec<Source>, exit: oneshot::Receiver<Exit>) {
        let process = &self.process;
        let pumps = outputs
            .into_iter()
            .map(|source| Pump::new(source.fd, source.wrap, &process.outlet, &process.gone).run());
        let (exit, held) = tokio::join!(self.exit(exit), join_all(pumps));
        let cause = ending::cause(exit, self.oom);
        let end = ending::end(exit, cause);
        if cause == Cause::OutOfMemory {
            self.log(Level::Error, "the sandbox ran out of memory and the kernel ended it");
        }
        let unread = process.outlet.end(end.clone());
        if unread > 0 {
            self.log(Level::Warn, &format!("{unread} bytes of output were dropped, nobody was reading"));
        }
        self.app.processes.finish(self.number, end);
        for fd in held.into_iter().flatten() {
            self.app.processes.discard(fd);
        }
    }

    async fn exit(&self, mut exit: oneshot::Receiver<Exit>) -> Option<Exit> {
        let in_time = match self.deadline {
            Some(at) => timeout_at(at, &mut exit).await,
            None => Ok((&mut exit).await),
        };
        let exit = match in_time {
            Ok(exit) => exit,
            Err(_deadline) => {
                self.expire();
                exit.await
            }
        };
        self.process.gone.cancel();
        exit.ok()
    }

    fn expire(&self) {
        self.process.outlet.expire();
        match self.process.tree.kill(self.process.pid) {
            Ok(()) => self.log(Level::Info, "killed at its timeout, with everything it had started"),
            Err(error) => self.log(Level::Error, &format!("could not be killed at its timeout: {error}")),
        }
    }

    fn log(&self, level: Level, what: &str) {
        self.app.journal.log(level, LOGGER, format!("process {}: {what}", self.process.number()));
    }
}
