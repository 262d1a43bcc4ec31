//! One builder at a time.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::Store;
use crate::error::StoreError;

/// Held while layers are made or removed; the kernel releases it with its holder's death.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

// === impl Store ===

impl Store {
    /// Takes the lock. When another process has it, calls `waiting` once and waits: every step of a build has a time
    /// limit, so the wait ends.
    pub(crate) fn lock(&self, waiting: impl FnOnce()) -> Result<Lock, StoreError> {
        let path = self.layers.join(".lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(StoreError::io("open", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Lock(file)),
            Err(Errno::WOULDBLOCK) => waiting(),
            Err(source) => return Err(StoreError::io::<Errno>("lock", &path)(source)),
        }
        flock(&file, FlockOperation::LockExclusive).map_err(StoreError::io("lock", &path))?;
        Ok(Lock(file))
    }
}
