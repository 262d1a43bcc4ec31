//! What sandboxes use: on request, and every few seconds for the record.

use std::sync::Arc;

use hood_driver_api::{DriverError, SandboxId, Usage};
use time::OffsetDateTime;
use tokio_util::task::AbortOnDropHandle;

use super::{Engine, Shared};
use crate::lifecycle::Event;
use crate::table::Reading;
use crate::tasks::within;
use crate::{LookupError, Record, Resources, Sample, TeamId, Why, limits};

impl Engine {
    /// What a running sandbox uses now.
    pub async fn usage(&self, team: &TeamId, id: &str) -> Result<Sample, LookupError> {
        let record = self.shared.living_of(team, id)?;
        match self.shared.measure(&record).await {
            Ok((sample, _)) => Ok(sample),
            // It ended meanwhile: that says more than the driver's confusion.
            Err(error) => Err(self.shared.living_of(team, id).err().unwrap_or(LookupError::Driver(error))),
        }
    }

    /// The samples taken of a sandbox between two times, oldest first; also of an ended one that is remembered.
    pub async fn samples(
        &self,
        team: &TeamId,
        id: &str,
        from: OffsetDateTime,
        to: OffsetDateTime,
    ) -> Result<Vec<Sample>, LookupError> {
        let record = self.shared.any_of(team, id)?;
        self.shared.journal.flush().await;
        let samples = self.shared.store.samples(&record.id, from, to);
        self.shared.bounded("reading samples", samples).await.map_err(LookupError::Store)
    }
}

impl Shared {
    /// The first sample, right after creation.
    pub(super) fn begin_measuring(self: &Arc<Self>, id: &SandboxId) {
        let Some((record, _)) = self.table.running(id) else { return };
        let shared = self.clone();
        self.tasks.works.spawn(async move { shared.sample_some(&[record]).await });
    }

    pub(super) async fn sample_all(self: Arc<Self>) {
        let mut next = self.clock.now();
        loop {
            // Rounds missed (the host slept, a round took long) are left out, not caught up with.
            next = (next + limits::SAMPLE_EVERY).max(self.clock.now());
            self.clock.sleep_until(next).await;
            for some in self.table.all_running().chunks(limits::SAMPLES_AT_ONCE) {
                self.sample_some(some).await;
            }
        }
    }

    async fn sample_some(self: &Arc<Self>, records: &[Arc<Record>]) {
        let measure = |record: &Arc<Record>| {
            let (shared, id) = (self.clone(), record.id.clone());
            AbortOnDropHandle::new(self.tasks.works.spawn(async move { shared.sample(&id).await }))
        };
        let measuring: Vec<_> = records.iter().map(|record| (record.id.clone(), measure(record))).collect();
        for (id, task) in measuring {
            if task.await.is_err() {
                tracing::error!(sandbox.id = %id, "measuring a sandbox panicked; it is ended");
                if let Err(refused) = self.apply(&id, Event::End(Why::GuestDied)).await {
                    tracing::debug!(sandbox.id = %id, ?refused, "it had ended already");
                }
            }
        }
    }

    async fn sample(&self, id: &SandboxId) {
        let Some((record, _)) = self.table.running(id) else { return };
        match self.measure(&record).await {
            Ok((sample, reading)) => {
                self.table.set_reading(id, reading);
                self.journal.sample(id, sample);
            }
            Err(error) => tracing::debug!(sandbox.id = %id, %error, "a sample is missing"),
        }
    }

    async fn measure(&self, record: &Record) -> Result<(Sample, Reading), DriverError> {
        let usage =
            within(&self.clock, limits::USAGE, self.driver.usage(&record.id)).await.unwrap_or_else(|| {
                Err(DriverError::Guest(format!("no answer within {} s", limits::USAGE.as_secs())))
            })?;
        let reading = Reading { at: self.clock.now(), usage };
        let before = self
            .table
            .reading(&record.id)
            .unwrap_or(Reading { at: record.started_at, usage: Usage::default() });
        Ok((sample(&record.resources, before, reading), reading))
    }
}

fn sample(resources: &Resources, before: Reading, now: Reading) -> Sample {
    let took = (now.at - before.at).as_seconds_f64();
    let spent = now.usage.cpu.saturating_sub(before.usage.cpu).as_secs_f64();
    let allowed = took * f64::from(resources.cpu.0) / 1000.0;
    Sample {
        at: now.at,
        cpu_used_pct: if allowed > 0.0 { 100.0 * spent / allowed } else { 0.0 },
        cpu_count: resources.cpu.as_cores_ceil(),
        memory_used: now.usage.memory.0.saturating_sub(now.usage.cache.0),
        memory_total: resources.memory.0,
        memory_cache: now.usage.cache.0,
        disk_used: now.usage.disk.0,
        disk_total: resources.disk.0,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Bytes, MilliCpu};

    #[test]
    fn cpu_is_a_share_of_what_is_allowed() {
        let resources =
            Resources { memory: Bytes::mib(512), cpu: MilliCpu(500), pids: 64, disk: Bytes::gib(1) };
        let reading = |secs: i64, cpu_ms| Reading {
            at: OffsetDateTime::UNIX_EPOCH + time::Duration::seconds(secs),
            usage: Usage {
                cpu: Duration::from_millis(cpu_ms),
                memory: Bytes(100),
                cache: Bytes(40),
                ..Usage::default()
            },
        };
        let at_ease = sample(&resources, reading(0, 0), reading(5, 1250));
        assert!((at_ease.cpu_used_pct - 50.0).abs() < 1e-9);
        assert_eq!((at_ease.memory_used, at_ease.memory_cache, at_ease.cpu_count), (60, 40, 1));
        let no_time = sample(&resources, reading(5, 0), reading(5, 10));
        assert!(no_time.cpu_used_pct.abs() < 1e-9);
    }
}
