//! Making directories, as the account which asked for them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;

use crate::reach;

const DIRECTORY_MODE: Mode =
    Mode::RWXU.union(Mode::RGRP).union(Mode::XGRP).union(Mode::ROTH).union(Mode::XOTH);

/// Makes `path` and the parents it lacks, and opens a handle on it. One that another request made at the same moment is
/// as good as ours.
pub(crate) fn directories(path: impl AsRef<Path>) -> io::Result<OwnedFd> {
    let (mut at, mut missing) = (path.as_ref(), Vec::new());
    let mut dir = loop {
        match (reach::directory(at), at.parent(), at.file_name()) {
            (Err(error), Some(parent), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
                missing.push(name);
                at = parent;
            }
            (found, ..) => break found?,
        }
    };
    for name in missing.into_iter().rev() {
        match mkdirat(&dir, name, DIRECTORY_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        dir = reach::directory_from(dir.as_fd(), name).map_err(|error| match error.kind() {
            // A link that leads nowhere: something bears the name, but it is no directory.
            io::ErrorKind::NotFound => io::ErrorKind::NotADirectory.into(),
            _ => error,
        })?;
    }
    Ok(dir)
}

/// Makes the parents of `path`, and opens a handle on the last.
pub(crate) fn parents(path: &str) -> io::Result<OwnedFd> {
    directories(Path::new(path).parent().unwrap_or(Path::new("/")))
}
