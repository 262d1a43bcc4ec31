//! Uploads in progress: one at a time into a file, and known to the watchers.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// A file, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
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
            && std::fs::metadata(path).is_ok_and(|found| self.lock().contains_key(&FileId::of(&found)))
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
