//! The orderly end of the server.

use super::Engine;
use crate::lifecycle::Event;
use crate::tasks::within;
use crate::{Why, limits};

impl Engine {
    /// Refuses new sandboxes, ends all living ones, waits until they are removed (at most [`limits::STOP`]), and
    /// writes the journal. May be called twice.
    pub async fn stop(&self) {
        let shared = &self.shared;
        shared.table.close();
        for record in shared.table.all_living() {
            let (shared, id) = (shared.clone(), record.id.clone());
            self.shared.tasks.works.spawn(async move {
                if let Err(refused) = shared.apply(&id, Event::End(Why::HostRestart)).await {
                    tracing::debug!(sandbox.id = %id, ?refused, "it had ended already");
                }
            });
        }
        // Closed trackers still take tasks; they are done when none is left.
        shared.tasks.works.close();
        if within(&shared.clock, limits::STOP, shared.tasks.works.wait()).await.is_none() {
            let left = shared.table.levels().removing;
            tracing::warn!(left, "not all sandboxes were removed in time; the next start will sweep them");
        }
        if within(&shared.clock, limits::STORE, shared.journal.flush()).await.is_none() {
            tracing::warn!("the last log lines could not be written in time");
        }
        shared.tasks.stop.cancel();
        shared.tasks.daemons.close();
        if within(&shared.clock, limits::STORE, shared.tasks.daemons.wait()).await.is_none() {
            tracing::warn!("the engine's tasks did not end in time");
        }
    }
}
