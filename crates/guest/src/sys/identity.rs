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
    Ok(())
}

/// The two descriptors that the builder left open for us.
pub(crate) fn inherited() -> io::Result<(UnixStream, OwnedFd)> {
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
    Ok((control, cgroup))
}
