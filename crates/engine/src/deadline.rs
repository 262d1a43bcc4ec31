//! Who ends next: one ordered set for all sandboxes, however many there are.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use hood_driver_api::SandboxId;
use time::OffsetDateTime;
use tokio::sync::Notify;

use crate::table::lock;

/// The deadlines of all running sandboxes. One task sleeps until the first of them.
#[derive(Default)]
pub(crate) struct Deadlines {
    set: Mutex<Set>,
    sooner: Notify,
}

#[derive(Default)]
struct Set {
    order: BTreeSet<(OffsetDateTime, SandboxId)>,
    of: HashMap<SandboxId, OffsetDateTime>,
}

impl Deadlines {
    /// Sets or moves a deadline.
    pub(crate) fn put(&self, id: &SandboxId, at: OffsetDateTime) {
        let mut set = lock(&self.set);
        if let Some(old) = set.of.insert(id.clone(), at) {
            set.order.remove(&(old, id.clone()));
        }
        set.order.insert((at, id.clone()));
        let first = set.order.first().is_some_and(|(_, first)| first == id);
        drop(set);
        if first {
            self.sooner.notify_one();
        }
    }

    /// Forgets a deadline.
    pub(crate) fn remove(&self, id: &SandboxId) {
        let mut set = lock(&self.set);
        if let Some(old) = set.of.remove(id) {
            set.order.remove(&(old, id.clone()));
        }
    }

    /// When to look next.
    pub(crate) fn first(&self) -> Option<OffsetDateTime> {
        lock(&self.set).order.first().map(|(at, _)| *at)
    }

    /// Takes out everything whose time has come, earliest first.
    pub(crate) fn due(&self, now: OffsetDateTime) -> Vec<SandboxId> {
        let mut set = lock(&self.set);
        let mut due = Vec::new();
        while set.order.first().is_some_and(|(at, _)| *at <= now) {
            let (_, id) = set.order.pop_first().expect("there is a first one");
            set.of.remove(&id);
            due.push(id);
        }
        due
    }

    /// Returns when a deadline was put before all others. A `put` between `first` and this call is not missed.
    pub(crate) async fn sooner(&self) {
        self.sooner.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use time::Duration;

    use super::*;

    fn id(n: u8) -> SandboxId {
        SandboxId::from_random([n; 20])
    }

    #[test]
    fn a_moved_deadline_leaves_nothing_at_its_old_place() {
        let start = OffsetDateTime::UNIX_EPOCH;
        let deadlines = Deadlines::default();
        deadlines.put(&id(1), start + Duration::seconds(1));
        deadlines.put(&id(2), start + Duration::seconds(2));
        deadlines.put(&id(1), start + Duration::seconds(3));
        assert_eq!(deadlines.first(), Some(start + Duration::seconds(2)));
        assert_eq!(deadlines.due(start + Duration::seconds(2)), [id(2)]);
        deadlines.remove(&id(1));
        assert_eq!(deadlines.first(), None);
        assert!(deadlines.due(start + Duration::seconds(9)).is_empty());
    }
}
