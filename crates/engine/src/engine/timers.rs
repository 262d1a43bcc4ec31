//! What happens because time passes.

use std::sync::Arc;

use hood_driver_api::SandboxId;

use super::Shared;
use super::apply::ApplyError;
use crate::lifecycle::{Event, Refusal};
use crate::limits;

impl Shared {
    /// Ends sandboxes whose time is up. Asleep until the first deadline.
    pub(super) async fn watch_deadlines(self: Arc<Self>) {
        loop {
            match self.deadlines.first() {
                None => self.deadlines.sooner().await,
                Some(first) => tokio::select! {
                    () = self.clock.sleep_until(first) => {}
                    () = self.deadlines.sooner() => {}
                },
            }
            for id in self.deadlines.due(self.clock.now()) {
                let shared = self.clone();
                self.tasks.works.spawn(async move {
                    match shared.apply(&id, Event::Expire).await {
                        Ok(_) | Err(ApplyError::Refused(Refusal::Ended(_))) => {}
                        Err(ApplyError::Refused(Refusal::NotDue)) => shared.look_again(&id),
                        Err(error) => {
                            tracing::error!(sandbox.id = %id, ?error, "a sandbox cannot be ended in time");
                        }
                    }
                });
            }
        }
    }

    /// It was extended meanwhile, or the clock was set back: either way its deadline is to come.
    fn look_again(&self, id: &SandboxId) {
        if let Some((record, _)) = self.table.running(id) {
            self.deadlines.put(id, record.deadline);
        }
    }

    /// Forgets sandboxes that ended long ago.
    pub(super) async fn prune_tombstones(self: Arc<Self>) {
        loop {
            let next = self.clock.now() + limits::PRUNE_EVERY;
            self.clock.sleep_until(next).await;
            let before = self.table.prune(self.clock.now() - self.config.keep_ended);
            match self.bounded("forgetting old sandboxes", self.store.prune(before)).await {
                Ok(0) => {}
                Ok(forgotten) => tracing::debug!(forgotten, "old sandboxes forgotten"),
                Err(error) => tracing::warn!(%error, "old sandboxes could not be forgotten"),
            }
        }
    }
}
