//! What a caller changes of a sandbox that lives: what listings show, and what it may use.

use std::collections::BTreeMap;

use hood_driver_api::DriverError;

use super::create::{resources, small_enough, weight};
use super::{Engine, ResourceAsk};
use crate::lifecycle::Event;
use crate::{Bytes, LookupError, MilliCpu, Record, TeamId, limits};

/// What to replace; what is not named stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Change {
    /// All of it.
    pub metadata: Option<BTreeMap<String, String>>,
    /// Memory, in bytes.
    pub memory: Option<Bytes>,
    /// Processor time.
    pub cpu: Option<MilliCpu>,
}

impl Engine {
    /// Changes a running or paused sandbox: all of it, or nothing. Memory that is in use cannot be taken away.
    pub async fn change(&self, team: &TeamId, id: &str, change: Change) -> Result<Record, LookupError> {
        let record = self.shared.living_of(team, id)?;
        if let Some(metadata) = &change.metadata {
            small_enough("metadata", weight(metadata), limits::METADATA)?;
        }
        let Change { metadata, memory, cpu } = change;
        let ask = ResourceAsk { memory, cpu, ..ResourceAsk::default() };
        resources(record.resources, ask, &self.shared.config.max_resources)?;
        let changed = self.shared.change(&record.id, Event::Change { metadata, memory, cpu }).await;
        changed.map_err(|error| match error {
            LookupError::Driver(DriverError::InUse { used }) => {
                LookupError::MemoryInUse { id: record.id.clone(), used }
            }
            other => other,
        })
    }
}
