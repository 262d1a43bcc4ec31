//! What a dialect changes of a sandbox after its creation: its policy with the notes on it, lines in its log.

use std::collections::BTreeMap;

use hood_driver_api::SandboxId;
use hood_policy::Policy;
use hood_wire::Level;
use serde_json::Value;

use super::{Engine, Shared};
use crate::lifecycle::Event;
use crate::{Bytes, LookupError, Record, TeamId, limits};

impl Engine {
    /// Replaces what the sandbox may reach, together with the dialect's notes and what the caller said about internet
    /// access. Connections that the new policy forbids are cut.
    pub async fn set_policy(
        &self,
        team: &TeamId,
        id: &str,
        policy: Box<Policy>,
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
        let odd = self.shared.gate.check(&policy).map_err(LookupError::Policy)?;
        for text in odd {
            self.say(&record.id, Level::Warn, &text);
        }
        self.shared.change(&record.id, Event::SetPolicy { policy, notes, internet }).await
    }

    /// Writes a line into a sandbox's log.
    pub fn say(&self, id: &SandboxId, level: Level, message: &str) {
        self.shared.say(id, level, message);
    }
}

impl Shared {
    /// The same, from within.
    pub(super) fn say(&self, id: &SandboxId, level: Level, message: &str) {
        if let Some(record) = self.table.record(id) {
            self.log(&record, level, message, []);
        }
    }
}
