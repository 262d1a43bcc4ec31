//! How many questions a second.

use std::time::Instant;

use crate::limits::{QUESTIONS_AT_ONCE, QUESTIONS_PER_SECOND};

/// A bucket of questions that may be asked, filled again all the time.
pub(super) struct Rate {
    left: f64,
    since: Instant,
}

impl Rate {
    pub(super) fn new(now: Instant) -> Self {
        Self { left: QUESTIONS_AT_ONCE.into(), since: now }
    }

    /// Takes one, if there is one.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let grown = now.saturating_duration_since(self.since).as_secs_f64() * f64::from(QUESTIONS_PER_SECOND);
        self.left = (self.left + grown).min(QUESTIONS_AT_ONCE.into());
        self.since = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_passes_and_then_so_many_a_second() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        let burst = (0..10 * QUESTIONS_AT_ONCE).filter(|_| rate.take(start)).count();
        assert_eq!(burst, QUESTIONS_AT_ONCE as usize);
        let later = start + Duration::from_secs(1);
        let second = (0..10 * QUESTIONS_AT_ONCE).filter(|_| rate.take(later)).count();
        assert_eq!(second, QUESTIONS_PER_SECOND as usize);
    }
}
