//! Listing a directory: a sorted walk, names before the names inside them, that follows no link.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use super::entry::{self, EntryInfo, FileType, Names};
use super::refusal;
use crate::connect::{Code, ConnectError};
use crate::limits::{MAX_ENTRIES, MAX_LISTING};

/// Everything below `path` down to `depth` levels. Paths begin with `path` as given, even where it is a link.
pub(super) fn list(path: &str, depth: u32) -> Result<Vec<EntryInfo>, ConnectError> {
    let found = fs::metadata(path).map_err(|error| refusal(&error, path))?;
    if !found.is_dir() {
        return Err(ConnectError::new(Code::InvalidArgument, format!("path is not a directory: {path}")));
    }
    let mut walk = Walk { entries: Vec::new(), bytes: 0, names: Names::default() };
    let mut open = vec![Level {
        real: PathBuf::from(path),
        shown: path.to_owned(),
        names: walk.names_in(path.into(), path)?,
    }];
    while let Some(level) = open.last_mut() {
        let Some(name) = level.names.pop() else {
            open.pop();
            continue;
        };
        let real = level.real.join(&name);
        let shown = format!("{}/{}", level.shown.trim_end_matches('/'), name.to_string_lossy());
        // Gone since its name was read, or too deep for a path: there is nothing to say about it.
        let Ok(entry) = entry::describe_as(&real, shown.clone(), &mut walk.names) else { continue };
        let descend = entry.kind == FileType::Directory
            && open.len() < depth as usize
            && fs::symlink_metadata(&real).is_ok_and(|found| found.is_dir());
        walk.add(entry, path)?;
        if descend {
            let names = walk.names_in(real.clone(), path)?;
            open.push(Level { real, shown, names });
        }
    }
    Ok(walk.entries)
}

/// A directory being walked: the names still to come, last first.
struct Level {
    real: PathBuf,
    shown: String,
    names: Vec<OsString>,
}

struct Walk {
    entries: Vec<EntryInfo>,
    bytes: usize,
    names: Names,
}

impl Walk {
    fn add(&mut self, entry: EntryInfo, path: &str) -> Result<(), ConnectError> {
        self.bytes += entry.weight();
        if self.entries.len() >= MAX_ENTRIES || self.bytes > MAX_LISTING {
            return Err(too_many(path));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Sorted backwards, to be taken from the end. A directory that vanished or cannot be read is empty.
    fn names_in(&self, directory: PathBuf, path: &str) -> Result<Vec<OsString>, ConnectError> {
        let room = MAX_ENTRIES - self.entries.len();
        let mut names = match fs::read_dir(directory) {
            Ok(found) => found
                .take(room + 1)
                .map(|entry| entry.map(|entry| entry.file_name()))
                .collect::<io::Result<Vec<_>>>()
                .unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        if names.len() > room {
            return Err(too_many(path));
        }
        names.sort_unstable_by(|a, b| b.cmp(a));
        Ok(names)
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
