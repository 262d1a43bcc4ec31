//! Starting a process in the sandbox: its tree, its identity, its walls.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use rustix::process::Pid;

pub(crate) use super::child::Step;
use super::child::{self, Prepared};
use super::tree::Tree;
use crate::limits::EXEC_SECONDS;

/// `libc` has it in a type too narrow for it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Who the process becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Supplementary groups, the primary one included.
    pub(crate) groups: Vec<u32>,
}

/// Everything decided about a process before it exists. Strings are free of NUL by type.
pub(crate) struct Plan<'a> {
    /// Paths to try, in `PATH` order; one when the program was named with a slash.
    pub(crate) candidates: Vec<CString>,
    pub(crate) argv: Vec<CString>,
    /// `KEY=value`.
    pub(crate) env: Vec<CString>,
    pub(crate) cwd: CString,
    pub(crate) identity: Identity,
    /// Become 0, 1 and 2. Must be above descriptor 4.
    pub(crate) stdio: [BorrowedFd<'a>; 3],
    /// Becomes 3 (a kernel's socket).
    pub(crate) extra: Option<BorrowedFd<'a>>,
    /// `stdio[0]` is a terminal and becomes the controlling one.
    pub(crate) terminal: bool,
    /// The process and all its descendants belong to it.
    pub(crate) tree: &'a Tree,
    pub(crate) walls: &'a Walls,
}

/// What every payload process is put behind, the same for all.
pub(crate) struct Walls {
    /// The seccomp program; empty where there is none (tests outside a sandbox).
    pub(crate) filter: Vec<libc::sock_filter>,
    /// Bit per capability that stays in the bounding set. All others are lost for ever.
    pub(crate) keep_capabilities: u64,
    /// False in tests that run as an ordinary user: identity, capabilities and filter are left alone.
    pub(crate) privileged: bool,
}

/// A process could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the process ({step:?}): {source}")]
pub(crate) struct SpawnError {
    pub(crate) step: Step,
    pub(crate) source: io::Error,
}

impl Walls {
    /// From the program the host sent: an array of eight-byte `sock_filter`s.
    pub(crate) fn new(program: &[u8]) -> Self {
        let filter = program
            .chunks_exact(8)
            .map(|c| libc::sock_filter {
                code: u16::from_ne_bytes([c[0], c[1]]),
                jt: c[2],
                jf: c[3],
                k: u32::from_ne_bytes([c[4], c[5], c[6], c[7]]),
            })
            .collect();
        Self {
            filter,
            keep_capabilities: hood_wire::PAYLOAD_CAPABILITIES,
            privileged: rustix::process::geteuid().is_root(),
        }
    }
}

/// Starts it. The caller registers the pid with the reaper before it yields, so that no exit is missed.
pub(crate) fn spawn(plan: &Plan<'_>) -> Result<Pid, SpawnError> {
    let at = |step| move |source| SpawnError { step, source };
    let (report_read, report_write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|e| at(Step::Descriptors)(e.into()))?;
    let pointers = |strings: &[CString]| {
        strings.iter().map(|s| child::pointer(s)).chain([ptr::null()]).collect::<Vec<_>>()
    };
    let prepared = Prepared {
        candidates: pointers(&plan.candidates),
        argv: pointers(&plan.argv),
        envp: pointers(&plan.env),
        cwd: child::pointer(&plan.cwd),
        stdio: plan.stdio.map(|fd| fd.as_raw_fd()),
        extra: plan.extra.map(|fd| fd.as_raw_fd()),
        terminal: plan.terminal,
        uid: plan.identity.uid,
        gid: plan.identity.gid,
        groups: plan.identity.groups.clone(),
        privileged: plan.walls.privileged,
        keep_capabilities: plan.walls.keep_capabilities,
        filter: libc::sock_fprog {
            len: plan.walls.filter.len() as u16,
            filter: plan.walls.filter.as_ptr().cast_mut(),
        },
        report: report_write.as_raw_fd(),
    };
    let (pid, pidfd) = clone(&prepared, plan.tree.group()).map_err(at(Step::Session))?;
    drop(report_write);
    let mut message = [0u8; 8];
    // Blocks until exec or failure: microseconds, since the child does nothing but system calls. But root inside may
    // stop it half-way, and must not stop the guest with it.
    if !has_news(&report_read).map_err(at(Step::Exec))? {
        rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL)
            .map_err(|e| at(Step::Exec)(e.into()))?;
        return Err(SpawnError { step: Step::Exec, source: io::ErrorKind::TimedOut.into() });
    }
    match rustix::io::retry_on_intr(|| rustix::io::read(&report_read, &mut message)) {
        Ok(0) => Ok(pid),
        Ok(8) => {
            let [a, b, c, d, errno @ ..] = message;
            let step = Step::from_number(u32::from_ne_bytes([a, b, c, d]));
            Err(SpawnError { step, source: io::Error::from_raw_os_error(i32::from_ne_bytes(errno)) })
        }
        Ok(_) => Err(SpawnError { step: Step::Exec, source: io::ErrorKind::UnexpectedEof.into() }),
        Err(e) => Err(SpawnError { step: Step::Exec, source: e.into() }),
    }
}

/// Waits until the child has exec'd or failed; false when it does neither in time.
fn has_news(report: &OwnedFd) -> io::Result<bool> {
    let patience = rustix::event::Timespec { tv_sec: EXEC_SECONDS, tv_nsec: 0 };
    let mut wait = [rustix::event::PollFd::new(report, rustix::event::PollFlags::IN)];
    Ok(rustix::io::retry_on_intr(|| rustix::event::poll(&mut wait, Some(&patience)))? > 0)
}

/// `clone3(2)`, straight into the tree's group where there is one: a later move would stall every fork on the host
/// for milliseconds (reference `walls.md` F6).
fn clone(prepared: &Prepared, group: Option<BorrowedFd<'_>>) -> io::Result<(Pid, OwnedFd)> {
    let mut pidfd: libc::c_int = -1;
    let mut args = libc::clone_args {
        flags: libc::CLONE_PIDFD as u64,
        pidfd: (&raw mut pidfd) as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: 0,
    };
    if let Some(group) = group {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = group.as_raw_fd() as u64;
    }
    // SAFETY: `args` is a live clone_args of the size given. Without CLONE_VM the child gets a copy of memory and
    // returns here on a copy of this stack; it then only runs `child::run`, which makes raw system calls.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of::<libc::clone_args>()) };
    match pid {
        0 => child::run(prepared),
        pid if pid > 0 => {
            let pid = Pid::from_raw(pid as i32).expect("the kernel returned a positive pid");
            // SAFETY: the kernel stored a fresh descriptor, owned by nobody else.
            Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
        }
        _ => Err(io::Error::last_os_error()),
    }
}
