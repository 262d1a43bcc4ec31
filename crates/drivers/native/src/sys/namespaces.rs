//! Namespaces and what belongs to entering them.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Moves this thread out of the namespaces named by `flags` (`CLONE_NEW*`). For a user namespace the process must have
/// one thread.
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers. Callers are single-threaded helper processes, or (CLONE_NEWNS) `main` before any thread.
    check(i64::from(unsafe { libc::unshare(flags) }))
}

/// Moves this thread into the network namespace `netns`.
pub(crate) fn enter_network(netns: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers; the descriptor is borrowed, hence open. Affects the calling thread only.
    check(i64::from(unsafe { libc::setns(netns.as_raw_fd(), libc::CLONE_NEWNET) }))
}

/// Gives up the keyring inherited from the host: its keys would be readable inside (reference `walls.md` F12).
pub(crate) fn join_new_keyring() -> io::Result<()> {
    const KEYCTL_JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: a null name asks for an anonymous keyring; nothing else is read.
    match check(unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0) }) {
        // A kernel without keyrings has none to leak.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        other => other,
    }
}

/// Keeps only the capabilities whose bits are set in `keep` in the bounding set.
pub(crate) fn bound_capabilities(keep: u64) -> io::Result<()> {
    for capability in 0..64u64 {
        if keep & (1 << capability) != 0 {
            continue;
        }
        // SAFETY: no pointers.
        match check(i64::from(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) })) {
            // Beyond the kernel's last capability.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            other => other?,
        }
    }
    Ok(())
}

/// Sets both limits of a resource, but never above the present hard one: some hosts may not raise it.
pub(crate) fn clamp_limit(resource: libc::__rlimit_resource_t, value: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit into a live one.
    check(i64::from(unsafe { libc::getrlimit(resource, &raw mut limit) }))?;
    let value = value.min(limit.rlim_max);
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: the kernel reads one live rlimit.
    check(i64::from(unsafe { libc::setrlimit(resource, &raw const limit) }))
}

/// Removes both limits of a resource where this process may; where not, they stay.
pub(crate) fn lift_limit(resource: libc::__rlimit_resource_t) {
    let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel reads one live rlimit. A refusal changes nothing.
    unsafe { libc::setrlimit(resource, &raw const limit) };
}

/// Lets the kernel reap this process's children: their statuses interest nobody, and a zombie would linger until the
/// next request otherwise.
pub(crate) fn ignore_children() -> io::Result<()> {
    // SAFETY: SIG_IGN is a valid disposition and involves no code of ours.
    if unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The opposite, for a program about to be started: an ignored signal stays ignored over exec.
pub(crate) fn notice_children() -> io::Result<()> {
    // SAFETY: SIG_DFL is a valid disposition and involves no code of ours.
    if unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

pub(super) fn check(result: i64) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
