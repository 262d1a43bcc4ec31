//! What the guest does to itself, once, at its start.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use hood_wire::{CGROUP_FD, CONTROL_FD};

/// The guest keeps no dumpable memory to itself by design: it holds more capabilities than any payload, so that its
/// `/proc/1` files are closed to root inside (reference `walls.md` 2.3). It only must not be scored like a payload.
pub(crate) fn harden_self() -> io::Result<()> {
    // SAFETY: no pointers; SIGPIPE is already ignored by the runtime, SIGTERM and SIGINT to PID 1 are ignored by the
    // kernel unless handled. Children that nobody waits for must come to us.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // The runtime's handlers report a stack overflow. Sent by root inside, several at once overflow the signal
        // stack, which kills even PID 1; without a handler the kernel ignores what is sent, and a true fault still
        // kills.
        // SAFETY: SIG_DFL is a valid disposition and involves no code of ours.
        if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    own_group()
}

/// A real group that differs from the effective one. The kernel lets a process set the limits of another when all its
/// ids are equal, and asks for no capability then: root inside could take our last descriptors away (`prlimit64`).
/// No process can have both groups at once, so nobody's ids equal ours.
fn own_group() -> io::Result<()> {
    const NO_GROUP: libc::gid_t = 65534;
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    // SAFETY: no pointers. At the start, while this is the only thread; children set all three before they exec.
    if unsafe { libc::syscall(libc::SYS_setresgid, NO_GROUP, 0, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The two descriptors that the builder left open for us. The latter is no directory where the host has no groups.
pub(crate) fn inherited() -> io::Result<(UnixStream, Option<OwnedFd>)> {
    for fd in [CONTROL_FD, CGROUP_FD] {
        // SAFETY: asks about a number only; it need not be open.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(io::Error::other(format!(
                "descriptor {fd} is not open: hood-guest is started by hood"
            )));
        }
    }
    // SAFETY: just checked to be open, handed to this process for this use, and wrapped once.
    let control = unsafe { UnixStream::from_raw_fd(CONTROL_FD) };
    // SAFETY: as above.
    let cgroup = unsafe { OwnedFd::from_raw_fd(CGROUP_FD) };
    let is_group = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&cgroup)?.st_mode).is_dir();
    Ok((control, is_group.then_some(cgroup)))
}
