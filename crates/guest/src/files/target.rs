//! The file that an upload writes: two buffers in front of its [`Content`].

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::task::JoinHandle;

use super::CHUNK;
use super::content::Content;
use super::error::FilesError;
use crate::filesystem::uploads::Uploads;
use crate::sys::spawn::Identity;

/// What is left of a small upload is written at once: handing it to a thread would take longer.
const INLINE: usize = 64 << 10;

/// A file being uploaded: bytes go into one buffer while the other one is written. The last of the content's holders, the
/// request or a write still on its way, cleans up.
pub(super) struct Target {
    content: Arc<Content>,
    path: String,
    buffer: Vec<u8>,
    spare: Vec<u8>,
    writing: Option<JoinHandle<io::Result<Vec<u8>>>>,
    written: u64,
}

impl Target {
    /// Begins to write the file at `path` as its owner, with that metadata.
    pub(super) async fn open(
        uploads: &Uploads,
        path: &str,
        owner: &Identity,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Self, FilesError> {
        let content = Content::begin(uploads, path, owner, metadata)
            .await
            .map_err(|error| FilesError::from_io(error, path))?;
        let (buffer, spare) = (Vec::new(), Vec::new());
        Ok(Self {
            content: Arc::new(content),
            path: path.to_owned(),
            buffer,
            spare,
            writing: None,
            written: 0,
        })
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

    /// Writes the rest, and makes the whole of it the file's content.
    pub(super) async fn finish(&mut self) -> Result<(), FilesError> {
        if self.written == 0 && self.buffer.len() <= INLINE {
            self.content.write(&self.buffer).map_err(|error| self.failed(error))?;
            self.written = self.buffer.len() as u64;
        } else {
            self.flush().await?;
            self.settle().await?;
        }
        self.content.finish(self.written).map_err(|error| self.failed(error))
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
        let content = self.content.clone();
        self.writing = Some(tokio::task::spawn_blocking(move || {
            content.write(&full)?;
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
        FilesError::from_io(error, &self.path)
    }
}
