//! The life of a sandbox as one pure function.
//!
//! ```text
//!             Built      Pause · Expire (due, where the deadline pauses)
//!  Creating ─────────▶ Running ◀──────────▶ Paused ◀┐
//!     │                  │        Resume      │  └─┘ Restore (where only files are kept)
//!     │                  │                    │ End
//!     │                  ▼ End · Expire (due) ▼
//!     │                Ended { removed: false }
//!     │                                                    ▲        │ Removed
//!     └──────── BuildFailed · End ─────────────────────────┘        ▼
//!                                                          Ended { removed: true }
//! ```
//!
//! * What the driver cannot freeze, thaw, build again or restore is written back as it was ([`Event::Undone`]). Where it
//!   could not end the processes of a sandbox that was to keep only files, they may be gone: the sandbox ends.
//! * An ended sandbox stays ended; only `removed` changes, once, and only from false to true.
//! * `next` is written to the store before any effect runs, and only if `prev` is still what is stored.
//! * Every life sees [`Effect::Destroy`] exactly once. While a sandbox is being built its builder holds the walls: an
//!   end then only cuts, and the builder's own report ([`Event::Built`] or [`Event::BuildFailed`], exactly one of
//!   them) brings the `Destroy`. So a driver never sees `destroy` while its `create` is still at work.
//! * The deadline counts from the moment the sandbox runs: building is bounded by [`crate::limits::BUILD`] instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use hood_driver_api::{Bytes, MilliCpu, Resources, SnapshotId};
use hood_policy::Policy;
use time::OffsetDateTime;

use crate::{AtDeadline, End, Keep, Pause, Record, State, Why};

/// Something that happened to a sandbox, or that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The driver is done and the guest answers.
    Built,
    /// The driver could not do it; the text says at which step.
    BuildFailed(String),
    /// Stand still.
    Pause(Keep),
    /// Go on, with this deadline.
    Resume(OffsetDateTime),
    /// Begin again from a snapshot of this size.
    Restore(SnapshotId, Bytes),
    /// The driver could not do it: all is as in this earlier record.
    Undone(Box<Record>),
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
    /// Replace what listings show of it and what it may use, as far as said.
    Change {
        /// See [`Record::metadata`].
        metadata: Option<BTreeMap<String, String>>,
        /// Of [`Record::resources`].
        memory: Option<Bytes>,
        /// Of [`Record::resources`].
        cpu: Option<MilliCpu>,
    },
    /// The driver has removed every trace.
    Removed,
}

/// What must be done once `next` is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Take a first sample.
    Measure,
    /// Have the gate keep to the record's policy from now on.
    Enforce,
    /// Have the driver set the record's ceilings.
    Resize,
    /// Have the driver stop its processes where they are.
    Freeze,
    /// Have the driver let them go on.
    Thaw,
    /// Have the driver end its processes and keep what it has written.
    Rest,
    /// Have the driver build it again around that.
    Rebuild,
    /// Have the driver put a copy of a snapshot in the place of that.
    Restore(SnapshotId),
    /// Abort every stream into the sandbox, and at its end every one out of it.
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
    /// It is paused.
    Paused,
    /// It is not paused.
    NotPaused,
    /// It is paused, but with memory, which the event cannot leave in place.
    HasMemory,
    /// The event belongs to another state: a fault of the engine.
    Misplaced,
}

/// What becomes of `prev` when `event` happens at `now`.
pub fn step(prev: &Record, event: Event, now: OffsetDateTime) -> Result<Step, Refusal> {
    match &prev.state {
        State::Creating => creating(prev, event, now),
        State::Running => running(prev, event, now),
        State::Paused(pause) => paused(prev, pause.keep, event, now),
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
        Event::Change { .. } | Event::Expire | Event::Pause(_) => Err(Refusal::NotDue),
        Event::Resume(_) | Event::Restore(..) => Err(Refusal::NotPaused),
        Event::Removed | Event::Undone(_) => Err(Refusal::Misplaced),
    }
}

fn running(prev: &Record, event: Event, now: OffsetDateTime) -> Result<Step, Refusal> {
    let gone = || vec![Effect::Cut, Effect::Destroy];
    match event {
        Event::End(why) => Ok(end(prev, why, now, gone())),
        Event::Expire if prev.deadline <= now => Ok(match prev.at_deadline {
            AtDeadline::End => end(prev, Why::Deadline, now, gone()),
            AtDeadline::Pause => pause(prev, Keep::Memory, now),
            AtDeadline::PauseFiles => pause(prev, Keep::Files, now),
        }),
        Event::Pause(keep) => Ok(pause(prev, keep, now)),
        Event::Resume(_) | Event::Restore(..) => Err(Refusal::NotPaused),
        Event::Undone(before) => Ok(Step { next: *before, effects: Vec::new() }),
        Event::Expire => Err(Refusal::NotDue),
        Event::SetDeadline(at) => Ok(deadline(prev, at)),
        Event::ExtendDeadline(at) => Ok(deadline(prev, at.max(prev.deadline))),
        Event::SetPolicy { policy, notes, internet } => Ok(reaching(prev, policy, notes, internet)),
        Event::Change { metadata, memory, cpu } => Ok(changed(prev, metadata, memory, cpu)),
        Event::Built | Event::BuildFailed(_) | Event::Removed => Err(Refusal::Misplaced),
    }
}

fn paused(prev: &Record, keep: Keep, event: Event, now: OffsetDateTime) -> Result<Step, Refusal> {
    match event {
        Event::Resume(deadline) => {
            let next = Record { state: State::Running, deadline, ..prev.clone() };
            let go_on = match keep {
                Keep::Memory => Effect::Thaw,
                Keep::Files => Effect::Rebuild,
            };
            Ok(Step { next, effects: vec![go_on] })
        }
        Event::Restore(..) if keep == Keep::Memory => Err(Refusal::HasMemory),
        Event::Restore(snapshot, inherited) => {
            let next = Record { inherited, ..prev.clone() };
            Ok(Step { next, effects: vec![Effect::Restore(snapshot)] })
        }
        Event::Undone(before) => Ok(Step { next: *before, effects: Vec::new() }),
        Event::End(why) => Ok(end(prev, why, now, vec![Effect::Cut, Effect::Destroy])),
        Event::SetPolicy { policy, notes, internet } => Ok(reaching(prev, policy, notes, internet)),
        Event::Change { metadata, memory, cpu } => Ok(changed(prev, metadata, memory, cpu)),
        Event::Pause(_) | Event::SetDeadline(_) | Event::ExtendDeadline(_) => Err(Refusal::Paused),
        Event::Expire => Err(Refusal::NotDue),
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
        Event::Built | Event::BuildFailed(_) | Event::Undone(_) => Err(Refusal::Misplaced),
        Event::End(_)
        | Event::Expire
        | Event::Pause(_)
        | Event::Resume(_)
        | Event::Restore(..)
        | Event::SetDeadline(_)
        | Event::ExtendDeadline(_)
        | Event::SetPolicy { .. }
        | Event::Change { .. } => Err(Refusal::Ended(end.why.clone())),
    }
}

/// Nothing is built from it any more: its environment, which may hold secrets, is not kept for as long as its tombstone.
fn end(prev: &Record, why: Why, at: OffsetDateTime, effects: Vec<Effect>) -> Step {
    let state = State::Ended(End { at, why, removed: false });
    Step { next: Record { state, blueprint: Arc::default(), ..prev.clone() }, effects }
}

/// The processes stop first: what a client is told must not be followed by a word of the sandbox.
fn pause(prev: &Record, keep: Keep, at: OffsetDateTime) -> Step {
    let next = Record { state: State::Paused(Pause { at, keep }), ..prev.clone() };
    let stop = match keep {
        Keep::Memory => Effect::Freeze,
        Keep::Files => Effect::Rest,
    };
    Step { next, effects: vec![stop, Effect::Cut] }
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

/// Where there are no processes the ceilings are those of the next start.
fn changed(
    prev: &Record,
    metadata: Option<BTreeMap<String, String>>,
    memory: Option<Bytes>,
    cpu: Option<MilliCpu>,
) -> Step {
    let resources = Resources {
        memory: memory.unwrap_or(prev.resources.memory),
        cpu: cpu.unwrap_or(prev.resources.cpu),
        ..prev.resources
    };
    let resize = resources != prev.resources && prev.has_processes();
    let metadata = metadata.unwrap_or_else(|| prev.metadata.clone());
    let next = Record { resources, metadata, ..prev.clone() };
    Step { next, effects: if resize { vec![Effect::Resize] } else { Vec::new() } }
}

#[cfg(test)]
mod tests;
