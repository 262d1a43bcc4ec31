//! Owned tasks: everything the engine starts can be waited for, and a panic in it is a value.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::ports::Clock;

/// The engine's tasks, in two sets that end one after the other.
#[derive(Default)]
pub(crate) struct Tasks {
    /// Work on one sandbox, which ends by itself: building, a transition, removing.
    pub(crate) works: TaskTracker,
    /// What runs as long as the engine: deadlines, sampling, events, pruning, the journal's writer.
    pub(crate) daemons: TaskTracker,
    /// Ends the daemons.
    pub(crate) stop: CancellationToken,
}

/// The task panicked; the panic itself is in the process's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

impl Tasks {
    /// Runs work that must finish even when the caller's future is dropped.
    pub(crate) async fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Panicked> {
        self.works.spawn(work).await.map_err(|_| Panicked)
    }

    /// Runs foreign work that ends with the caller's future and cannot take the caller down.
    pub(crate) async fn guard<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Panicked> {
        AbortOnDropHandle::new(self.works.spawn(work)).await.map_err(|_| Panicked)
    }
}

/// The work's result, or `None` when it took longer than `limit`.
pub(crate) async fn within<T>(
    clock: &Arc<dyn Clock>,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let end = clock.now() + limit;
    // The work first: what is ready was in time.
    tokio::select! {
        biased;
        value = work => Some(value),
        () = clock.sleep_until(end) => None,
    }
}
