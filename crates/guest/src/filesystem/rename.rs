//! Moving a file or directory, and between two file systems copying a file.

use std::fs::{File, FileTimes, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, FileType as Is, Gid, Mode, OFlags, Uid, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::{make, metadata, refusal};
use crate::connect::{Code, ConnectError};
use crate::reach;

/// One end of a move: a name in a directory.
struct End<'a> {
    dir: OwnedFd,
    name: &'a Path,
    path: &'a str,
}

impl<'a> End<'a> {
    fn of(dir: OwnedFd, path: &'a str) -> io::Result<Self> {
        let name = Path::new(path).file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { dir, name: Path::new(name), path })
    }

    fn refused(&self, error: impl Into<io::Error>) -> ConnectError {
        refusal(&error.into(), self.path)
    }
}

/// Moves `source`, itself and not what it may link to. Parents of `destination` that are missing are made.
pub(super) fn rename(source: &str, destination: &str) -> Result<(), ConnectError> {
    let from = reach::parent(source)
        .and_then(|(dir, _)| End::of(dir, source))
        .map_err(|error| refusal(&error, source))?;
    statat(&from.dir, from.name, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| from.refused(errno))?;
    let to = make::parents(destination)
        .and_then(|dir| End::of(dir, destination))
        .map_err(|error| refusal(&error, destination))?;
    match renameat(&from.dir, from.name, &to.dir, to.name) {
        Ok(()) => Ok(()),
        // `/tmp` and `/dev/shm` are file systems of their own in some sandboxes.
        Err(Errno::XDEV) => across(&from, &to),
        Err(Errno::INVAL) => {
            let message = format!("'{source}' cannot be moved into itself: {destination}");
            Err(ConnectError::new(Code::InvalidArgument, message))
        }
        Err(errno) => Err(to.refused(errno)),
    }
}

fn across(from: &End<'_>, to: &End<'_>) -> Result<(), ConnectError> {
    let found =
        statat(&from.dir, from.name, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| from.refused(errno))?;
    if reach::kind(&found) != Is::RegularFile {
        let message = format!(
            "'{}' and '{}' are on different file systems, between which only files can be moved: run `mv` in the \
             sandbox",
            from.path, to.path
        );
        return Err(ConnectError::new(Code::FailedPrecondition, message));
    }
    // Beside the destination, so that the last step is a rename and nobody sees half a file.
    let mut beside = to.name.as_os_str().to_owned();
    beside.push(".hood-moving");
    copy(from, &to.dir, Path::new(&beside))
        .and_then(|()| Ok(renameat(&to.dir, &*beside, &to.dir, to.name)?))
        .inspect_err(|_| {
            // Nobody is left to be told when even this fails.
            unlinkat(&to.dir, &*beside, AtFlags::empty()).ok();
        })
        .map_err(|error| to.refused(error))?;
    unlinkat(&from.dir, from.name, AtFlags::empty()).map_err(|errno| from.refused(errno))
}

/// Copies bytes, mode, times and metadata into a new file, and the owner where this account may give files away.
fn copy(from: &End<'_>, dir: &OwnedFd, name: &Path) -> io::Result<()> {
    let handle = reach::beneath(from.dir.as_fd(), from.name)?;
    let mut source = reach::reopen(&handle, OFlags::RDONLY)?;
    let found = source.metadata()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut copied = File::from(openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?);
    io::copy(&mut source, &mut copied)?;
    match rustix::fs::fchown(&copied, Some(Uid::from_raw(found.uid())), Some(Gid::from_raw(found.gid()))) {
        // As `mv` of this account would leave it.
        Ok(()) | Err(Errno::PERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    copied.set_permissions(Permissions::from_mode(found.mode() & 0o777))?;
    copied.set_times(FileTimes::new().set_accessed(found.accessed()?).set_modified(found.modified()?))?;
    metadata::replace(&copied, &metadata::read(from.dir.as_fd(), from.name))
}
