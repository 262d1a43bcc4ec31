//! A store without a disk.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use hood_engine::ports::{Store, StoreError};
use hood_engine::{
    LogLine, LogQuery, Order, Record, Sample, SandboxId, Snapshot, SnapshotId, TeamId, Volume, VolumeId,
};
use time::OffsetDateTime;
use tokio::task::yield_now;

/// Keeps everything in memory. Can be told to be full.
///
/// A write lets other tasks run before and after it acts, as one to a disk would: who relies on its being instant is
/// found out.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Contents>);

#[derive(Debug, Default)]
struct Contents {
    records: HashMap<SandboxId, Record>,
    logs: Vec<(SandboxId, LogLine)>,
    samples: Vec<(SandboxId, Sample)>,
    snapshots: HashMap<SnapshotId, Snapshot>,
    volumes: HashMap<VolumeId, Volume>,
    keys: HashMap<[u8; 32], TeamId>,
    full: bool,
}

impl MemoryStore {
    /// Makes every write fail with [`StoreError::Full`], or ends that.
    pub fn set_full(&self, full: bool) {
        self.lock().full = full;
    }

    /// Adds an API key, given as its SHA-256.
    pub fn add_key(&self, hash: [u8; 32], team: TeamId) {
        self.lock().keys.insert(hash, team);
    }

    /// What is stored of a sandbox.
    pub fn record(&self, id: &SandboxId) -> Option<Record> {
        self.lock().records.get(id).cloned()
    }

    /// Everything that is stored.
    pub fn records(&self) -> Vec<Record> {
        self.lock().records.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().expect("no test panics while it holds this lock")
    }

    /// Does a write in the middle of a pause.
    async fn write<T>(
        &self,
        act: impl FnOnce(&mut Contents) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        yield_now().await;
        let done = self.writable().and_then(|mut contents| act(&mut contents));
        yield_now().await;
        done
    }

    fn writable(&self) -> Result<MutexGuard<'_, Contents>, StoreError> {
        let contents = self.lock();
        if contents.full { Err(StoreError::Full) } else { Ok(contents) }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn insert(&self, record: &Record) -> Result<(), StoreError> {
        self.write(|contents| {
            if contents.records.contains_key(&record.id) {
                return Err(StoreError::Exists(record.id.clone()));
            }
            contents.records.insert(record.id.clone(), record.clone());
            Ok(())
        })
        .await
    }

    async fn replace(&self, prev: &Record, next: &Record) -> Result<(), StoreError> {
        self.write(|contents| {
            if contents.records.get(&prev.id) != Some(prev) {
                return Err(StoreError::Conflict(prev.id.clone()));
            }
            contents.records.insert(next.id.clone(), next.clone());
            Ok(())
        })
        .await
    }

    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        Ok(self.records())
    }

    async fn prune(&self, before: OffsetDateTime) -> Result<usize, StoreError> {
        let mut contents = self.writable()?;
        let old = |record: &Record| record.ended().is_some_and(|end| end.removed && end.at < before);
        let gone: Vec<SandboxId> =
            contents.records.values().filter(|record| old(record)).map(|record| record.id.clone()).collect();
        contents.records.retain(|id, _| !gone.contains(id));
        contents.logs.retain(|(id, _)| !gone.contains(id));
        contents.samples.retain(|(id, _)| !gone.contains(id));
        Ok(gone.len())
    }

    async fn append(
        &self,
        logs: &[(SandboxId, LogLine)],
        samples: &[(SandboxId, Sample)],
    ) -> Result<(), StoreError> {
        let mut contents = self.writable()?;
        contents.logs.extend_from_slice(logs);
        contents.samples.extend_from_slice(samples);
        Ok(())
    }

    async fn logs(&self, id: &SandboxId, query: &LogQuery) -> Result<Vec<LogLine>, StoreError> {
        let contents = self.lock();
        let wanted =
            contents.logs.iter().filter(|(of, line)| of == id && query.wants(line)).map(|(_, line)| line);
        Ok(match query.direction {
            Order::Oldest => wanted.take(query.limit).cloned().collect(),
            Order::Newest => wanted.rev().take(query.limit).cloned().collect(),
        })
    }

    async fn samples(
        &self,
        id: &SandboxId,
        from: OffsetDateTime,
        to: OffsetDateTime,
    ) -> Result<Vec<Sample>, StoreError> {
        let contents = self.lock();
        let wanted = contents.samples.iter().filter(|(of, s)| of == id && s.at >= from && s.at <= to);
        Ok(wanted.map(|(_, sample)| sample.clone()).collect())
    }

    async fn write_snapshots(&self, snapshots: &[Snapshot]) -> Result<(), StoreError> {
        let new =
            snapshots.iter().map(|snapshot| (snapshot.id.clone(), snapshot.clone())).collect::<Vec<_>>();
        self.write(|contents| {
            contents.snapshots.extend(new);
            Ok(())
        })
        .await
    }

    async fn remove_snapshot(&self, id: &SnapshotId) -> Result<(), StoreError> {
        self.write(|contents| {
            contents.snapshots.remove(id);
            Ok(())
        })
        .await
    }

    async fn snapshots(&self) -> Result<Vec<Snapshot>, StoreError> {
        Ok(self.lock().snapshots.values().cloned().collect())
    }

    async fn insert_volume(&self, volume: &Volume) -> Result<(), StoreError> {
        let volume = volume.clone();
        self.write(|contents| {
            contents.volumes.insert(volume.id.clone(), volume);
            Ok(())
        })
        .await
    }

    async fn remove_volume(&self, id: &VolumeId) -> Result<(), StoreError> {
        self.write(|contents| {
            contents.volumes.remove(id);
            Ok(())
        })
        .await
    }

    async fn volumes(&self) -> Result<Vec<Volume>, StoreError> {
        Ok(self.lock().volumes.values().cloned().collect())
    }

    async fn team_of(&self, key_hash: &[u8; 32]) -> Result<Option<TeamId>, StoreError> {
        Ok(self.lock().keys.get(key_hash).cloned())
    }
}
