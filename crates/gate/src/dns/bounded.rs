//! A map that forgets: each entry at its time, and the oldest when there are too many.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// An entry that ends this much later than the one it replaces is not worth a place of its own in the order.
const SAME: Duration = Duration::from_secs(30);

/// Keeps at most `most` entries.
pub(super) struct Bounded<K, V> {
    entries: HashMap<K, (V, Instant)>,
    /// In the order in which they came, each with its end. One whose end is no longer its entry's has been replaced.
    order: VecDeque<(K, Instant)>,
    most: usize,
}

impl<K: Clone + Eq + Hash, V> Bounded<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), most }
    }

    /// Keeps `value` until then, in place of what was there.
    pub(super) fn put(&mut self, key: K, value: V, until: Instant) {
        if let Some((old, end)) = self.entries.get_mut(&key)
            && *end <= until
            && until - *end <= SAME
        {
            // Asked again and again, one name must not push others out.
            *old = value;
            return;
        }
        self.entries.insert(key.clone(), (value, until));
        self.order.push_back((key, until));
        while self.entries.len() > self.most {
            self.forget_oldest();
        }
        if self.order.len() > 2 * self.most {
            let entries = &self.entries;
            self.order.retain(|(key, until)| entries.get(key).is_some_and(|(_, end)| end == until));
        }
    }

    /// What is kept, if its time has not come.
    pub(super) fn get(&self, key: &K, now: Instant) -> Option<&V> {
        self.entries.get(key).filter(|(_, until)| *until > now).map(|(value, _)| value)
    }

    fn forget_oldest(&mut self) {
        if let Some((key, until)) = self.order.pop_front()
            && self.entries.get(&key).is_some_and(|(_, end)| *end == until)
        {
            self.entries.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_ends_at_its_time_and_the_oldest_goes_first() {
        let now = Instant::now();
        let later = |secs| now + Duration::from_secs(secs);
        let mut kept = Bounded::new(2);
        kept.put("a", 1, later(100));
        kept.put("b", 2, later(10));
        assert_eq!(kept.get(&"b", later(9)), Some(&2));
        assert_eq!(kept.get(&"b", later(10)), None);
        kept.put("c", 3, later(10));
        assert_eq!(
            (kept.get(&"a", now), kept.get(&"b", now), kept.get(&"c", now)),
            (None, Some(&2), Some(&3))
        );
    }

    #[test]
    fn renewing_one_entry_pushes_no_other_out() {
        let now = Instant::now();
        let later = |secs| now + Duration::from_secs(secs);
        let mut kept = Bounded::new(2);
        kept.put("a", 0, later(10_000));
        for second in 0..1000 {
            kept.put("b", second, later(100 + second));
        }
        assert_eq!((kept.get(&"a", now), kept.get(&"b", now)), (Some(&0), Some(&999)));
        assert!(kept.order.len() <= 4 && kept.entries.len() == 2);
    }
}
