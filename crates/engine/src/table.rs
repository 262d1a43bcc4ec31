//! The sandboxes in memory: their records and the handles that go with them.
//!
//! A plain mutex around plain data; every method is short and none waits. The order of changes to one sandbox is kept
//! by its `turn`, an async lock that a transition holds from reading the record to running the effects.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hood_driver_api::{SandboxId, Usage};
use time::OffsetDateTime;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::record::Position;
use crate::{CreateError, Filter, Order, Page, Record, State, TeamId, limits};

/// Locks plain data. A panic while it was held left at worst one field stale, never half of one.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All sandboxes this node remembers.
#[derive(Default)]
pub(crate) struct Table(Mutex<Sandboxes>);

#[derive(Default)]
struct Sandboxes {
    entries: HashMap<SandboxId, Entry>,
    levels: Levels,
    /// Ended ones, oldest first.
    graves: VecDeque<SandboxId>,
    stopping: bool,
}

/// How many sandboxes there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Levels {
    pub(crate) creating: usize,
    pub(crate) running: usize,
    pub(crate) paused: usize,
    pub(crate) removing: usize,
}

struct Entry {
    record: Arc<Record>,
    /// What the store holds: older than `record` when an end could not be written.
    stored: Arc<Record>,
    turn: Turn,
    cut: CancellationToken,
    reading: Reading,
    guest_lines: u32,
}

/// Who holds it may change the sandbox.
pub(crate) type Turn = Arc<tokio::sync::Mutex<()>>;

/// The last CPU reading, to make a percentage from the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) at: OffsetDateTime,
    pub(crate) usage: Usage,
}

/// What a transition starts from.
pub(crate) struct Held {
    pub(crate) record: Arc<Record>,
    pub(crate) stored: Arc<Record>,
    pub(crate) cut: CancellationToken,
}

/// Whether a guest may write one more line into its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Enough,
    /// This was the last one.
    Last,
    None,
}

// === impl Table ===

impl Table {
    /// Takes a place for a new sandbox, or says why there is none. The first turn belongs to the caller.
    pub(crate) fn reserve(&self, record: Record, max: usize) -> Result<OwnedMutexGuard<()>, CreateError> {
        let mut table = lock(&self.0);
        if table.stopping {
            return Err(CreateError::Stopping);
        }
        let living = table.levels.creating + table.levels.running + table.levels.paused;
        if living >= max {
            return Err(CreateError::NodeFull { running: living, limit: max });
        }
        if table.levels.removing >= limits::REMAINS {
            return Err(CreateError::Removing { waiting: table.levels.removing });
        }
        let entry = Entry::new(record);
        let turn = entry.turn.clone().try_lock_owned().expect("nobody else knows this lock yet");
        table.add(entry);
        Ok(turn)
    }

    /// Remembers a sandbox of an earlier run.
    pub(crate) fn remember(&self, record: Record) {
        lock(&self.0).add(Entry::new(record));
    }

    /// Forgets a sandbox that was never written down.
    pub(crate) fn forget(&self, id: &SandboxId) {
        lock(&self.0).take(id);
    }

    /// From now on nothing new.
    pub(crate) fn close(&self) {
        lock(&self.0).stopping = true;
    }

    pub(crate) fn turn(&self, id: &SandboxId) -> Option<Turn> {
        lock(&self.0).entries.get(id).map(|entry| entry.turn.clone())
    }

    pub(crate) fn held(&self, id: &SandboxId) -> Option<Held> {
        lock(&self.0).entries.get(id).map(|entry| Held {
            record: entry.record.clone(),
            stored: entry.stored.clone(),
            cut: entry.cut.clone(),
        })
    }

    /// Replaces a record; `stored` says whether the store has it too.
    pub(crate) fn put(&self, next: &Arc<Record>, stored: Stored) {
        let mut table = lock(&self.0);
        let Some(entry) = table.entries.get_mut(&next.id) else { return };
        let prev = std::mem::replace(&mut entry.record, next.clone());
        if stored == Stored::Yes {
            entry.stored = next.clone();
        }
        if prev.is_paused() && next.is_running() {
            // The streams of before are cut; new ones have a new mark.
            entry.cut = CancellationToken::new();
        }
        if prev.ended().is_none() && next.ended().is_some() {
            table.graves.push_back(next.id.clone());
        }
        table.levels.shift(&prev.state, -1);
        table.levels.shift(&next.state, 1);
    }

    pub(crate) fn record(&self, id: &SandboxId) -> Option<Arc<Record>> {
        lock(&self.0).entries.get(id).map(|entry| entry.record.clone())
    }

    /// The record of a running sandbox and the token that fires when it ends.
    pub(crate) fn running(&self, id: &SandboxId) -> Option<(Arc<Record>, CancellationToken)> {
        let table = lock(&self.0);
        let entry = table.entries.get(id)?;
        entry.record.is_running().then(|| (entry.record.clone(), entry.cut.clone()))
    }

    pub(crate) fn all_running(&self) -> Vec<Arc<Record>> {
        self.select(Record::is_running)
    }

    pub(crate) fn all_living(&self) -> Vec<Arc<Record>> {
        self.select(|record| record.ended().is_none())
    }

    pub(crate) fn levels(&self) -> Levels {
        lock(&self.0).levels
    }

    pub(crate) fn reading(&self, id: &SandboxId) -> Option<Reading> {
        lock(&self.0).entries.get(id).map(|entry| entry.reading)
    }

    pub(crate) fn set_reading(&self, id: &SandboxId, reading: Reading) {
        if let Some(entry) = lock(&self.0).entries.get_mut(id) {
            entry.reading = reading;
        }
    }

    pub(crate) fn count_guest_line(&self, id: &SandboxId) -> Room {
        let mut table = lock(&self.0);
        let Some(entry) = table.entries.get_mut(id) else { return Room::None };
        entry.guest_lines = entry.guest_lines.saturating_add(1);
        match entry.guest_lines {
            n if n < limits::LOG_LINES => Room::Enough,
            n if n == limits::LOG_LINES => Room::Last,
            _ => Room::None,
        }
    }

    /// The part of a team's running and paused sandboxes that the filter wants.
    pub(crate) fn page(&self, team: &TeamId, filter: &Filter) -> Page {
        let shown = |record: &Record| record.is_running() || record.is_paused();
        let mut records = self.select(|record| shown(record) && record.team == *team);
        let running = records.iter().filter(|record| record.is_running()).count();
        let Ok(after) = filter.after.as_deref().map(|text| Position::parse(text).ok_or(())).transpose()
        else {
            return Page { records: Vec::new(), next: None, running };
        };
        records.retain(|record| {
            let beyond = |after: &Position| match filter.order {
                Order::Oldest => Position::of(record) > *after,
                Order::Newest => Position::of(record) < *after,
            };
            filter.wants(record) && after.as_ref().is_none_or(beyond)
        });
        records.sort_by_cached_key(|record| Position::of(record));
        if filter.order == Order::Newest {
            records.reverse();
        }
        let limit = if filter.limit == 0 { limits::LIST_PAGE } else { filter.limit.min(limits::LIST_PAGE) };
        let more = records.len() > limit;
        records.truncate(limit);
        let next = records.last().filter(|_| more).map(|last| Position::of(last).to_string());
        Page { records: records.iter().map(|record| Record::clone(record)).collect(), next, running }
    }

    /// Forgets removed tombstones that ended before `before`, or earlier than the newest [`limits::TOMBSTONES`].
    /// Returns the time before which all are forgotten.
    pub(crate) fn prune(&self, before: OffsetDateTime) -> OffsetDateTime {
        let mut table = lock(&self.0);
        let ended_at = |table: &Sandboxes, id: &SandboxId| Some(table.entries.get(id)?.record.ended()?.at);
        let crowded =
            table.graves.len().checked_sub(limits::TOMBSTONES).and_then(|excess| table.graves.get(excess));
        let before = crowded.and_then(|id| ended_at(&table, id)).map_or(before, |at| at.max(before));
        let graves = std::mem::take(&mut table.graves);
        for id in graves {
            let Some(end) = table.entries.get(&id).and_then(|entry| entry.record.ended()) else { continue };
            if end.removed && end.at < before {
                table.take(&id);
            } else {
                table.graves.push_back(id);
            }
        }
        before
    }

    fn select(&self, wanted: impl Fn(&Record) -> bool) -> Vec<Arc<Record>> {
        lock(&self.0)
            .entries
            .values()
            .map(|entry| &entry.record)
            .filter(|record| wanted(record))
            .cloned()
            .collect()
    }
}

/// Whether the store took a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Yes,
    No,
}

// === impl Sandboxes ===

impl Sandboxes {
    fn add(&mut self, entry: Entry) {
        self.levels.shift(&entry.record.state, 1);
        if entry.record.ended().is_some() {
            self.graves.push_back(entry.record.id.clone());
        }
        self.entries.insert(entry.record.id.clone(), entry);
    }

    fn take(&mut self, id: &SandboxId) {
        if let Some(entry) = self.entries.remove(id) {
            self.levels.shift(&entry.record.state, -1);
        }
    }
}

// === impl Levels ===

impl Levels {
    fn shift(&mut self, state: &State, by: isize) {
        let level = match state {
            State::Creating => &mut self.creating,
            State::Running => &mut self.running,
            State::Paused(_) => &mut self.paused,
            State::Ended(end) if !end.removed => &mut self.removing,
            State::Ended(_) => return,
        };
        *level = level.saturating_add_signed(by);
    }
}

// === impl Entry ===

impl Entry {
    fn new(record: Record) -> Self {
        let record = Arc::new(record);
        Self {
            reading: Reading { at: record.started_at, usage: Usage::default() },
            stored: record.clone(),
            record,
            turn: Turn::default(),
            cut: CancellationToken::new(),
            guest_lines: 0,
        }
    }
}
