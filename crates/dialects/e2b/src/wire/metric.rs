//! What a sandbox used, in E2B's names.

use std::collections::BTreeMap;

use hood_engine::Sample;
use serde::Serialize;

use crate::wire::When;

/// One sample.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metric {
    timestamp: When,
    timestamp_unix: i64,
    cpu_count: u32,
    cpu_used_pct: f64,
    mem_used: u64,
    mem_total: u64,
    mem_cache: u64,
    disk_used: u64,
    disk_total: u64,
}

/// The latest sample of several sandboxes.
#[derive(Debug, Serialize)]
pub(crate) struct Metrics {
    pub(crate) sandboxes: BTreeMap<String, Metric>,
}

impl From<Sample> for Metric {
    fn from(sample: Sample) -> Self {
        Self {
            timestamp: When(sample.at),
            timestamp_unix: sample.at.unix_timestamp(),
            cpu_count: sample.cpu_count,
            cpu_used_pct: sample.cpu_used_pct,
            mem_used: sample.memory_used,
            mem_total: sample.memory_total,
            mem_cache: sample.memory_cache,
            disk_used: sample.disk_used,
            disk_total: sample.disk_total,
        }
    }
}
