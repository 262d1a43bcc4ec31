//! Descriptors under the runtime's event loop.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Watches a non-blocking descriptor.
pub(crate) fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open for as long as it lives, always names the same descriptor, and is owned by the
    // result, which nobody can take apart while it is registered.
    Ok(unsafe { AsyncFd::register(fd) }?)
}
