//! Standing still, and going on.

use std::time::Duration;

use hood_driver_api::SandboxId;

use super::Engine;
use super::apply::ApplyError;
use crate::lifecycle::{Event, Refusal};
use crate::{Keep, LookupError, Record, TeamId, limits};

/// What a call that wants a running sandbox found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// It ran already.
    Ran,
    /// The call has resumed it.
    Resumed,
}

impl Engine {
    /// Stops a running sandbox where it is, or ends its processes and keeps its files. Its deadline counts no more.
    pub async fn pause(&self, team: &TeamId, id: &str, keep: Keep) -> Result<Record, LookupError> {
        let record = self.shared.living_of(team, id)?;
        self.shared.change(&record.id, Event::Pause(keep)).await
    }

    /// Resumes a paused sandbox, with `timeout` from now; a running one lives at least that long.
    pub async fn connect(
        &self,
        team: &TeamId,
        id: &str,
        timeout: Duration,
    ) -> Result<(Record, Woken), LookupError> {
        let (id, at) = self.shared.deadline_for(team, id, timeout)?;
        // Whoever else pauses or resumes it at this moment does so before or after, and either way one of these fits.
        match self.shared.change(&id, Event::Resume(at)).await {
            Ok(record) => Ok((record, Woken::Resumed)),
            Err(LookupError::NotPaused(_)) => {
                let record = self.shared.change(&id, Event::ExtendDeadline(at)).await?;
                Ok((record, Woken::Ran))
            }
            Err(other) => Err(other),
        }
    }

    /// Resumes a paused sandbox; an error for a running one.
    pub async fn resume(&self, team: &TeamId, id: &str, timeout: Duration) -> Result<Record, LookupError> {
        let (id, at) = self.shared.deadline_for(team, id, timeout)?;
        self.shared.change(&id, Event::Resume(at)).await
    }

    /// A running sandbox, whoever owns it, for traffic to it: one that was made to be woken by traffic is resumed first,
    /// unless it keeps only files.
    pub async fn awake(&self, id: &SandboxId) -> Option<Record> {
        let record = self.shared.table.record(id)?;
        if record.is_running() {
            return Some(Record::clone(&record));
        }
        if !(record.paused() == Some(Keep::Memory) && record.auto_resume) {
            return None;
        }
        let at = self.shared.clock.now() + limits::AUTO_RESUME;
        match self.shared.apply(id, Event::Resume(at)).await {
            // Another request was first.
            Ok(_) | Err(ApplyError::Refused(Refusal::NotPaused)) => self.running(id),
            Err(error) => {
                tracing::warn!(sandbox.id = %id, ?error, "traffic could not wake a sandbox");
                None
            }
        }
    }
}
