//! Descriptors at fixed numbers, for the program that takes over this process.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::namespaces::check;

/// Where descriptors go that must survive `place_descriptors`.
const ABOVE: libc::c_int = 64;

/// A copy of `fd` with a high number, closed at exec.
pub(crate) fn lift(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor is borrowed, hence open.
    let lifted = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, ABOVE) };
    check(i64::from(lifted))?;
    // SAFETY: fresh from the kernel and wrapped once.
    Ok(unsafe { OwnedFd::from_raw_fd(lifted) })
}

/// Puts `fds` at 0, 1, 2, … and marks everything above for closing at exec. The sources are lifted out of the way
/// first, so that no target overwrites a source still needed; what else the caller needs afterwards it has lifted too.
pub(crate) fn place_descriptors(fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let lifted = fds.iter().map(|fd| lift(*fd)).collect::<io::Result<Vec<_>>>()?;
    for (target, source) in (0..).zip(&lifted) {
        // SAFETY: no pointers. Whatever the target number was before belongs to this process, which execs next.
        check(i64::from(unsafe { libc::dup2(source.as_raw_fd(), target) }))?;
    }
    // SAFETY: no pointers; marks a range of this process's own table.
    check(unsafe {
        libc::syscall(libc::SYS_close_range, fds.len() as u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
    })
}

/// The socket that the server left at descriptor 3 of its helper.
pub(crate) fn inherited_socket() -> io::Result<OwnedFd> {
    // SAFETY: asks about a number only; it need not be open.
    check(i64::from(unsafe { libc::fcntl(3, libc::F_SETFD, libc::FD_CLOEXEC) }))?;
    // SAFETY: just checked to be open, handed to this process for this use, and wrapped once.
    Ok(unsafe { OwnedFd::from_raw_fd(3) })
}

/// Arranges for `socket` to be descriptor 3 of the command's process.
pub(crate) fn pass_as_three(command: &mut std::process::Command, socket: OwnedFd) {
    use std::os::unix::process::CommandExt;
    let install = move || {
        // SAFETY: dup2 is async-signal-safe; `socket` is owned by this closure, hence open.
        if unsafe { libc::dup2(socket.as_raw_fd(), 3) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: the closure makes one async-signal-safe call and allocates nothing.
    unsafe { command.pre_exec(install) };
}

/// Closes this process's copy of a descriptor whose owner is in the memory of the process it was cloned from.
pub(crate) fn close_copy(fd: BorrowedFd<'_>) {
    // SAFETY: no pointers. The caller is a clone that never returns to the code that owns `fd`, so nothing in this
    // process closes or uses the number again.
    unsafe { libc::close(fd.as_raw_fd()) };
}
