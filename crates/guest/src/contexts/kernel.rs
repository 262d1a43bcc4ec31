//! A kernel's process: its start, its socket and its two pipes, as one stream of events.

use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use hood_wire::ForkRequest;
use rustix::process::{Pid, Signal};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::death::End;
use super::frames::{BadFrame, Frames};
use super::outbox::Source;
use super::protocol::{Message, Order};
use super::text::Decoder;
use crate::app::App;
use crate::launch::{Launch, LaunchError, Stdio, account, directory, environment, launch, our_read};
use crate::limits::EXIT_AFTER_CLOSE;
use crate::oom::OomWatch;
use crate::reaper::Exit;
use crate::sys::tree::{Tree, signal_group};

/// Bytes of one read from a pipe or the socket.
const CHUNK: usize = 64 << 10;

/// Most that a pipe can hold (the kernel's `pipe-max-size`): whatever was printed before a message is within it, and
/// a process that prints for ever cannot hold the message up.
const MAX_PIPE: usize = 1 << 20;

/// Lowest descriptor for the kernel's end of the socket: the child puts it at 3, and one that is there already would
/// keep its close-on-exec mark.
const ABOVE_STDIO: i32 = 5;

/// Reads of what a dead kernel has left in its socket: more than the socket holds.
const LAST_READS: u32 = 64;

/// How long an emptied group may take to become removable, and how often that is tried.
const REMOVAL_TRIES: u32 = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(50);

/// A running kernel. Dropping it ends every process it has started.
pub(crate) struct Kernel {
    /// A fork of the host's nursery tells its number when it is ready.
    pid: Option<Pid>,
    tree: Arc<Tree>,
    exit: oneshot::Receiver<Exit>,
    ended: Option<End>,
    oom: OomWatch,
    socket: UnixStream,
    /// When the kernel closed it, though nobody has heard of its end.
    closed_at: Option<Instant>,
    frames: Frames,
    /// Came out of `frames`, and waits for what was printed before it.
    held: Option<Result<Message, BadFrame>>,
    outgoing: BytesMut,
    stdout: Pipe,
    stderr: Pipe,
    /// What may still be drained before the next message is handed out.
    to_drain: usize,
    buffer: Box<[u8]>,
}

/// What a kernel does.
#[derive(Debug)]
pub(crate) enum Event {
    Printed(Source, String),
    Said(Message),
    Bad(BadFrame),
    /// Nothing comes after it.
    Ended(End),
}

struct Pipe {
    source: Source,
    end: Option<pipe::Receiver>,
    decoder: Decoder,
}

impl Kernel {
    /// Starts the process; it is usable once it has said `ready`.
    pub(crate) fn launch(app: &App, mut what: Launch) -> Result<Self, LaunchError> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let theirs = rustix::io::fcntl_dupfd_cloexec(&theirs, ABOVE_STDIO)?;
        what.stdio = Stdio::Kernel(theirs);
        let running = launch(app, what)?;
        let output = [running.stdout, running.stderr];
        Self::over(Some(running.pid), running.tree, running.exit, ours, output).map_err(LaunchError::Io)
    }

    /// Has the host fork one from the template's nursery; the error is the reason why there is none.
    pub(crate) async fn fork(app: &App, cwd: &str) -> Result<Self, String> {
        let told = |error: io::Error| error.to_string();
        let account = account(app, None).map_err(|error| error.to_string())?;
        let cwd = directory(app, &account, Some(cwd)).map_err(|error| error.to_string())?;
        let env = environment(app, &account, &BTreeMap::new()).map_err(|error| error.to_string())?;
        let tree = app.forest.plant().map_err(told)?;
        let group = tree.name().ok_or("there are no groups here")?.to_owned();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(told)?;
        ours.set_nonblocking(true).map_err(told)?;
        let (stdout, out) = our_read().map_err(|error| error.to_string())?;
        let (stderr, err) = our_read().map_err(|error| error.to_string())?;
        let fill = |request| ForkRequest {
            request,
            group,
            env,
            cwd,
            uid: account.identity.uid,
            gid: account.identity.gid,
            groups: account.identity.groups,
        };
        let ends = [theirs.as_fd(), out.as_fd(), err.as_fd()];
        match app.host.fork(&app.journal, fill, ends).await {
            Ok(exit) => {
                Self::over(None, Arc::new(tree), exit, ours, [Some(stdout), Some(stderr)]).map_err(told)
            }
            Err(reason) => {
                tree.remove();
                Err(reason)
            }
        }
    }

    fn over(
        pid: Option<Pid>,
        tree: Arc<Tree>,
        exit: oneshot::Receiver<Exit>,
        socket: std::os::unix::net::UnixStream,
        [stdout, stderr]: [Option<OwnedFd>; 2],
    ) -> io::Result<Self> {
        Ok(Self {
            pid,
            tree,
            exit,
            ended: None,
            oom: OomWatch::begin(),
            socket: UnixStream::from_std(socket)?,
            closed_at: None,
            frames: Frames::default(),
            held: None,
            outgoing: BytesMut::new(),
            stdout: Pipe::new(Source::Stdout, stdout)?,
            stderr: Pipe::new(Source::Stderr, stderr)?,
            to_drain: MAX_PIPE,
            buffer: vec![0; CHUNK].into(),
        })
    }

    /// Queues an order; [`Kernel::next`] sends it.
    pub(crate) fn send(&mut self, order: &Order<'_>) {
        self.outgoing.extend_from_slice(&order.encode());
    }

    /// SIGINT to the kernel and what runs in its foreground.
    pub(crate) fn interrupt(&self) -> io::Result<()> {
        self.pid.map_or(Ok(()), |pid| signal_group(pid, Signal::INT))
    }

    /// What a fork said its number is. It leads a session, so the number is its process group's, too.
    pub(crate) fn is_known_as(&mut self, pid: Option<i32>) {
        // 1 is the guest, and everybody's number to signal is none of a kernel's.
        self.pid = self.pid.or_else(|| pid.filter(|pid| *pid > 1).and_then(Pid::from_raw));
    }

    /// Deaths by memory are counted from here.
    pub(crate) fn watch_memory(&mut self) {
        self.oom = OomWatch::begin();
    }

    /// Whether memory ran out since [`Kernel::watch_memory`].
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.oom.has_killed()
    }

    /// The rest of both texts: the next bytes belong to another cell.
    pub(crate) fn finish_text(&mut self) -> [(Source, String); 2] {
        [&mut self.stdout, &mut self.stderr].map(|pipe| (pipe.source, pipe.decoder.finish()))
    }

    /// The next event. What was printed before a message comes before it. Cancel safe.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            // A kernel that prints for ever must not keep the guest's only worker.
            tokio::task::consume_budget().await;
            if let Some(event) = self.waiting_event() {
                return event;
            }
            let lost_at = self.closed_at.map(|at| at + EXIT_AFTER_CLOSE);
            let open = self.closed_at.is_none();
            tokio::select! {
                // The socket before the pipes: what was said first is known to be first.
                biased;
                exit = &mut self.exit, if self.ended.is_none() => self.exited(exit.ok()),
                () = sleep_until(lost_at), if self.ended.is_none() => {
                    self.kill();
                    self.ended = Some(End::Socket);
                }
                _ = self.socket.readable(), if open => self.read_socket(),
                _ = self.socket.writable(), if open && !self.outgoing.is_empty() => self.write_socket(),
                () = self.stdout.readable() => if let Some(event) = self.stdout.read(&mut self.buffer) {
                    return event;
                },
                () = self.stderr.readable() => if let Some(event) = self.stderr.read(&mut self.buffer) {
                    return event;
                },
            }
        }
    }

    fn waiting_event(&mut self) -> Option<Event> {
        if self.held.is_none() {
            self.held = self.frames.next();
            match &self.held {
                Some(_) => self.to_drain = MAX_PIPE,
                None if self.ended.is_some() => {}
                None => return None,
            }
        }
        let first = matches!(&self.held, Some(Ok(message)) if message.is_first());
        for pipe in [&mut self.stdout, &mut self.stderr] {
            if !first
                && self.to_drain > 0
                && let Some(event) = pipe.read(&mut self.buffer)
            {
                self.to_drain = self.to_drain.saturating_sub(CHUNK);
                return Some(event);
            }
        }
        let ack = match &self.held {
            Some(Ok(message)) => message.ack(),
            Some(Err(BadFrame::Malformed { ack })) => *ack,
            Some(Err(BadFrame::TooLong)) | None => None,
        };
        if let Some(ack) = ack {
            self.send(&Order::Ack { ack });
        }
        Some(match self.held.take() {
            Some(Ok(message)) => Event::Said(message),
            Some(Err(bad)) => Event::Bad(bad),
            None => Event::Ended(self.ended?),
        })
    }

    /// Takes what it said last. Its children go with it: they would hold the pipes and work for nobody.
    fn exited(&mut self, exit: Option<Exit>) {
        self.kill();
        self.ended = Some(End::Process(exit));
        self.to_drain = MAX_PIPE;
        for _ in 0..LAST_READS {
            match rustix::io::read(&self.socket, &mut *self.buffer) {
                Ok(n) if n > 0 => self.frames.push(self.buffer.get(..n).unwrap_or_default()),
                _ => return,
            }
        }
    }

    fn read_socket(&mut self) {
        match self.socket.try_read(&mut self.buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(n) if n > 0 => self.frames.push(self.buffer.get(..n).unwrap_or_default()),
            Ok(_) | Err(_) => self.closed_at = Some(Instant::now()),
        }
    }

    fn write_socket(&mut self) {
        match self.socket.try_write(&self.outgoing) {
            Ok(n) => self.outgoing.advance(n),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Its reading side tells the rest of the story.
            Err(_) => self.outgoing.clear(),
        }
    }

    fn kill(&self) {
        // The only failure is a group that is gone.
        drop(match self.pid {
            Some(pid) => self.tree.kill(pid),
            None => self.tree.kill_group(),
        });
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.kill();
        let (tree, pid) = (self.tree.clone(), self.pid);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                for _ in 0..REMOVAL_TRIES {
                    if pid.map_or_else(|| tree.remove(), |pid| tree.try_remove(pid)) {
                        return;
                    }
                    tokio::time::sleep(REMOVAL_PAUSE).await;
                }
            });
        }
    }
}

impl Pipe {
    fn new(source: Source, end: Option<OwnedFd>) -> io::Result<Self> {
        let end = end.map(pipe::Receiver::from_owned_fd).transpose()?;
        Ok(Self { source, end, decoder: Decoder::default() })
    }

    async fn readable(&self) {
        match &self.end {
            // An error shows again, and is handled, in the read.
            Some(end) => drop(end.readable().await),
            None => pending().await,
        }
    }

    /// Reads once without waiting. The system call comes first: the runtime may not know yet of bytes that were
    /// written before a message that it has delivered.
    fn read(&mut self, buffer: &mut [u8]) -> Option<Event> {
        let end = self.end.as_ref()?;
        let read = match rustix::io::read(end, &mut *buffer) {
            Ok(n) => Ok(n),
            // Through the runtime, so that it learns that the pipe is empty.
            Err(_) => end.try_read(buffer),
        };
        let text = match read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            Ok(n) if n > 0 => self.decoder.decode(buffer.get(..n).unwrap_or_default()),
            Ok(_) | Err(_) => {
                self.end = None;
                self.decoder.finish()
            }
        };
        (!text.is_empty()).then_some(Event::Printed(self.source, text))
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => pending().await,
    }
}
