//! A context as the requests see it: a queue of cells before the task that owns the kernel.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::AbortOnDropHandle;

use super::cell::Cell;
use super::keeper::Keeper;
use super::start::StartError;
use super::wire::CellError;
use crate::app::App;
use crate::limits::{MAX_QUEUED_CELLS, MAX_QUEUED_RESTARTS};

/// Whoever holds it owns the kernel: dropping the last handle ends it, and every cell that waits.
pub(crate) struct Context {
    pub(crate) id: String,
    pub(crate) language: String,
    pub(crate) cwd: String,
    cells: mpsc::Sender<Ticket>,
    restarts: mpsc::Sender<oneshot::Sender<()>>,
    alive: watch::Receiver<bool>,
    task: AbortOnDropHandle<()>,
}

/// The other end of a [`Context`].
pub(super) struct Inbox {
    pub(super) cells: mpsc::Receiver<Ticket>,
    pub(super) restarts: mpsc::Receiver<oneshot::Sender<()>>,
}

/// Whether the kernel is started before anybody needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Warm {
    Now,
    WhenUsed,
}

/// The context's queue is full.
#[derive(Debug, thiserror::Error)]
#[error(
    "context {context} has {MAX_QUEUED_CELLS} cells waiting already; wait for one to end, or use another context"
)]
pub(crate) struct QueueFull {
    context: String,
}

impl Context {
    pub(crate) fn new(app: App, id: String, language: String, cwd: String, warm: Warm) -> Self {
        let (cells, queued) = mpsc::channel(MAX_QUEUED_CELLS);
        let (restarts, asked) = mpsc::channel(MAX_QUEUED_RESTARTS);
        let (alive_tx, alive) = watch::channel(false);
        let keeper =
            Keeper::new(app, [&id, &language, &cwd], Inbox { cells: queued, restarts: asked }, alive_tx);
        let task = AbortOnDropHandle::new(tokio::spawn(keeper.run(warm)));
        Self { id, language, cwd, cells, restarts, alive, task }
    }

    /// Queues a cell and returns once there is a kernel that will run it. Dropping the future leaves the cell queued.
    pub(crate) async fn run(&self, cell: Arc<Cell>) -> Result<Result<(), StartError>, QueueFull> {
        let (opened, mut open) = oneshot::channel();
        let ticket = Ticket { cell, opened: Some(opened) };
        self.cells.try_send(ticket).map_err(|_| QueueFull { context: self.id.clone() })?;
        let mut alive = self.alive.clone();
        tokio::select! {
            // First, since a failed start is told in full only here.
            biased;
            // A ticket that was dropped has told why in the cell's own lines.
            result = &mut open => Ok(result.unwrap_or(Ok(()))),
            _ = alive.wait_for(|alive| *alive) => Ok(Ok(())),
        }
    }

    /// Ends the context for good, with all its cells.
    pub(crate) fn end(&self) {
        self.task.abort();
    }

    /// Ends the kernel, and the cell that runs with it.
    pub(crate) async fn restart(&self) {
        let (done, wait) = oneshot::channel();
        if self.restarts.send(done).await.is_ok() {
            // An answer that does not come means that the context is gone, and its kernel too.
            drop(wait.await);
        }
    }
}

/// A cell in the queue. However it is dropped, its client learns that it is over.
pub(super) struct Ticket {
    pub(super) cell: Arc<Cell>,
    opened: Option<oneshot::Sender<Result<(), StartError>>>,
}

impl Ticket {
    /// There is a kernel.
    pub(super) fn open(&mut self) {
        if let Some(opened) = self.opened.take() {
            // A client that went on to read, or hung up, needs no answer.
            drop(opened.send(Ok(())));
        }
    }

    /// There is none.
    pub(super) fn refuse(&mut self, error: StartError) {
        let error = match self.opened.take() {
            Some(opened) => opened.send(Err(error)).err().and_then(Result::err),
            None => Some(error),
        };
        if let Some(error) = error {
            self.cell.fail(CellError::new("KernelStartFailed", error.to_string()));
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.cell.outbox.has_ended() {
            self.cell.fail(CellError::new("ExecutionAborted", "the context was deleted".to_owned()));
            self.cell.finish();
        }
    }
}
