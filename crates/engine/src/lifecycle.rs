//! The life of a sandbox as one pure function.
//!
//! ```text
//!             Built                End · Expire (due)
//!  Creating ─────────▶ Running ───────────────────────▶ Ended { removed: false }
//!     │                                                    ▲        │ Removed
//!     └──────── BuildFailed · End ─────────────────────────┘        ▼
//!                                                          Ended { removed: true }
//! ```
//!
//! * An ended sandbox stays ended; only `removed` changes, once, and only from false to true.
//! * `next` is written to the store before any effect runs, and only if `prev` is still what is stored.
//! * Every life sees [`Effect::Destroy`] exactly once. While a sandbox is being built its builder holds the walls: an
//!   end then only cuts, and the builder's own report ([`Event::Built`] or [`Event::BuildFailed`], exactly one of
//!   them) brings the `Destroy`. So a driver never sees `destroy` while its `create` is still at work.
//! * The deadline counts from the moment the sandbox runs: building is bounded by [`crate::limits::BUILD`] instead.

use std::collections::BTreeMap;

use hood_policy::Policy;
use time::OffsetDateTime;

use crate::{End, Record, State, Why};

/// Something that happened to a sandbox, or that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The driver is done and the guest answers.
    Built,
    /// The driver could not do it; the text says at which step.
    BuildFailed(String),
    /// It is over for this reason.
    End(Why),
    /// The deadline may have passed.
    Expire,
    /// Move the deadline here, in whichever direction.
    SetDeadline(OffsetDateTime),
    /// Move the deadline here unless it is later already.
    ExtendDeadline(OffsetDateTime),
    /// Replace what it may reach, the dialect's notes, and what the caller said about internet access.
    SetPolicy {
        /// See [`Record::policy`].
        policy: Box<Policy>,
        /// See [`Record::notes`].
        notes: BTreeMap<String, serde_json::Value>,
        /// See [`Record::internet`].
        internet: Option<bool>,
    },
    /// The driver has removed every trace.
    Removed,
}

/// What must be done once `next` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Take a first sample.
    Measure,
    /// Have the gate keep to the record's policy from now on.
    Enforce,
    /// Abort every stream into the sandbox and out of it.
    Cut,
    /// Have the driver remove it.
    Destroy,
}

/// An accepted event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What the record becomes; equal to the previous one when nothing changes.
    pub next: Record,
    /// What to do then, in this order.
    pub effects: Vec<Effect>,
}

/// An event that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It has ended already.
    Ended(Why),
    /// The deadline has not come, or does not count yet.
    NotDue,
    /// The event belongs to another state: a fault of the engine.
    Misplaced,
}

/// What becomes of `prev` when `event` happens at `now`.
pub fn step(prev: &Record, event: Event, now: OffsetDateTime) -> Result<Step, Refusal> {
    match &prev.state {
        State::Creating => creating(prev, event, now),
        State::Running => running(prev, event, now),
        State::Ended(end) => ended(prev, end, event),
    }
}

fn creating(prev: &Record, event: Event, now: OffsetDateTime) -> Result<Step, Refusal> {
    match event {
        Event::Built => {
            let deadline = now + (prev.deadline - prev.started_at);
            let next = Record { state: State::Running, deadline, ..prev.clone() };
            Ok(Step { next, effects: vec![Effect::Enforce, Effect::Measure] })
        }
        Event::BuildFailed(at) => {
            Ok(end(prev, Why::BuildFailed(at), now, vec![Effect::Cut, Effect::Destroy]))
        }
        Event::End(why) => Ok(end(prev, why, now, vec![Effect::Cut])),
        Event::SetDeadline(at) => Ok(deadline(prev, at)),
        Event::ExtendDeadline(at) => Ok(deadline(prev, at.max(prev.deadline))),
        Event::SetPolicy { policy, notes, internet } => Ok(reaching(prev, policy, notes, internet)),
        Event::Expire => Err(Refusal::NotDue),
        Event::Removed => Err(Refusal::Misplaced),
    }
}

fn running(prev: &Record, event: Event, now: OffsetDateTime) -> Result<Step, Refusal> {
    let gone = || vec![Effect::Cut, Effect::Destroy];
    match event {
        Event::End(why) => Ok(end(prev, why, now, gone())),
        Event::Expire if prev.deadline <= now => Ok(end(prev, Why::Deadline, now, gone())),
        Event::Expire => Err(Refusal::NotDue),
        Event::SetDeadline(at) => Ok(deadline(prev, at)),
        Event::ExtendDeadline(at) => Ok(deadline(prev, at.max(prev.deadline))),
        Event::SetPolicy { policy, notes, internet } => Ok(reaching(prev, policy, notes, internet)),
        Event::Built | Event::BuildFailed(_) | Event::Removed => Err(Refusal::Misplaced),
    }
}

fn ended(prev: &Record, end: &End, event: Event) -> Result<Step, Refusal> {
    match event {
        Event::Built | Event::BuildFailed(_) if !end.removed => {
            Ok(Step { next: prev.clone(), effects: vec![Effect::Destroy] })
        }
        Event::Removed => {
            let state = State::Ended(End { removed: true, ..end.clone() });
            Ok(Step { next: Record { state, ..prev.clone() }, effects: Vec::new() })
        }
        Event::Built | Event::BuildFailed(_) => Err(Refusal::Misplaced),
        Event::End(_)
        | Event::Expire
        | Event::SetDeadline(_)
        | Event::ExtendDeadline(_)
        | Event::SetPolicy { .. } => Err(Refusal::Ended(end.why.clone())),
    }
}

fn end(prev: &Record, why: Why, at: OffsetDateTime, effects: Vec<Effect>) -> Step {
    Step { next: Record { state: State::Ended(End { at, why, removed: false }), ..prev.clone() }, effects }
}

fn deadline(prev: &Record, deadline: OffsetDateTime) -> Step {
    Step { next: Record { deadline, ..prev.clone() }, effects: Vec::new() }
}

fn reaching(
    prev: &Record,
    policy: Box<Policy>,
    notes: BTreeMap<String, serde_json::Value>,
    internet: Option<bool>,
) -> Step {
    Step { next: Record { policy, internet, notes, ..prev.clone() }, effects: vec![Effect::Enforce] }
}

#[cfg(test)]
mod tests;
