//! `clone3(2)` for single-threaded helper processes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::Pid;

/// `libc` has it in a type too narrow for it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// In which of the two processes `clone3` returned.
pub(crate) enum Side {
    /// The new process.
    Child,
    /// The old one, with a handle to the new.
    Parent { pid: Pid, pidfd: OwnedFd },
}

/// Copies this process into new namespaces (`CLONE_NEW*` in `flags`) and, where given, straight into a cgroup2 group:
/// moving it later would stall every fork on the host (reference `walls.md` F6).
///
/// The child runs ordinary Rust on a copy of the memory, which is sound only because the warden and the builders have
/// exactly one thread: no lock can be held by a thread that the child does not have.
pub(crate) fn clone_process(flags: libc::c_int, group: Option<BorrowedFd<'_>>) -> io::Result<Side> {
    assert_single_threaded()?;
    let mut pidfd: libc::c_int = -1;
    let mut args = libc::clone_args {
        flags: u64::from((flags | libc::CLONE_PIDFD).cast_unsigned()),
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
    // SAFETY: `args` is a live clone_args of the size given; without CLONE_VM parent and child share no memory.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of::<libc::clone_args>()) } {
        0 => Ok(Side::Child),
        pid if pid > 0 => {
            let pid = Pid::from_raw(pid as i32).ok_or(io::ErrorKind::InvalidData)?;
            // SAFETY: the kernel stored a fresh descriptor, owned by nobody else.
            Ok(Side::Parent { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

fn assert_single_threaded() -> io::Result<()> {
    // `/proc` may be a private one without the own pid under this name, hence `self`.
    match std::fs::read_dir("/proc/self/task").map(Iterator::count) {
        Ok(1) | Err(_) => Ok(()),
        Ok(_) => Err(io::Error::other("a helper process has more than one thread")),
    }
}

/// Leaves at once, without the exit handlers that belong to the process this one is a copy of.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: never returns; no destructor of the parent's runs in this copy.
    unsafe { libc::_exit(status) }
}

/// Becomes the program behind `file`; returns only on failure.
pub(crate) fn exec_fd(file: BorrowedFd<'_>, name: &std::ffi::CStr) -> io::Error {
    let argv = [name.as_ptr(), std::ptr::null()];
    let envp: [*const libc::c_char; 1] = [std::ptr::null()];
    // SAFETY: the path is an empty NUL-terminated string, both arrays are NULL-terminated and outlive the call.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            file.as_raw_fd(),
            c"".as_ptr(),
            argv.as_ptr(),
            envp.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    io::Error::last_os_error()
}
