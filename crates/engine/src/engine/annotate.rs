//! What a dialect keeps with a sandbox after its creation: notes on its record, lines in its log.

use std::collections::BTreeMap;

use hood_driver_api::SandboxId;
use hood_wire::Level;
use serde_json::Value;

use super::Engine;
use crate::lifecycle::Event;
use crate::{Bytes, LookupError, Record, TeamId, limits};

impl Engine {
    /// Replaces the dialect's notes, and what the caller said about internet access.
    pub async fn annotate(
        &self,
        team: &TeamId,
        id: &str,
        notes: BTreeMap<String, Value>,
        internet: Option<bool>,
    ) -> Result<Record, LookupError> {
        let record = self.shared.living_of(team, id)?;
        let size: usize = notes.iter().map(|(name, value)| name.len() + value.to_string().len()).sum();
        let size = Bytes(size as u64);
        if size > limits::NOTES {
            return Err(LookupError::OutOfBounds {
                field: "notes",
                bounds: format!("at most {} together", limits::NOTES),
                given: size.to_string(),
            });
        }
        self.shared.change(&record.id, Event::Annotate { notes, internet }).await
    }

    /// Writes a line into a sandbox's log.
    pub fn say(&self, id: &SandboxId, level: Level, message: &str) {
        if let Some(record) = self.shared.table.record(id) {
            self.shared.log(&record, level, message, []);
        }
    }
}
