//! How much and how fast: what one sandbox has used, against its policy's budget.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hood_policy::Budget;
use tokio::time::Instant;

/// Which way bytes go, seen from the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    In,
}

/// What a sandbox has used.
#[derive(Debug)]
pub(crate) struct Spent {
    out: AtomicU64,
    into: AtomicU64,
    pace_out: Mutex<Pace>,
    pace_in: Mutex<Pace>,
    connections: Mutex<Pace>,
}

/// Until when what was taken so far would have lasted at the rate that counts: a bucket of one second, kept as a time.
#[derive(Debug)]
struct Pace {
    paid_until: Instant,
}

/// A second's worth may go at once.
const BURST: Duration = Duration::from_secs(1);

// === impl Spent ===

impl Spent {
    pub(crate) fn new() -> Self {
        let pace = || Mutex::new(Pace { paid_until: Instant::now() });
        Self {
            out: AtomicU64::new(0),
            into: AtomicU64::new(0),
            pace_out: pace(),
            pace_in: pace(),
            connections: pace(),
        }
    }

    /// Whether nothing is left of what the budget gives in bytes.
    pub(crate) fn is_used_up(&self, budget: &Budget) -> bool {
        let over = |spent: &AtomicU64, most: Option<u64>| {
            most.is_some_and(|most| spent.load(Ordering::Relaxed) >= most)
        };
        over(&self.out, budget.bytes_out) || over(&self.into, budget.bytes_in)
    }

    /// Whether one more connection may begin now.
    pub(crate) fn may_connect(&self, budget: &Budget) -> bool {
        let Some(rate) = budget.connections_per_second else { return true };
        let mut pace = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if rate == 0 || !pace.take(1, u64::from(rate)).is_zero() {
            return false;
        }
        true
    }

    /// Takes bytes that have moved; says how long to wait before more do.
    pub(crate) fn take(&self, way: Way, bytes: usize, budget: &Budget) -> Duration {
        let (spent, pace) = match way {
            Way::Out => (&self.out, &self.pace_out),
            Way::In => (&self.into, &self.pace_in),
        };
        spent.fetch_add(bytes as u64, Ordering::Relaxed);
        match budget.bytes_per_second {
            None => Duration::ZERO,
            Some(rate) => pace.lock().unwrap_or_else(PoisonError::into_inner).take(bytes as u64, rate.max(1)),
        }
    }
}

// === impl Pace ===

impl Pace {
    fn take(&mut self, amount: u64, per_second: u64) -> Duration {
        let now = Instant::now();
        let cost = Duration::from_secs_f64(amount as f64 / per_second as f64);
        self.paid_until = self.paid_until.max(now) + cost;
        self.paid_until.duration_since(now).saturating_sub(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_rate_lets_a_second_s_worth_through_at_once_and_no_more() {
        let budget = Budget { bytes_per_second: Some(1000), ..Budget::default() };
        let spent = Spent::new();
        assert_eq!(spent.take(Way::Out, 1000, &budget), Duration::ZERO);
        assert_eq!(spent.take(Way::Out, 500, &budget), Duration::from_millis(500));
        assert_eq!(spent.take(Way::In, 1000, &budget), Duration::ZERO, "each way by itself");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(spent.take(Way::Out, 1000, &budget), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn connections_beyond_the_rate_are_refused() {
        let budget = Budget { connections_per_second: Some(2), ..Budget::default() };
        let spent = Spent::new();
        assert_eq!([(); 3].map(|()| spent.may_connect(&budget)), [true, true, false]);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(spent.may_connect(&budget));
        assert!(!spent.may_connect(&Budget { connections_per_second: Some(0), ..budget }));
    }

    #[tokio::test]
    async fn bytes_are_used_up() {
        let budget = Budget { bytes_out: Some(10), ..Budget::default() };
        let spent = Spent::new();
        spent.take(Way::In, 100, &budget);
        assert!(!spent.is_used_up(&budget));
        spent.take(Way::Out, 10, &budget);
        assert!(spent.is_used_up(&budget));
    }
}
