//! One transition: decide, write, flip, act. In this order, one at a time for each sandbox.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use hood_driver_api::{DriverError, SandboxId};
use hood_wire::Level;

use super::Shared;
use crate::lifecycle::{Effect, Event, Refusal, Step, step};
use crate::ports::StoreError;
use crate::table::{Held, Stored};
use crate::tasks::within;
use crate::{LogLine, LookupError, Record, State, Why, limits};

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

/// What is done to all processes of a sandbox.
#[derive(Debug, Clone, Copy)]
enum Still {
    Freeze,
    Thaw,
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
            Err(ApplyError::Refused(Refusal::NotPaused)) => Err(LookupError::NotPaused(id.clone())),
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
                Effect::Freeze => self.still(&held, &next, Still::Freeze).await?,
                Effect::Thaw => self.still(&held, &next, Still::Thaw).await?,
                Effect::Cut => {
                    held.cut.cancel();
                    if next.ended().is_some() {
                        self.gate.close(&next.id);
                    }
                }
                Effect::Destroy => self.begin_destroying(&next.id),
            }
        }
        Ok(next)
    }

    /// Has the driver stop the processes, or let them go on. What it cannot do is written back.
    async fn still(&self, held: &Held, next: &Arc<Record>, still: Still) -> Result<(), ApplyError> {
        let doing = async {
            match still {
                Still::Freeze => self.driver.freeze(&next.id).await,
                Still::Thaw => self.driver.thaw(&next.id).await,
            }
        };
        let done = within(&self.clock, limits::FREEZE, doing).await.unwrap_or_else(|| {
            Err(DriverError::Guest(format!("not done within {} s", limits::FREEZE.as_secs())))
        });
        let Err(error) = done else { return Ok(()) };
        let Some(now) = self.table.held(&next.id) else { return Err(ApplyError::Unknown) };
        let undone = step(&now.record, Event::Undone(held.record.state.clone()), self.clock.now());
        let back = undone.map_err(ApplyError::Refused)?.next;
        let back = Arc::new(Record { deadline: held.record.deadline, ..back });
        let stored = self.write(&now, &back).await?;
        self.table.put(&back, stored);
        self.tell(&now.record, &back);
        Err(ApplyError::Driver(error))
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
            (State::Running, State::Paused(_)) => self.log(next, Level::Info, "sandbox paused", []),
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
