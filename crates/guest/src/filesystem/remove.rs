//! Removing a tree: `rm -rf` that cannot be led astray.
//!
//! Everything happens beneath directory descriptors that were opened without following links, so that a program which
//! swaps a directory for a link meanwhile loses the link and nothing else. Neither the stack nor the descriptors grow
//! with the depth of the tree: what lies too deep is first moved up.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::limits::{MAX_OPEN_DIRECTORIES, MAX_REMOVAL_ROUNDS};
use crate::reach;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Removes what is at `path`, a link itself rather than what it leads to. What is not there is removed already.
pub(super) fn remove(path: &str) -> io::Result<()> {
    let (parent, name) = match reach::parent(path) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let name = CString::new(name.as_encoded_bytes())?;
    match unlinkat(&parent, &name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(Errno::ISDIR) => Ok(remove_tree(parent, &name)?),
        Err(errno) => Err(errno.into()),
    }
}

fn remove_tree(parent: OwnedFd, name: &CStr) -> rustix::io::Result<()> {
    let mut moved = 0;
    for _ in 0..MAX_REMOVAL_ROUNDS {
        match empty(&parent, name, &mut moved) {
            Ok(()) | Err(Errno::NOENT) => {}
            // It was swapped for something that is not a directory.
            Err(Errno::NOTDIR | Errno::LOOP) => return unlinkat(&parent, name, AtFlags::empty()),
            Err(errno) => return Err(errno),
        }
        match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::NOTEMPTY)
}

/// A directory on the way down.
struct Level {
    name: CString,
    entries: Dir,
}

impl Level {
    fn open(parent: impl AsFd, name: CString) -> rustix::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(parent, &name, flags, Mode::empty())?;
        Ok(Self { name, entries: Dir::new(fd)? })
    }
}

/// One round: removes what `name` holds, down to the last level.
fn empty(parent: &OwnedFd, name: &CStr, moved: &mut u64) -> rustix::io::Result<()> {
    let mut open = vec![Level::open(parent, name.to_owned())?];
    loop {
        let depth = open.len();
        let Some(level) = open.last_mut() else { return Ok(()) };
        let Some(entry) = level.entries.read().transpose()? else {
            let Some(done) = open.pop() else { return Ok(()) };
            let Some(above) = open.last() else { return Ok(()) };
            match unlinkat(above.entries.fd()?, &done.name, AtFlags::REMOVEDIR) {
                // Refilled meanwhile: the next round finds it again.
                Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                Err(errno) => return Err(errno),
            }
            continue;
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let is_directory = entry.file_type() == FileType::Directory
            || match unlinkat(level.entries.fd()?, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => false,
                Err(Errno::ISDIR) => true,
                Err(errno) => return Err(errno),
            };
        if !is_directory {
            continue;
        }
        let name = name.to_owned();
        if depth < MAX_OPEN_DIRECTORIES {
            match Level::open(level.entries.fd()?, name) {
                Ok(below) => open.push(below),
                // Swapped or gone: the next round deals with what is there then.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => return Err(errno),
            }
        } else {
            let up = format!(".hood-removing-{moved}");
            *moved += 1;
            let (Some(top), Some(level)) = (open.first(), open.last()) else { return Ok(()) };
            match renameat(level.entries.fd()?, &name, top.entries.fd()?, up) {
                // A name that is taken is passed by: the count has gone up, and the next round moves it again.
                Ok(()) | Err(Errno::NOENT | Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}
