//! A sandbox's log and samples on their way to the store.
//!
//! Nothing waits for the journal: it takes what fits into its queue and counts what does not. Batches form by
//! themselves, for what arrives during one write goes into the next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hood_driver_api::SandboxId;
use hood_wire::Level;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::ports::Store;
use crate::{Order, Sample, limits};

/// One line of a sandbox's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// When the host took note of it.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// How bad it is.
    pub level: Level,
    /// Who says it: `engine`, or a part of the guest.
    pub logger: String,
    /// What it says.
    pub message: String,
    /// More, by name.
    pub fields: BTreeMap<String, String>,
}

/// Which lines of a log are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogQuery {
    /// Where to start: lines from then on when reading [`Order::Oldest`] first, lines up to then otherwise.
    pub from: Option<OffsetDateTime>,
    /// At most this many, and never more than [`limits::LOG_PAGE`].
    pub limit: usize,
    /// Which end comes first.
    pub direction: Order,
    /// Only lines at least this bad.
    pub level: Option<Level>,
    /// Only lines whose message contains this.
    pub search: Option<String>,
}

impl Default for LogQuery {
    fn default() -> Self {
        Self { from: None, limit: 1000, direction: Order::Oldest, level: None, search: None }
    }
}

impl LogQuery {
    /// Whether the query, its order and limit apart, wants this line.
    pub fn wants(&self, line: &LogLine) -> bool {
        let in_time = match (self.from, self.direction) {
            (None, _) => true,
            (Some(from), Order::Oldest) => line.at >= from,
            (Some(from), Order::Newest) => line.at <= from,
        };
        in_time
            && self.level.is_none_or(|level| line.level >= level)
            && self.search.as_ref().is_none_or(|text| line.message.contains(text.as_str()))
    }
}

/// Takes lines and samples from anywhere and hands them to the writer.
pub(crate) struct Journal {
    queue: mpsc::Sender<Item>,
    dropped: Arc<AtomicU64>,
}

/// Writes what the journal took.
pub(crate) struct Writer {
    queue: mpsc::Receiver<Item>,
    store: Arc<dyn Store>,
    dropped: Arc<AtomicU64>,
}

enum Item {
    Line(SandboxId, LogLine),
    Sample(SandboxId, Sample),
    Flush(oneshot::Sender<()>),
}

impl Journal {
    /// A journal and its writer, to be run by somebody.
    pub(crate) fn new(store: Arc<dyn Store>) -> (Self, Writer) {
        let (sender, queue) = mpsc::channel(limits::JOURNAL);
        let dropped = Arc::new(AtomicU64::new(0));
        (Self { queue: sender, dropped: dropped.clone() }, Writer { queue, store, dropped })
    }

    /// Takes a line, its message cut to [`limits::LOG_MESSAGE`].
    pub(crate) fn line(&self, id: &SandboxId, mut line: LogLine) {
        let longest = limits::LOG_MESSAGE.0 as usize;
        if line.message.len() > longest {
            let cut = (0..=longest).rev().find(|&at| line.message.is_char_boundary(at)).unwrap_or(0);
            line.message.truncate(cut);
            line.fields.insert("truncated".into(), "true".into());
        }
        self.take(Item::Line(id.clone(), line));
    }

    /// Takes a sample.
    pub(crate) fn sample(&self, id: &SandboxId, sample: Sample) {
        self.take(Item::Sample(id.clone(), sample));
    }

    /// How many lines and samples were dropped because the queue was full or the store failed.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns when everything taken so far is in the store (or the writer is gone).
    pub(crate) async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        if self.queue.send(Item::Flush(done)).await.is_ok() {
            // An error means that the writer ended, after it had written what was there.
            wait.await.ok();
        }
    }

    fn take(&self, item: Item) {
        if self.queue.try_send(item).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Writer {
    /// Writes until `stop`, then writes what is left and ends.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut items = Vec::with_capacity(limits::JOURNAL_BATCH);
        loop {
            // Items first: `stop` must not leave any behind.
            tokio::select! {
                biased;
                n = self.queue.recv_many(&mut items, limits::JOURNAL_BATCH) => if n == 0 { return },
                () = stop.cancelled() => return,
            }
            self.write(&mut items).await;
        }
    }

    async fn write(&self, items: &mut Vec<Item>) {
        let (mut lines, mut samples, mut flushes) = (Vec::new(), Vec::new(), Vec::new());
        for item in items.drain(..) {
            match item {
                Item::Line(id, line) => lines.push((id, line)),
                Item::Sample(id, sample) => samples.push((id, sample)),
                Item::Flush(done) => flushes.push(done),
            }
        }
        if !(lines.is_empty() && samples.is_empty())
            && let Err(error) = self.store.append(&lines, &samples).await
        {
            self.dropped.fetch_add((lines.len() + samples.len()) as u64, Ordering::Relaxed);
            tracing::warn!(lines = lines.len(), samples = samples.len(), %error, "log lines and samples lost");
        }
        for done in flushes {
            // Whoever asked may have gone.
            done.send(()).ok();
        }
    }
}
