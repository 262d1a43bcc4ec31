//! What the engine needs from the world, in its own words.

use async_trait::async_trait;
use hood_driver_api::{Outlets, SandboxId, SnapshotId, VolumeId};
use hood_policy::Policy;
use time::OffsetDateTime;

use crate::{LogLine, LogQuery, Record, Sample, Snapshot, TeamId, Template, Volume};

/// Where records are kept. When a write's future ends, the write survives the death of this process.
#[async_trait]
pub trait Store: Send + Sync {
    /// Writes a new record; fails if the id exists.
    async fn insert(&self, record: &Record) -> Result<(), StoreError>;

    /// Replaces `prev` by `next`; [`StoreError::Conflict`] when `prev` is no longer what is stored.
    async fn replace(&self, prev: &Record, next: &Record) -> Result<(), StoreError>;

    /// Every record, tombstones included.
    async fn load(&self) -> Result<Vec<Record>, StoreError>;

    /// Forgets tombstones that ended before `before` and have been removed, with their logs and samples.
    async fn prune(&self, before: OffsetDateTime) -> Result<usize, StoreError>;

    /// Appends log lines and samples of sandboxes; may be written late, never lost on an orderly stop.
    async fn append(
        &self,
        logs: &[(SandboxId, LogLine)],
        samples: &[(SandboxId, Sample)],
    ) -> Result<(), StoreError>;

    /// A sandbox's log lines, oldest first unless the query says otherwise.
    async fn logs(&self, id: &SandboxId, query: &LogQuery) -> Result<Vec<LogLine>, StoreError>;

    /// A sandbox's samples between two times, oldest first.
    async fn samples(
        &self,
        id: &SandboxId,
        from: OffsetDateTime,
        to: OffsetDateTime,
    ) -> Result<Vec<Sample>, StoreError>;

    /// Writes snapshots, new and changed ones: all or none.
    async fn write_snapshots(&self, snapshots: &[Snapshot]) -> Result<(), StoreError>;

    /// Forgets a snapshot; succeeds on what is not there.
    async fn remove_snapshot(&self, id: &SnapshotId) -> Result<(), StoreError>;

    /// Every snapshot.
    async fn snapshots(&self) -> Result<Vec<Snapshot>, StoreError>;

    /// Writes a new volume.
    async fn insert_volume(&self, volume: &Volume) -> Result<(), StoreError>;

    /// Forgets a volume; succeeds on what is not there.
    async fn remove_volume(&self, id: &VolumeId) -> Result<(), StoreError>;

    /// Every volume.
    async fn volumes(&self) -> Result<Vec<Volume>, StoreError>;

    /// The team an API key (given as its SHA-256) belongs to.
    async fn team_of(&self, key_hash: &[u8; 32]) -> Result<Option<TeamId>, StoreError>;
}

/// The store could not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else changed the record first.
    #[error("sandbox `{0}` changed meanwhile")]
    Conflict(SandboxId),
    /// The id is taken.
    #[error("sandbox `{0}` exists already")]
    Exists(SandboxId),
    /// The disk is full: nothing was written, nothing lost.
    #[error("no space left for the store")]
    Full,
    /// Anything else.
    #[error("the store failed while {doing}")]
    Failed {
        /// What it was doing.
        doing: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Where templates are found.
#[async_trait]
pub trait Templates: Send + Sync {
    /// The template of that id or `name[:tag]`, if there is one.
    async fn find(&self, reference: &str) -> Option<Template>;

    /// All of them.
    async fn list(&self) -> Vec<Template>;
}

/// The way out of sandboxes. None of these waits for anything.
pub trait Gate: Send + Sync {
    /// What is odd about a policy, in sentences for its owner; or, as an error, why it cannot be used here.
    fn check(&self, policy: &Policy) -> Result<Vec<String>, String>;

    /// Answers at a sandbox's outlets from now on, under its record's policy.
    fn open(&self, record: &Record, outlets: Outlets);

    /// The record's policy counts from now on; connections that it forbids are cut. Does nothing where nothing is open.
    fn enforce(&self, record: &Record);

    /// Cuts everything and answers no more. Does nothing where nothing is open.
    fn close(&self, id: &SandboxId);
}

/// Time, wound by hand in tests.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Now, in UTC.
    fn now(&self) -> OffsetDateTime;

    /// Returns at `when` or later. Dropping the future cancels the wait.
    async fn sleep_until(&self, when: OffsetDateTime);
}

/// Randomness, fixed in tests.
pub trait Entropy: Send + Sync {
    /// Fills the buffer with bytes nobody can guess.
    fn fill(&self, bytes: &mut [u8]);
}
