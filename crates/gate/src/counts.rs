//! Numbers for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the gate did since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Connections and questions let through.
    pub allowed: u64,
    /// Those refused.
    pub denied: u64,
    /// Those that a policy which only logs would refuse.
    pub would_deny: u64,
    /// Connections open now.
    pub open: u64,
    /// Bytes out of sandboxes.
    pub bytes_out: u64,
    /// Bytes into sandboxes.
    pub bytes_in: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) allowed: AtomicU64,
    pub(crate) denied: AtomicU64,
    pub(crate) would_deny: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) bytes_in: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self) -> Counts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            allowed: get(&self.allowed),
            denied: get(&self.denied),
            would_deny: get(&self.would_deny),
            open: get(&self.open),
            bytes_out: get(&self.bytes_out),
            bytes_in: get(&self.bytes_in),
        }
    }
}

/// One more, until dropped.
pub(crate) struct Open<'a>(&'a AtomicU64);

impl<'a> Open<'a> {
    pub(crate) fn one(counter: &'a AtomicU64) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
