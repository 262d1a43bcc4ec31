//! From a request's words (user, directory, environment) to a running process.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use tokio::sync::oneshot;

use crate::accounts::{self, Account};
use crate::app::App;
use crate::limits::MAX_ARGUMENTS;
use crate::reaper::Exit;
use crate::sys::spawn::{Plan, SpawnError, spawn};
use crate::sys::{pty, tree::Tree};

/// `PATH` of a process whose request and template name none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What to start.
#[derive(Debug, Default)]
pub(crate) struct Launch {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    /// On top of the account's and the sandbox's environment.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<String>,
    /// The template's default account when absent.
    pub(crate) user: Option<String>,
    pub(crate) stdio: Stdio,
}

/// Where its descriptors 0, 1 and 2 lead.
#[derive(Debug, Default)]
pub(crate) enum Stdio {
    /// Pipes; `/dev/null` for stdin.
    #[default]
    Output,
    /// Pipes, stdin too.
    Piped,
    /// A terminal of its own.
    Terminal { cols: u16, rows: u16 },
    /// Pipes, `/dev/null` for stdin, and this socket as descriptor 3.
    Kernel(OwnedFd),
}

/// A started process and our ends of its descriptors (all non-blocking).
pub(crate) struct Running {
    pub(crate) pid: Pid,
    pub(crate) tree: Arc<Tree>,
    pub(crate) exit: oneshot::Receiver<Exit>,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
    pub(crate) terminal: Option<OwnedFd>,
}

/// It could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    #[error("invalid username: '{0}'")]
    UnknownUser(String),
    #[error("cwd '{0}' does not exist")]
    NoDirectory(String),
    #[error("{what} may not contain a NUL byte{}", if *.what == "the environment" { " or have an empty name or one with `=`" } else { "" })]
    BadString { what: &'static str },
    #[error("arguments and environment are {given} bytes together, at most {MAX_ARGUMENTS} are possible")]
    TooLong { given: usize },
    #[error("the sandbox has no room for another process: {0}")]
    Exhausted(#[source] io::Error),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("cannot prepare the process: {0}")]
    Io(#[from] io::Error),
}

impl From<rustix::io::Errno> for LaunchError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// The account a request runs as: the named one, or the template's.
pub(crate) fn account(app: &App, user: Option<&str>) -> Result<Account, LaunchError> {
    let name = user.unwrap_or(&app.config.account.user);
    accounts::by_name(name)?.ok_or_else(|| LaunchError::UnknownUser(name.to_owned()))
}

/// Starts it, in a tree of its own.
pub(crate) fn launch(app: &App, launch: Launch) -> Result<Running, LaunchError> {
    let account = account(app, launch.user.as_deref())?;
    let cwd = directory(app, &account, launch.cwd.as_deref())?;
    let env = environment(app, &account, &launch.env)?;
    let path = env.get("PATH").map_or(DEFAULT_PATH, String::as_str);
    let candidates = candidates(&launch.program, path)?;
    let argv = std::iter::once(&launch.program)
        .chain(&launch.args)
        .map(|arg| c_string(arg, "an argument"))
        .collect::<Result<Vec<_>, _>>()?;
    let env = env
        .iter()
        .map(|(key, value)| c_string(&format!("{key}={value}"), "the environment"))
        .collect::<Result<Vec<_>, _>>()?;
    let given = argv.iter().chain(&env).map(|s| s.as_bytes_with_nul().len()).sum();
    if given > MAX_ARGUMENTS {
        return Err(LaunchError::TooLong { given });
    }
    let mut ends = Ends::open(launch.stdio)?;
    let tree = app.forest.plant()?;
    let plan = Plan {
        candidates,
        argv,
        env,
        cwd: c_string(&cwd, "cwd")?,
        identity: account.identity,
        stdio: ends.theirs(),
        extra: ends.extra.as_ref().map(AsFd::as_fd),
        terminal: ends.ours.terminal.is_some(),
        tree: &tree,
        walls: &app.walls,
    };
    let pid = spawn(&plan).map_err(|error| {
        tree.remove();
        match error.source.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOMEM) => LaunchError::Exhausted(error.source),
            _ => LaunchError::Spawn(error),
        }
    })?;
    let exit = app.reaper.expect(pid);
    let ours = std::mem::take(&mut ends.ours);
    Ok(Running {
        pid,
        tree: Arc::new(tree),
        exit,
        stdin: ours.stdin,
        stdout: ours.stdout,
        stderr: ours.stderr,
        terminal: ours.terminal,
    })
}

/// Where a process starts: the request's directory, the template's, or the home.
pub(crate) fn directory(app: &App, account: &Account, asked: Option<&str>) -> Result<String, LaunchError> {
    let default = || app.config.account.workdir.clone().unwrap_or_else(|| account.home.clone());
    let path = match asked {
        None | Some("") => default(),
        Some("~") => account.home.clone(),
        Some(path) if path.starts_with("~/") => format!("{}/{}", account.home, &path[2..]),
        Some(path) if path.starts_with('/') => path.to_owned(),
        Some(path) => format!("{}/{path}", default()),
    };
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Ok(path),
        // A template's default directory may have been removed by the user: the root always exists.
        _ if asked.is_none_or(str::is_empty) => Ok("/".to_owned()),
        _ => Err(LaunchError::NoDirectory(path)),
    }
}

/// Lowest first: the account's, the sandbox's, the request's (reference `e2b.md` 3.2).
pub(crate) fn environment(
    app: &App,
    account: &Account,
    request: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, LaunchError> {
    let mut env = BTreeMap::from([
        ("PATH".to_owned(), DEFAULT_PATH.to_owned()),
        ("HOME".to_owned(), account.home.clone()),
        ("USER".to_owned(), account.name.clone()),
        ("LOGNAME".to_owned(), account.name.clone()),
        ("SHELL".to_owned(), account.shell.clone()),
    ]);
    env.extend(app.global_env());
    env.extend(request.iter().map(|(key, value)| (key.clone(), value.clone())));
    if env.keys().any(|key| key.is_empty() || key.contains('=')) {
        return Err(LaunchError::BadString { what: "the environment" });
    }
    Ok(env)
}

fn candidates(program: &str, path: &str) -> Result<Vec<CString>, LaunchError> {
    if program.contains('/') {
        return Ok(vec![c_string(program, "the command")?]);
    }
    path.split(':')
        .map(|dir| if dir.is_empty() { "." } else { dir })
        .map(|dir| c_string(&format!("{dir}/{program}"), "the command"))
        .collect()
}

fn c_string(text: &str, what: &'static str) -> Result<CString, LaunchError> {
    CString::new(text).map_err(|_| LaunchError::BadString { what })
}

/// Both ends of a process's descriptors.
struct Ends {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: Option<OwnedFd>,
    extra: Option<OwnedFd>,
    ours: Ours,
}

#[derive(Default)]
struct Ours {
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    terminal: Option<OwnedFd>,
}

impl Ends {
    fn open(stdio: Stdio) -> Result<Self, LaunchError> {
        let null = || rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        if let Stdio::Terminal { cols, rows } = stdio {
            let (master, slave) = pty::open(cols, rows)?;
            let ours = Ours { terminal: Some(master), ..Ours::default() };
            return Ok(Self { stdin: slave.try_clone()?, stdout: slave, stderr: None, extra: None, ours });
        }
        let (out_read, stdout) = our_read()?;
        let (err_read, stderr) = our_read()?;
        let mut ours = Ours { stdout: Some(out_read), stderr: Some(err_read), ..Ours::default() };
        let stdin = if matches!(stdio, Stdio::Piped) {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&write, true)?;
            ours.stdin = Some(write);
            read
        } else {
            null()?
        };
        let extra = if let Stdio::Kernel(socket) = stdio { Some(socket) } else { None };
        Ok(Self { stdin, stdout, stderr: Some(stderr), extra, ours })
    }

    fn theirs(&self) -> [BorrowedFd<'_>; 3] {
        let stderr = self.stderr.as_ref().unwrap_or(&self.stdout);
        [self.stdin.as_fd(), self.stdout.as_fd(), stderr.as_fd()]
    }
}

/// A pipe whose read end is ours and does not block.
pub(crate) fn our_read() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&read, true)?;
    Ok((read, write))
}
