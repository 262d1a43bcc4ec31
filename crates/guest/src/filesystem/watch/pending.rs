//! The changes of one watch that nobody has taken yet: bounded, and bursts of writes counted once.

use std::collections::{HashMap, VecDeque};

use crate::limits::{HOLD, MAX_CHANGED_NAMES, MAX_CHANGES, MAX_DIRTY};
use serde::Serialize;
use tokio::time::Instant;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Kind {
    /// Changes were lost here.
    #[serde(rename = "EVENT_TYPE_UNSPECIFIED")]
    Lost,
    #[serde(rename = "EVENT_TYPE_CREATE")]
    Create,
    #[serde(rename = "EVENT_TYPE_WRITE")]
    Write,
    #[serde(rename = "EVENT_TYPE_REMOVE")]
    Remove,
    #[serde(rename = "EVENT_TYPE_RENAME")]
    Rename,
    #[serde(rename = "EVENT_TYPE_CHMOD")]
    Chmod,
}

/// One change, its name relative to the watched directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Pending {
    changes: VecDeque<Change>,
    bytes: usize,
    /// Written to, still unreported, and when that is due.
    dirty: HashMap<String, Instant>,
}

impl Pending {
    /// The oldest change.
    pub(super) fn pop(&mut self) -> Option<Change> {
        let change = self.changes.pop_front()?;
        self.bytes -= change.name.len();
        Some(change)
    }

    /// Something other than a write. A write before it is reported before it, if the name is about to change hands.
    pub(super) fn push(&mut self, name: String, kind: Kind) {
        if matches!(kind, Kind::Create | Kind::Remove | Kind::Rename) {
            self.closed(&name);
        }
        self.append(name, kind);
    }

    /// A write: reported later, once.
    pub(super) fn written(&mut self, name: String) {
        if self.dirty.len() >= MAX_DIRTY && !self.dirty.contains_key(&name) {
            self.settle(None, |_| false);
        }
        self.dirty.entry(name).or_insert_with(|| Instant::now() + HOLD);
    }

    /// The writing to `name` is over.
    pub(super) fn closed(&mut self, name: &str) {
        if let Some((name, _)) = self.dirty.remove_entry(name) {
            self.append(name, Kind::Write);
        }
    }

    /// Reports the writes that were due by `now` (all when absent), but not those which `go_on`: they are held again.
    pub(super) fn settle(&mut self, now: Option<Instant>, go_on: impl Fn(&str) -> bool) {
        let due: Vec<String> = self
            .dirty
            .iter()
            .filter(|(_, at)| now.is_none_or(|now| **at <= now))
            .map(|(name, _)| name.clone())
            .collect();
        for name in due {
            if go_on(&name) {
                self.dirty.insert(name, Instant::now() + HOLD);
            } else {
                self.closed(&name);
            }
        }
    }

    /// When [`Pending::settle`] has something to do next.
    pub(super) fn due(&self) -> Option<Instant> {
        self.dirty.values().min().copied()
    }

    /// Marks that changes were lost at this point.
    pub(super) fn lost(&mut self) {
        if self.changes.back().is_none_or(|last| last.kind != Kind::Lost) {
            self.changes.push_back(Change { name: String::new(), kind: Kind::Lost });
        }
    }

    fn append(&mut self, name: String, kind: Kind) {
        let change = Change { name, kind };
        // Twice the same in a row says nothing new. Creation and removal alternate, so they never meet here.
        if self.changes.back() == Some(&change) {
            return;
        }
        if self.changes.len() >= MAX_CHANGES || self.bytes + change.name.len() > MAX_CHANGED_NAMES {
            self.lost();
            return;
        }
        self.bytes += change.name.len();
        self.changes.push_back(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pending: &mut Pending) -> Vec<(String, Kind)> {
        std::iter::from_fn(|| pending.pop()).map(|change| (change.name, change.kind)).collect()
    }

    #[test]
    fn a_burst_of_writes_is_one_and_comes_before_the_removal() {
        let mut pending = Pending::default();
        for _ in 0..10 {
            pending.written("a".into());
            pending.push("a".into(), Kind::Chmod);
        }
        pending.push("a".into(), Kind::Remove);
        let kinds: Vec<_> = taken(&mut pending).into_iter().map(|(_, kind)| kind).collect();
        assert_eq!(kinds, [Kind::Chmod, Kind::Write, Kind::Remove]);
    }

    #[test]
    fn what_does_not_fit_leaves_one_mark() {
        let mut pending = Pending::default();
        for n in 0..MAX_CHANGES * 2 {
            pending.push(n.to_string(), Kind::Create);
        }
        let taken = taken(&mut pending);
        assert_eq!(taken.len(), MAX_CHANGES + 1);
        assert_eq!(taken.last(), Some(&(String::new(), Kind::Lost)));
        assert_eq!(pending.bytes, 0);
    }

    #[test]
    fn a_write_that_goes_on_is_held() {
        let mut pending = Pending::default();
        pending.written("log".into());
        pending.settle(None, |_| true);
        assert_eq!(pending.pop(), None);
        pending.settle(None, |_| false);
        assert_eq!(taken(&mut pending), [("log".to_owned(), Kind::Write)]);
        assert_eq!(pending.due(), None);
    }
}
