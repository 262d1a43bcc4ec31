//! Places for volumes in a sandbox's tree.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;

/// Makes the folders of `path` that are missing, root's inside. A place behind a link is none: the builder, which mounts
/// there, follows none.
pub(crate) fn make_place(overlay: &OwnedFd, path: &str, root_outside: u32) -> io::Result<()> {
    let mut folder = open(overlay, ".")?;
    for part in path.split('/').filter(|part| !part.is_empty()) {
        folder = match open(&folder, part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(&folder, part, root_outside)?,
            other => other?,
        };
    }
    Ok(())
}

/// Made by the host's root, whom the sandbox does not know; hence given to its own.
fn make(folder: &OwnedFd, name: &str, root_outside: u32) -> io::Result<OwnedFd> {
    rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o755))?;
    let made = open(folder, name)?;
    let (uid, gid) = (Uid::from_raw(root_outside), Gid::from_raw(root_outside));
    rustix::fs::chownat(&made, "", Some(uid), Some(gid), rustix::fs::AtFlags::EMPTY_PATH)?;
    Ok(made)
}

fn open(folder: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(folder, name, flags, Mode::empty(), resolve) {
        Err(Errno::LOOP) => {
            Err(io::Error::new(io::ErrorKind::NotADirectory, "a part of it is a symbolic link"))
        }
        Err(Errno::NOTDIR) => Err(io::Error::new(io::ErrorKind::NotADirectory, "a part of it is a file")),
        other => Ok(other?),
    }
}
