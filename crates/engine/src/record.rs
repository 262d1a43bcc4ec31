//! What is remembered of a sandbox: plain data, written to the store before any act.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use hood_driver_api::{Bytes, Mount, Origin, Resources, RootFs, RootMode, SandboxId};
use hood_policy::Policy;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// Whose sandboxes: one API key belongs to one team.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TeamId(pub String);

/// A secret that opens one sandbox's guest. Never printed by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A sandbox, living or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its id.
    pub id: SandboxId,
    /// Whose it is.
    pub team: TeamId,
    /// The template it was made from.
    pub template_id: String,
    /// The name by which the template was asked for, without tag.
    pub template_name: String,
    /// Where it stands in its life.
    pub state: State,
    /// When `create` was accepted.
    #[serde(with = "time::serde::rfc3339")]
    pub started_at: OffsetDateTime,
    /// When it will be (or was to be) ended.
    #[serde(with = "time::serde::rfc3339")]
    pub deadline: OffsetDateTime,
    /// What it may use.
    pub resources: Resources,
    /// What it was built from.
    #[serde(default)]
    pub blueprint: Arc<Blueprint>,
    /// Of what it has written so much came from a snapshot.
    #[serde(default)]
    pub inherited: Bytes,
    /// Volumes in its tree.
    #[serde(default)]
    pub mounts: Vec<Mount>,
    /// The caller's labels.
    pub metadata: BTreeMap<String, String>,
    /// Opens its guest.
    pub access_token: Token,
    /// What it may reach.
    #[serde(default)]
    pub policy: Box<Policy>,
    /// What its deadline does to it.
    #[serde(default)]
    pub at_deadline: AtDeadline,
    /// Whether traffic wakes it when it is paused.
    #[serde(default)]
    pub auto_resume: bool,
    /// What the caller said about internet access; `None` = nothing.
    pub internet: Option<bool>,
    /// The dialect's own notes (for example a network policy to be shown again). Opaque to the engine.
    pub notes: BTreeMap<String, serde_json::Value>,
}

/// Everything but ids and ceilings that is needed to build a sandbox again, or another like it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Blueprint {
    /// The template's files.
    pub root: RootFs,
    /// Whether the root filesystem may be written.
    pub root_mode: RootMode,
    /// Environment of every process, the template's included.
    pub envs: BTreeMap<String, String>,
    /// Who runs things.
    pub account: hood_wire::Account,
}

/// Where a sandbox stands in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Accepted and written down; the walls are going up.
    Creating,
    /// Its guest answers.
    Running,
    /// Its processes stand still, or there are none. No deadline counts.
    Paused(Pause),
    /// It is over. The record stays as a tombstone for [`crate::limits::TOMBSTONE`].
    Ended(End),
}

/// What the deadline does to a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtDeadline {
    /// It ends.
    #[default]
    End,
    /// It is paused with all it has in memory.
    Pause,
    /// It is paused, and keeps only files.
    PauseFiles,
}

/// A paused sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Since when.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// What it has kept.
    #[serde(default)]
    pub keep: Keep,
}

/// What a paused sandbox keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Processes, with memory, open files and listeners: they stand still.
    #[default]
    Memory,
    /// What is written. Its processes have ended; it starts anew when it is resumed.
    Files,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// Why.
    pub why: Why,
    /// The driver has removed every trace.
    pub removed: bool,
}

/// Why a sandbox ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", content = "detail", rename_all = "snake_case")]
pub enum Why {
    /// Somebody asked.
    Killed,
    /// Its deadline passed.
    Deadline,
    /// The kernel killed its guest for want of memory.
    Oom,
    /// Its guest died for another reason.
    GuestDied,
    /// The server was stopped or died; sandboxes do not outlive it.
    HostRestart,
    /// Building it failed; the text says at which step.
    BuildFailed(String),
}

impl Record {
    /// Why it ended, if it has.
    pub fn ended(&self) -> Option<&End> {
        match &self.state {
            State::Ended(end) => Some(end),
            State::Creating | State::Running | State::Paused(_) => None,
        }
    }

    /// Whether its guest answers.
    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.paused().is_some()
    }

    /// What it keeps, if it is paused.
    pub fn paused(&self) -> Option<Keep> {
        match self.state {
            State::Paused(Pause { keep, .. }) => Some(keep),
            State::Creating | State::Running | State::Ended(_) => None,
        }
    }

    /// Whether it may have processes, running or not.
    pub fn has_processes(&self) -> bool {
        self.ended().is_none() && self.paused() != Some(Keep::Files)
    }
}

impl Why {
    /// A short constant name, for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Deadline => "deadline",
            Self::Oom => "oom",
            Self::GuestDied => "guest_died",
            Self::HostRestart => "host_restart",
            Self::BuildFailed(_) => "build_failed",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed => f.write_str("it was killed"),
            Self::Deadline => f.write_str("its time was up"),
            Self::Oom => f.write_str("it ran out of memory"),
            Self::GuestDied => f.write_str("its guest died"),
            Self::HostRestart => f.write_str("the server was stopped"),
            Self::BuildFailed(step) => write!(f, "it could not be built: {step}"),
        }
    }
}

/// A template as the engine needs it, resolved by [`crate::ports::Templates`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The id that clients see.
    pub id: String,
    /// Its name without tag, shown as `alias`.
    pub name: String,
    /// When it was built.
    pub created_at: OffsetDateTime,
    /// Its files.
    pub root: RootFs,
    /// What its sandboxes begin with, besides.
    pub origin: Origin,
    /// What its sandboxes get unless the create call says otherwise.
    pub resources: Resources,
    /// Environment from the recipe.
    pub envs: BTreeMap<String, String>,
    /// Who runs things.
    pub account: hood_wire::Account,
}

/// Which sandboxes a listing wants.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Every pair must match.
    pub metadata: BTreeMap<String, String>,
    /// Template id or name.
    pub template: Option<String>,
    /// Which of running and paused ones; both when empty.
    pub states: Vec<Phase>,
    /// Only those started after this.
    pub started_after: Option<OffsetDateTime>,
    /// Newest or oldest first.
    pub order: Order,
    /// Opaque position from [`Page::next`].
    pub after: Option<String>,
    /// At most this many; 0 for as many as [`crate::limits::LIST_PAGE`] allows.
    pub limit: usize,
}

/// What a listing tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its guest answers.
    Running,
    /// It stands still.
    Paused,
}

/// Direction of a listing by start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Oldest first.
    Oldest,
    /// Newest first.
    #[default]
    Newest,
}

/// A part of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its sandboxes.
    pub records: Vec<Record>,
    /// Where the next page starts, if there is one.
    pub next: Option<String>,
    /// How many of the team's sandboxes run, whatever the filter.
    pub running: usize,
}

impl Filter {
    /// Whether the filter, its order, position and limit apart, wants this sandbox.
    pub fn wants(&self, record: &Record) -> bool {
        let phase = if record.is_paused() { Phase::Paused } else { Phase::Running };
        (self.states.is_empty() || self.states.contains(&phase))
            && self.metadata.iter().all(|(name, value)| record.metadata.get(name) == Some(value))
            && self.template.as_ref().is_none_or(|t| *t == record.template_id || *t == record.template_name)
            && self.started_after.is_none_or(|after| record.started_at > after)
    }
}

impl Page {
    /// Whether the text has the form of a [`Page::next`]; a listing from any other position is empty.
    pub fn is_position(text: &str) -> bool {
        Position::parse(text).is_some()
    }
}

/// A place in a listing: the last sandbox seen. Stays good when that sandbox ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    at_ns: i128,
    id: SandboxId,
}

impl Position {
    pub(crate) fn of(record: &Record) -> Self {
        Self { at_ns: record.started_at.unix_timestamp_nanos(), id: record.id.clone() }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (at, id) = text.split_once('-')?;
        let at_ns = i128::from(u64::from_str_radix(at, 16).ok()?);
        Some(Self { at_ns, id: id.parse().ok()? })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.at_ns, self.id)
    }
}
