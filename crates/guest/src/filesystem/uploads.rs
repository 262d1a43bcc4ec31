//! What watchers know of uploads: which are in progress in place, one at a time into a file, and which names are theirs.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Stat;
use tokio::sync::OwnedMutexGuard;

use crate::reach;

/// The name that a new content bears for the moment between having one and taking the old one's place begins like this.
pub(crate) const OWN_NAME: &str = ".hood-upload-";

/// A file, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(found: &Stat) -> Self {
        Self { device: found.st_dev, inode: found.st_ino }
    }
}

type Turn = Arc<tokio::sync::Mutex<()>>;

/// The files that are being uploaded to. A cheap handle.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uploads(Arc<Mutex<HashMap<FileId, Turn>>>);

impl Uploads {
    /// Waits until no other upload writes into the file: two at once would leave a mixture of both.
    pub(crate) async fn claim(&self, file: FileId) -> Claim {
        let entry = Entry { uploads: self.clone(), file };
        let turn = self.lock().entry(file).or_default().clone();
        Claim { _turn: turn.lock_owned().await, _entry: entry }
    }

    /// Whether an upload into what is at `path` is in progress.
    pub(crate) fn writes_to(&self, path: &Path) -> bool {
        // Asked for every quiet file: without uploads no system call is spent on it.
        !self.lock().is_empty()
            && reach::find(path)
                .and_then(|found| Ok(rustix::fs::fstat(found)?))
                .is_ok_and(|found| self.lock().contains_key(&FileId::of(&found)))
    }

    /// Whether a name is of the kind that uploads use for a moment: it comes and goes unreported.
    pub(crate) fn is_own(name: &OsStr) -> bool {
        name.as_bytes().starts_with(OWN_NAME.as_bytes())
    }

    /// Whether a name is of the kind by which the kernel calls nameless files, as uploads are until they are whole.
    pub(crate) fn is_nameless(name: &OsStr) -> bool {
        name.as_bytes().strip_prefix(b"#").is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<FileId, Turn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to write into a file, until dropped. The turn ends before the entry is looked at.
#[derive(Debug)]
pub(crate) struct Claim {
    _turn: OwnedMutexGuard<()>,
    _entry: Entry,
}

/// Somebody writes or waits; the last one to go takes the file off the map.
#[derive(Debug)]
struct Entry {
    uploads: Uploads,
    file: FileId,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut uploads = self.uploads.lock();
        if uploads.get(&self.file).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            uploads.remove(&self.file);
        }
    }
}
