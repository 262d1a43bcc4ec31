//! Removing what an ended sandbox leaves, off every request's path.

use std::sync::Arc;
use std::time::Duration;

use hood_driver_api::{DriverError, SandboxId};

use super::Shared;
use super::apply::ApplyError;
use crate::lifecycle::Event;
use crate::limits;
use crate::tasks::{Panicked, within};

impl Shared {
    pub(super) fn begin_destroying(self: &Arc<Self>, id: &SandboxId) {
        // It may have ended while its walls went up, before its outlets were there to be closed.
        self.gate.close(id);
        let (shared, id) = (self.clone(), id.clone());
        self.tasks.works.spawn(async move { shared.destroy(&id).await });
    }

    /// The only place that calls the driver's `destroy`, once for each life (see [`crate::lifecycle`]).
    async fn destroy(self: &Arc<Self>, id: &SandboxId) {
        for attempt in 1..=limits::DESTROY_ATTEMPTS {
            match self.try_destroying(id).await {
                Ok(()) => {
                    if let Err(ApplyError::Store(error)) = self.apply(id, Event::Removed).await {
                        tracing::warn!(sandbox.id = %id, %error, "the removal of a sandbox could not be recorded");
                    }
                    return;
                }
                Err(error) => {
                    self.metrics.destroy_failed();
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(sandbox.id = %id, attempt, error, "a sandbox could not be removed");
                }
            }
            let again = self.clock.now() + pause(attempt);
            if self.tasks.stop.run_until_cancelled(self.clock.sleep_until(again)).await.is_none() {
                return;
            }
        }
        tracing::error!(sandbox.id = %id, "a sandbox was not removed; the next start will sweep it");
    }

    async fn try_destroying(&self, id: &SandboxId) -> Result<(), DriverError> {
        let _permit = self.destroys.acquire().await.expect("this semaphore is never closed");
        let (driver, its_id) = (self.driver.clone(), id.clone());
        let work = self.tasks.guard(async move { driver.destroy(&its_id).await });
        match within(&self.clock, limits::DESTROY, work).await {
            Some(Ok(result)) => result,
            Some(Err(Panicked)) => Err(DriverError::Guest("the driver panicked".into())),
            None => Err(DriverError::Guest(format!("not removed within {} s", limits::DESTROY.as_secs()))),
        }
    }
}

/// Doubles from one second.
fn pause(attempt: u32) -> Duration {
    Duration::from_secs(1 << (attempt - 1).min(16)).min(limits::DESTROY_PAUSE)
}
