//! One transition: decide, write, flip, act. In this order, one at a time for each sandbox.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hood_driver_api::{DriverError, SandboxId};
use hood_wire::Level;

use super::Shared;
use crate::lifecycle::{Effect, Event, Refusal, Step, step};
use crate::ports::StoreError;
use crate::table::{Held, Stored};
use crate::tasks::within;
use crate::{Keep, LogLine, LookupError, Record, State, Why, limits};

/// A transition did not happen.
#[derive(Debug)]
pub(super) enum ApplyError {
    /// No such sandbox.
    Unknown,
    /// The state machine says no.
    Refused(Refusal),
    /// It could not be written down.
    Store(StoreError),
    /// The driver could not do it; all is as it was.
    Driver(DriverError),
}

impl Shared {
    /// Applies an event on behalf of a caller.
    pub(super) async fn change(
        self: &Arc<Self>,
        id: &SandboxId,
        event: Event,
    ) -> Result<Record, LookupError> {
        match self.apply(id, event).await {
            Ok(record) => Ok(Record::clone(&record)),
            Err(ApplyError::Store(source)) => Err(LookupError::Store(source)),
            Err(ApplyError::Driver(source)) => Err(LookupError::Driver(source)),
            Err(ApplyError::Refused(Refusal::Paused)) => Err(LookupError::Paused(id.clone())),
            Err(ApplyError::Refused(Refusal::NotPaused | Refusal::HasMemory)) => {
                Err(LookupError::NotPaused(id.clone()))
            }
            Err(ApplyError::Refused(Refusal::Ended(why))) => {
                Err(LookupError::NotFound { id: id.to_string(), ended: Some(why.to_string()) })
            }
            Err(ApplyError::Unknown | ApplyError::Refused(Refusal::NotDue | Refusal::Misplaced)) => {
                Err(LookupError::NotFound { id: id.to_string(), ended: None })
            }
        }
    }

    /// Applies an event, in a task of its own: a caller that goes away leaves no half transition.
    pub(super) async fn apply(
        self: &Arc<Self>,
        id: &SandboxId,
        event: Event,
    ) -> Result<Arc<Record>, ApplyError> {
        let (shared, its_id) = (self.clone(), id.clone());
        match self.tasks.finish(async move { shared.transition(&its_id, event).await }).await {
            Ok(applied) => applied,
            Err(panicked) => {
                tracing::error!(sandbox.id = %id, ?panicked, "a transition panicked; the sandbox is ended");
                self.transition(id, Event::End(Why::GuestDied)).await
            }
        }
    }

    async fn transition(self: &Arc<Self>, id: &SandboxId, event: Event) -> Result<Arc<Record>, ApplyError> {
        let turn = self.table.turn(id).ok_or(ApplyError::Unknown)?;
        let _turn = turn.lock().await;
        let held = self.table.held(id).ok_or(ApplyError::Unknown)?;
        let Step { next, effects } =
            step(&held.record, event, self.clock.now()).map_err(ApplyError::Refused)?;
        let next = Arc::new(next);
        if next != held.record {
            let stored = self.write(&held, &next).await?;
            self.table.put(&next, stored);
            self.tell(&held.record, &next);
        }
        for effect in effects {
            match effect {
                Effect::Measure => self.begin_measuring(&next.id),
                Effect::Enforce => self.gate.enforce(&next),
                Effect::Cut => {
                    held.cut.cancel();
                    if !next.has_processes() {
                        self.gate.close(&next.id);
                    }
                }
                Effect::Destroy => self.begin_destroying(&next.id),
                Effect::Freeze => {
                    self.or_undone(&held, &next, limits::FREEZE, self.driver.freeze(&next.id)).await?;
                }
                Effect::Resize => {
                    let resizing = self.driver.resize(&next.id, &next.resources);
                    self.or_undone(&held, &next, limits::FREEZE, resizing).await?;
                }
                Effect::Thaw => {
                    self.or_undone(&held, &next, limits::FREEZE, self.driver.thaw(&next.id)).await?;
                }
                Effect::Rest => self.rest(&held, &next).await?,
                Effect::Rebuild => {
                    self.or_undone(&held, &next, limits::BUILD, self.rebuild(&next)).await?;
                }
                Effect::Restore(from) => {
                    let restoring = self.driver.restore(&next.id, &from);
                    self.or_undone(&held, &next, limits::CAPTURE, restoring).await?;
                }
            }
        }
        Ok(next)
    }

    /// Has the driver do something. What it cannot do is written back.
    async fn or_undone(
        &self,
        held: &Held,
        next: &Arc<Record>,
        limit: Duration,
        doing: impl Future<Output = Result<(), DriverError>>,
    ) -> Result<(), ApplyError> {
        let Err(error) = self.timely(limit, doing).await else { return Ok(()) };
        let Some(now) = self.table.held(&next.id) else { return Err(ApplyError::Unknown) };
        let undone =
            step(&now.record, Event::Undone(Box::new(Record::clone(&held.record))), self.clock.now());
        let back = Arc::new(undone.map_err(ApplyError::Refused)?.next);
        // What it really is counts, whether that can be written or not.
        let stored = self.write(&now, &back).await.unwrap_or(Stored::No);
        self.table.put(&back, stored);
        self.tell(&now.record, &back);
        Err(ApplyError::Driver(error))
    }

    /// Ends the processes of a sandbox that keeps its files. Where that fails nobody knows what is left of them: it ends.
    async fn rest(self: &Arc<Self>, held: &Held, next: &Record) -> Result<(), ApplyError> {
        self.gate.close(&next.id);
        let Err(error) = self.timely(limits::DESTROY, self.driver.rest(&next.id)).await else {
            return Ok(());
        };
        let Some(now) = self.table.held(&next.id) else { return Err(ApplyError::Unknown) };
        let end = step(&now.record, Event::End(Why::GuestDied), self.clock.now());
        let over = Arc::new(end.map_err(ApplyError::Refused)?.next);
        let stored = self.write(&now, &over).await?;
        self.table.put(&over, stored);
        self.tell(&now.record, &over);
        held.cut.cancel();
        self.begin_destroying(&over.id);
        Err(ApplyError::Driver(error))
    }

    /// A call of the driver's that ends in time one way or the other.
    pub(super) async fn timely<T>(
        &self,
        limit: Duration,
        doing: impl Future<Output = Result<T, DriverError>>,
    ) -> Result<T, DriverError> {
        within(&self.clock, limit, doing)
            .await
            .unwrap_or_else(|| Err(DriverError::Guest(format!("not done within {} s", limit.as_secs()))))
    }

    /// An end happens whether it can be written or not: a full disk must not keep a sandbox alive, and what a
    /// restart then reads as living it ends and sweeps. Everything else is refused when it cannot be written.
    async fn write(&self, held: &Held, next: &Record) -> Result<Stored, ApplyError> {
        let mut written = self.bounded("replacing a record", self.store.replace(&held.stored, next)).await;
        if matches!(written, Err(StoreError::Conflict(_))) && held.stored != held.record {
            // The write before this one was given up on as too slow, but it came through after all.
            written = self.bounded("replacing a record", self.store.replace(&held.record, next)).await;
        }
        match written {
            Ok(()) => Ok(Stored::Yes),
            Err(error) if next.ended().is_some() => {
                tracing::warn!(sandbox.id = %next.id, %error, "the end of a sandbox could not be recorded");
                Ok(Stored::No)
            }
            Err(error) => Err(ApplyError::Store(error)),
        }
    }

    /// A store call that ends in time one way or the other.
    pub(super) async fn bounded<T>(
        &self,
        doing: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        within(&self.clock, limits::STORE, call).await.unwrap_or_else(|| {
            Err(StoreError::Failed { doing, source: io::Error::from(io::ErrorKind::TimedOut).into() })
        })
    }

    /// What follows from a changed record by itself: its place among the deadlines, its log, the counters.
    fn tell(&self, prev: &Record, next: &Record) {
        match &next.state {
            State::Running => self.deadlines.put(&next.id, next.deadline),
            State::Creating | State::Paused(_) | State::Ended(_) => self.deadlines.remove(&next.id),
        }
        match (&prev.state, &next.state) {
            (State::Creating, State::Running) => self.log(next, Level::Info, "sandbox running", []),
            (State::Running, State::Paused(pause)) => {
                let kept = if pause.keep == Keep::Memory { "memory" } else { "files" };
                self.log(next, Level::Info, "sandbox paused", [("kept", kept.to_owned())]);
            }
            (State::Paused(_), State::Running) => self.log(next, Level::Info, "sandbox resumed", []),
            (State::Creating | State::Running | State::Paused(_), State::Ended(end)) => {
                self.metrics.ended(&end.why);
                tracing::info!(sandbox.id = %next.id, why = end.why.label(), "sandbox ended");
                let fields = [("reason", end.why.label().to_owned()), ("detail", end.why.to_string())];
                self.log(next, level_of(&end.why), "sandbox ended", fields);
            }
            (State::Running, State::Running) if prev.deadline != next.deadline => {
                self.log(next, Level::Info, "deadline moved", [("deadline", next.deadline.to_string())]);
            }
            _ => {}
        }
    }

    /// A line in a sandbox's log, from the engine.
    pub(super) fn log<const N: usize>(
        &self,
        record: &Record,
        level: Level,
        message: &str,
        fields: [(&str, String); N],
    ) {
        let fields: BTreeMap<_, _> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let line =
            LogLine { at: self.clock.now(), level, logger: "engine".into(), message: message.into(), fields };
        self.journal.line(&record.id, line);
    }
}

fn level_of(why: &Why) -> Level {
    match why {
        Why::Killed | Why::Deadline | Why::HostRestart => Level::Info,
        Why::Oom | Why::GuestDied | Why::BuildFailed(_) => Level::Error,
    }
}
