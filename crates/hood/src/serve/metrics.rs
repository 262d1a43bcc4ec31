//! `/metrics`: the engine's counts in Prometheus' text format.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hood_engine::{Counts, Engine};
use hood_gate::Gate;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything there is to measure.
pub(super) fn registry(engine: &Engine, gate: Gate, audit_dropped: Arc<AtomicU64>) -> Arc<Registry> {
    let mut registry = Registry::with_prefix("hood");
    registry.register_collector(Box::new(EngineCounts(engine.clone())));
    registry.register_collector(Box::new(GateCounts(gate)));
    registry.register_collector(Box::new(AuditDropped(audit_dropped)));
    Arc::new(registry)
}

/// Reads all of it.
pub(super) fn render(registry: &Registry) -> Response {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, registry) {
        Ok(()) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// What went through the gate, and what did not.
struct GateCounts(Gate);

impl std::fmt::Debug for GateCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GateCounts")
    }
}

impl Collector for GateCounts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let counts = self.0.counts();
        let open = encoder.encode_descriptor(
            "gate_connections",
            "Connections out of sandboxes that are open",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(counts.open as i64).encode(open)?;
        let mut decided = encoder.encode_descriptor(
            "gate_decisions",
            "Connections and questions about names, by verdict",
            None,
            MetricType::Counter,
        )?;
        let verdicts =
            [("allowed", counts.allowed), ("denied", counts.denied), ("would_deny", counts.would_deny)];
        for (verdict, count) in verdicts {
            ConstCounter::new(count).encode(decided.encode_family(&[("verdict", verdict)])?)?;
        }
        let mut bytes =
            encoder.encode_descriptor("gate_bytes", "Bytes through the gate", None, MetricType::Counter)?;
        for (way, count) in [("out", counts.bytes_out), ("in", counts.bytes_in)] {
            ConstCounter::new(count).encode(bytes.encode_family(&[("way", way)])?)?;
        }
        Ok(())
    }
}

/// Audit entries that were lost.
#[derive(Debug)]
struct AuditDropped(Arc<AtomicU64>);

impl Collector for AuditDropped {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let lost = encoder.encode_descriptor(
            "audit_entries_lost",
            "Audit entries that came faster than they could be written",
            None,
            MetricType::Counter,
        )?;
        ConstCounter::new(self.0.load(Ordering::Relaxed)).encode(lost)
    }
}

struct EngineCounts(Engine);

impl std::fmt::Debug for EngineCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EngineCounts")
    }
}

impl Collector for EngineCounts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let counts: Counts = self.0.counts();
        let levels = [
            ("running", counts.running),
            ("paused", counts.paused),
            ("creating", counts.creating),
            ("removing", counts.removing),
        ];
        let mut sandboxes =
            encoder.encode_descriptor("sandboxes", "Sandboxes by state", None, MetricType::Gauge)?;
        for (state, count) in levels {
            ConstGauge::new(count as i64).encode(sandboxes.encode_family(&[("state", state)])?)?;
        }
        let mut ended = encoder.encode_descriptor(
            "sandboxes_ended",
            "Ended sandboxes by reason",
            None,
            MetricType::Counter,
        )?;
        for (why, count) in &counts.ended {
            ConstCounter::new(*count).encode(ended.encode_family(&[("why", *why)])?)?;
        }
        let mut failed = encoder.encode_descriptor(
            "creates_failed",
            "Failed creations by reason",
            None,
            MetricType::Counter,
        )?;
        for (why, count) in &counts.creates_failed {
            ConstCounter::new(*count).encode(failed.encode_family(&[("why", *why)])?)?;
        }
        let totals = [
            ("destroys_failed", "Failed attempts to remove a sandbox", counts.destroys_failed),
            (
                "journal_dropped",
                "Log lines and samples dropped because the store was slow",
                counts.journal_dropped,
            ),
        ];
        for (name, help, value) in totals {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(metric)?;
        }
        let mut create = encoder.encode_descriptor(
            "create_seconds",
            "Time from a create call to a sandbox whose guest answers",
            None,
            MetricType::Histogram,
        )?;
        let histogram = &counts.create_seconds;
        // The encoder adds up itself, so it is given each bucket's own count.
        let mut below = 0;
        let mut buckets = Vec::with_capacity(histogram.buckets.len() + 1);
        for (bound, cumulative) in &histogram.buckets {
            buckets.push((*bound, cumulative - below));
            below = *cumulative;
        }
        buckets.push((f64::MAX, histogram.count - below));
        create.encode_histogram::<[(&str, &str); 0]>(histogram.sum, histogram.count, &buckets, None)
    }
}
