//! What the driver reports without being asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use hood_driver_api::{DriverEvent, Event as Happened, SandboxId};
use hood_wire::{GuestEvent, Level};
use tokio::sync::mpsc;

use super::Shared;
use crate::lifecycle::Event;
use crate::table::Room;
use crate::{LogLine, Why};

impl Shared {
    pub(super) async fn hear_driver(self: Arc<Self>, mut events: mpsc::Receiver<DriverEvent>) {
        // The sender in `self` keeps the channel open; the engine's stop ends this task.
        while let Some(DriverEvent { id, event }) = events.recv().await {
            match event {
                Happened::Died { out_of_memory } => self.died(id, out_of_memory),
                Happened::Guest(said) => self.note(&id, said),
            }
        }
    }

    /// In a task of its own: one sandbox's slow write must not hold up the news of the others.
    fn died(self: &Arc<Self>, id: SandboxId, out_of_memory: bool) {
        let why = if out_of_memory { Why::Oom } else { Why::GuestDied };
        let shared = self.clone();
        self.tasks.works.spawn(async move {
            if let Err(refused) = shared.apply(&id, Event::End(why)).await {
                tracing::debug!(sandbox.id = %id, ?refused, "the death of a guest was no news");
            }
        });
    }

    fn note(&self, id: &SandboxId, said: GuestEvent) {
        let (level, logger, message) = match said {
            // The driver answers these itself.
            GuestEvent::Ready { .. } | GuestEvent::Fork(_) => return,
            GuestEvent::Failed { message } => (Level::Error, "guest".to_owned(), message),
            GuestEvent::Log { level, logger, message } => (level, logger.chars().take(32).collect(), message),
        };
        let line = |level, logger, message| LogLine {
            at: self.clock.now(),
            level,
            logger,
            message,
            fields: BTreeMap::new(),
        };
        match self.table.count_guest_line(id) {
            Room::Enough => self.journal.line(id, line(level, logger, message)),
            Room::Last => {
                let message = "this log is full; further lines of the guest are dropped".to_owned();
                self.journal.line(id, line(Level::Warn, "engine".to_owned(), message));
            }
            Room::None => {}
        }
    }
}
