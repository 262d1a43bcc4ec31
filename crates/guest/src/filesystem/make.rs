//! Making directories that belong to the account which asked for them.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Gid, Mode, Uid};
use rustix::io::Errno;

use crate::sys::spawn::Identity;

const DIRECTORY_MODE: Mode =
    Mode::RWXU.union(Mode::RGRP).union(Mode::XGRP).union(Mode::ROTH).union(Mode::XOTH);

/// Makes `path` and the parents it lacks. One that another request made at the same moment is as good as ours.
pub(crate) fn directories(path: impl AsRef<Path>, owner: &Identity) -> io::Result<()> {
    let missing: Vec<PathBuf> =
        path.as_ref().ancestors().take_while(|ancestor| !ancestor.is_dir()).map(Path::to_path_buf).collect();
    for directory in missing.into_iter().rev() {
        match rustix::fs::mkdir(&directory, DIRECTORY_MODE) {
            Ok(()) => give(&directory, owner)?,
            Err(Errno::EXIST) if directory.is_dir() => {}
            // Not `EEXIST`, which would mean a directory: something else bears the name.
            Err(Errno::EXIST) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Makes the parents of `path`.
pub(crate) fn parents(path: impl AsRef<Path>, owner: &Identity) -> io::Result<()> {
    path.as_ref().parent().map_or(Ok(()), |parent| directories(parent, owner))
}

/// Not through a link: between making and giving, a program inside may have put one there.
fn give(path: &Path, owner: &Identity) -> io::Result<()> {
    let (uid, gid) = ids(owner);
    rustix::fs::chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(())
}

/// An account's ids as the kernel takes them.
pub(crate) fn ids(owner: &Identity) -> (Uid, Gid) {
    (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid))
}
