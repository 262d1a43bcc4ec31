//! What is counted, for whoever shows it: plain numbers, no metrics library.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::table::lock;
use crate::{CreateError, Why};

/// What a sandbox used at one moment. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// CPU since the sample before, in percent of what the sandbox may use.
    pub cpu_used_pct: f64,
    /// Cores it may use, rounded up.
    pub cpu_count: u32,
    /// Memory without page cache.
    pub memory_used: u64,
    /// Memory it may use.
    pub memory_total: u64,
    /// Page cache.
    pub memory_cache: u64,
    /// Writable layer.
    pub disk_used: u64,
    /// What the writable layer may hold.
    pub disk_total: u64,
}

/// Counts since the start of the server.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Sandboxes whose guest answers.
    pub running: usize,
    /// Sandboxes that stand still.
    pub paused: usize,
    /// Sandboxes being built.
    pub creating: usize,
    /// Ended sandboxes not yet removed.
    pub removing: usize,
    /// Ended ones, by [`Why::label`].
    pub ended: BTreeMap<&'static str, u64>,
    /// Refused or failed creations, by [`CreateError::label`].
    pub creates_failed: BTreeMap<&'static str, u64>,
    /// How long successful creations took.
    pub create_seconds: Histogram,
    /// Attempts to remove a sandbox that failed.
    pub destroys_failed: u64,
    /// Log lines and samples that were dropped.
    pub journal_dropped: u64,
}

/// A histogram with fixed buckets.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Upper bound in seconds and how many values were at most that (cumulative).
    pub buckets: Vec<(f64, u64)>,
    /// Sum of all values in seconds.
    pub sum: f64,
    /// How many values there were.
    pub count: u64,
}

/// Bounds around what a creation takes: milliseconds when warm, seconds on a bad day.
const CREATE_BOUNDS: [f64; 14] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];

/// The engine's own counters.
#[derive(Default)]
pub(crate) struct Metrics(Mutex<Counts>);

// === impl Histogram ===

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: CREATE_BOUNDS.map(|bound| (bound, 0)).to_vec(), sum: 0.0, count: 0 }
    }
}

impl Histogram {
    fn add(&mut self, value: f64) {
        for (bound, count) in &mut self.buckets {
            *count += u64::from(value <= *bound);
        }
        self.sum += value;
        self.count += 1;
    }
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn created(&self, took: Duration) {
        lock(&self.0).create_seconds.add(took.as_secs_f64());
    }

    pub(crate) fn create_failed(&self, error: &CreateError) {
        *lock(&self.0).creates_failed.entry(error.label()).or_default() += 1;
    }

    pub(crate) fn ended(&self, why: &Why) {
        *lock(&self.0).ended.entry(why.label()).or_default() += 1;
    }

    pub(crate) fn destroy_failed(&self) {
        lock(&self.0).destroys_failed += 1;
    }

    /// The counters; what is a level and not a count is left at zero.
    pub(crate) fn counts(&self) -> Counts {
        lock(&self.0).clone()
    }
}
