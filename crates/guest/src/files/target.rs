//! The file that an upload writes.
//!
//! It is written in place: clients watch for exactly one CREATE, CHMOD and WRITE, which a temporary file and a rename
//! would not give. An upload that fails leaves nothing of itself: a new file is removed, and one that was there before
//! is left empty, since its old content is gone and half of the new one must not pass for the whole.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;

use super::CHUNK;
use super::error::FilesError;
use crate::filesystem::uploads::{Claim, FileId, Uploads};
use crate::filesystem::{make, metadata};
use crate::limits::MAX_REPLACED;
use crate::sys::spawn::Identity;

/// Mode of a new file, before the umask.
const FILE_MODE: u32 = 0o644;

/// What is left of a small upload is written at once: handing it to a thread would take longer.
const INLINE: usize = 64 << 10;

/// A file being uploaded: bytes go into one buffer while the other one is written.
pub(super) struct Target {
    sink: Arc<Sink>,
    buffer: Vec<u8>,
    spare: Vec<u8>,
    writing: Option<JoinHandle<io::Result<Vec<u8>>>>,
    written: u64,
}

impl Target {
    /// Opens or creates the file, empties it, and gives it its owner and metadata. Waits for another upload into it.
    pub(super) async fn open(
        uploads: &Uploads,
        path: &str,
        owner: &Identity,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Self, FilesError> {
        let failed = |error| FilesError::from_io(error, path);
        make::parents(path, owner).map_err(failed)?;
        for _ in 0..MAX_REPLACED {
            let (file, new) = open(path).map_err(failed)?;
            let found = file.metadata().map_err(failed)?;
            if !found.is_file() {
                return Err(FilesError::Irregular(path.to_owned()));
            }
            let id = FileId::of(&found);
            let claim = uploads.claim(id).await;
            // The upload we waited for may have failed and taken its new file away.
            if !fs::metadata(path).is_ok_and(|found| FileId::of(&found) == id) {
                continue;
            }
            let sink = Sink {
                file,
                path: path.to_owned(),
                id,
                new,
                finished: AtomicBool::new(false),
                _claim: claim,
            };
            let sink = sink.prepare(owner, metadata).map_err(failed)?;
            let (buffer, spare) = (Vec::new(), Vec::new());
            return Ok(Self { sink: Arc::new(sink), buffer, spare, writing: None, written: 0 });
        }
        Err(failed(io::Error::other("the file is being replaced again and again")))
    }

    /// Takes more bytes, and waits while both buffers are full.
    pub(super) async fn push(&mut self, mut bytes: &[u8]) -> Result<(), FilesError> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == CHUNK {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Writes the rest, and makes sure that everything is there.
    pub(super) async fn finish(&mut self) -> Result<(), FilesError> {
        if self.written == 0 && self.buffer.len() <= INLINE {
            (&self.sink.file).write_all(&self.buffer).map_err(|error| self.failed(error))?;
            self.written = self.buffer.len() as u64;
        } else {
            self.flush().await?;
            self.settle().await?;
        }
        let size = self.sink.file.metadata().map_err(|error| self.failed(error))?.len();
        if size < self.written {
            let message = format!("{} bytes were written, but only {size} are there", self.written);
            return Err(self.failed(io::Error::other(message)));
        }
        self.sink.finished.store(true, Ordering::Release);
        Ok(())
    }

    /// Gives up: when this returns, nothing of the upload is left.
    pub(super) async fn abandon(mut self) {
        if let Some(writing) = self.writing.take() {
            // Whether it failed makes no difference any more.
            drop(writing.await);
        }
    }

    async fn flush(&mut self) -> Result<(), FilesError> {
        self.settle().await?;
        let next = std::mem::take(&mut self.spare);
        let mut full = std::mem::replace(&mut self.buffer, next);
        self.written += full.len() as u64;
        let sink = self.sink.clone();
        self.writing = Some(tokio::task::spawn_blocking(move || {
            (&sink.file).write_all(&full)?;
            full.clear();
            Ok(full)
        }));
        Ok(())
    }

    /// Waits for the buffer that is being written.
    async fn settle(&mut self) -> Result<(), FilesError> {
        if let Some(writing) = self.writing.take() {
            self.spare = writing.await.map_err(|_| FilesError::Cut)?.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> FilesError {
        FilesError::from_io(error, &self.sink.path)
    }
}

/// The open file. The last of its holders, the request or a write still on its way, cleans up.
struct Sink {
    file: File,
    path: String,
    id: FileId,
    new: bool,
    finished: AtomicBool,
    _claim: Claim,
}

impl Sink {
    fn prepare(mut self, owner: &Identity, metadata: &BTreeMap<String, String>) -> io::Result<Self> {
        let found = self.file.metadata()?;
        // Another upload may have filled it between our creating and our claiming it.
        self.new &= found.len() == 0;
        if self.new || found.uid() != owner.uid || found.gid() != owner.gid {
            let (uid, gid) = make::ids(owner);
            rustix::fs::fchown(&self.file, Some(uid), Some(gid))?;
        }
        if found.len() > 0 {
            self.file.set_len(0)?;
        }
        metadata::replace(&self.file, metadata)?;
        Ok(self)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if self.finished.load(Ordering::Acquire) {
            return;
        }
        // Nobody is left to be told when even this fails.
        if !self.new {
            drop(self.file.set_len(0));
        } else if fs::metadata(&self.path).is_ok_and(|found| FileId::of(&found) == self.id) {
            // The path may be a link to the file that was made.
            drop(fs::canonicalize(&self.path).and_then(fs::remove_file));
        }
    }
}

/// The file, and whether it was made just now. Nothing is waited for, and no terminal taken.
fn open(path: &str) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.write(true).mode(FILE_MODE).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    match options.clone().create_new(true).open(path) {
        Ok(file) => return Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    match options.open(path) {
        Ok(file) => Ok((file, false)),
        // A link to where nothing is yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((options.create(true).open(path)?, true)),
        Err(error) => Err(error),
    }
}
