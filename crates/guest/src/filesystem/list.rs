//! Listing a directory: a sorted walk, names before the names inside them, that follows no link.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType as Is, OFlags, fstat};

use super::entry::{self, EntryInfo, FileType, Names};
use super::refusal;
use crate::connect::{Code, ConnectError};
use crate::limits::{MAX_ENTRIES, MAX_LISTING};
use crate::reach;

/// Everything below `path` down to `depth` levels. Paths begin with `path` as given, even where it is a link.
pub(super) fn list(path: &str, depth: u32) -> Result<Vec<EntryInfo>, ConnectError> {
    let root = reach::find(path).map_err(|error| refusal(&error, path))?;
    if !fstat(&root).is_ok_and(|found| reach::kind(&found) == Is::Directory) {
        return Err(ConnectError::new(Code::InvalidArgument, format!("path is not a directory: {path}")));
    }
    let mut walk = Walk { root, path, seen: 0, bytes: 0, names: Names::default() };
    let mut entries = Vec::new();
    let mut open = vec![walk.level(Path::new(""), path).map_err(|end| walk.refused(end))?];
    while let Some(level) = open.last_mut() {
        let Some(Found { entry, below }) = level.pop() else {
            open.pop();
            continue;
        };
        let below = below.filter(|_| open.len() < depth as usize);
        let shown = entry.path.clone();
        entries.push(entry);
        if let Some(below) = below {
            match walk.level(&below, &shown) {
                Ok(level) => open.push(level),
                // Gone since its name was read, closed to this account, or too deep for a path: it is empty.
                Err(End::Unreadable(_)) => {}
                Err(end) => return Err(walk.refused(end)),
            }
        }
    }
    Ok(entries)
}

/// An entry of a directory.
struct Found {
    entry: EntryInfo,
    /// Relative to the root of the walk, if it is a directory.
    below: Option<PathBuf>,
}

/// Why a directory was not read.
enum End {
    Unreadable(io::Error),
    TooMany,
}

struct Walk<'a> {
    root: OwnedFd,
    path: &'a str,
    seen: usize,
    bytes: usize,
    names: Names,
}

impl Walk<'_> {
    /// What is in the directory at `below` the root, last first, to be taken from the end. It is described at once, so
    /// that no more than one directory is open, however deep the tree.
    fn level(&mut self, below: &Path, shown: &str) -> Result<Vec<Found>, End> {
        let dir = reach::beneath(self.root.as_fd(), below).map_err(End::Unreadable)?;
        let mut names = self.names_in(&dir)?;
        names.sort_unstable_by(|a, b| b.cmp(a));
        let mut level = Vec::with_capacity(names.len());
        for name in names {
            let shown = format!("{}/{}", shown.trim_end_matches('/'), name.to_string_lossy());
            let described = entry::describe_in(dir.as_fd(), Path::new(&name), shown, &mut self.names);
            let Ok(entry) = described else { continue };
            self.bytes += entry.weight();
            self.seen += 1;
            if self.bytes > MAX_LISTING {
                return Err(End::TooMany);
            }
            let is_directory = entry.kind == FileType::Directory && entry.is_no_link();
            level.push(Found { entry, below: is_directory.then(|| below.join(&name)) });
        }
        Ok(level)
    }

    fn names_in(&self, dir: &OwnedFd) -> Result<Vec<OsString>, End> {
        let readable = reach::reopen(dir, OFlags::RDONLY | OFlags::DIRECTORY).map_err(End::Unreadable)?;
        let mut names = Vec::new();
        for entry in Dir::new(OwnedFd::from(readable)).map_err(|errno| End::Unreadable(errno.into()))? {
            let Ok(entry) = entry else { break };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if self.seen + names.len() >= MAX_ENTRIES {
                return Err(End::TooMany);
            }
            names.push(OsStr::from_bytes(name).to_owned());
        }
        Ok(names)
    }

    fn refused(&self, end: End) -> ConnectError {
        match end {
            End::Unreadable(error) => refusal(&error, self.path),
            End::TooMany => too_many(self.path),
        }
    }
}

fn too_many(path: &str) -> ConnectError {
    let message = format!(
        "'{path}' holds more than one answer can list ({MAX_ENTRIES} entries or {} MiB): list a smaller directory or \
         a smaller depth",
        MAX_LISTING >> 20
    );
    ConnectError::new(Code::ResourceExhausted, message)
}
