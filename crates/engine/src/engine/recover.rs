//! The start: what an earlier run left is ended and removed.
//!
//! Sandboxes do not outlive the server: an agent that lost its connection has lost its streams anyway, and a server
//! that adopts walls it cannot fully see would promise more than it can keep. So the start sweeps.

use std::sync::Arc;

use crate::ports::StoreError;
use crate::{End, Record, RecoverError, State, Why};

use super::{Engine, Shared};

/// What a start found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovered {
    /// Records that were still living.
    pub ended: usize,
    /// Sandboxes that the driver found and removed.
    pub swept: usize,
}

impl Engine {
    /// Ends and removes what an earlier run left. To be called once, before anything is served.
    ///
    /// A record is marked as ended before the driver removes, as removed only afterwards; so a start that dies
    /// half-way is repeated by the next.
    pub async fn recover(&self) -> Result<Recovered, RecoverError> {
        let shared = &self.shared;
        let mut records = shared.store.load().await.map_err(RecoverError::Store)?;
        let mut ended = 0;
        for record in &mut records {
            if record.ended().is_none() {
                let end = End { at: shared.clock.now(), why: Why::HostRestart, removed: false };
                shared.rewrite(record, State::Ended(end)).await.map_err(RecoverError::Store)?;
                ended += 1;
            }
        }
        let swept = shared.driver.sweep().await.map_err(RecoverError::Sweep)?;
        for mut record in records {
            if let Some(end) = record.ended().filter(|end| !end.removed).cloned() {
                let state = State::Ended(End { removed: true, ..end });
                shared.rewrite(&mut record, state).await.map_err(RecoverError::Store)?;
            }
            shared.table.remember(record);
        }
        shared.recall_snapshots().await?;
        shared.recall_volumes().await?;
        Ok(Recovered { ended, swept })
    }
}

impl Shared {
    /// Snapshots outlive the server. What a server that died had not written down yet nobody was told of: it goes.
    async fn recall_snapshots(&self) -> Result<(), RecoverError> {
        self.snapshots.put(self.store.snapshots().await.map_err(RecoverError::Store)?);
        for id in self.driver.snapshots().await.map_err(RecoverError::Sweep)? {
            if !self.snapshots.knows(&id) {
                self.driver.discard(&id).await.map_err(RecoverError::Sweep)?;
            }
        }
        Ok(())
    }

    /// The same of volumes.
    async fn recall_volumes(&self) -> Result<(), RecoverError> {
        self.volumes.put(self.store.volumes().await.map_err(RecoverError::Store)?);
        for id in self.driver.volumes().await.map_err(RecoverError::Sweep)? {
            if self.volumes.get(&id).is_none() {
                self.driver.remove_volume(&id).await.map_err(RecoverError::Sweep)?;
            }
        }
        Ok(())
    }

    async fn rewrite(&self, record: &mut Record, state: State) -> Result<(), StoreError> {
        // It has ended: nothing is built from it any more.
        let next = Record { state, blueprint: Arc::default(), ..record.clone() };
        self.store.replace(record, &next).await?;
        *record = next;
        Ok(())
    }
}
