//! A connection on a thread of its own: SQLite blocks, tokio's threads must not.

use std::path::Path;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use hood_engine::ports::StoreError;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use crate::limits::QUEUE;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Runs closures on a connection, one after the other. Dropping it finishes those in the queue.
pub(crate) struct Worker {
    queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    path: Arc<Path>,
}

/// What SQLite said, and about which file.
#[derive(Debug, thiserror::Error)]
#[error("`{}`", path.display())]
struct AboutFile {
    path: Arc<Path>,
    #[source]
    source: rusqlite::Error,
}

impl Worker {
    pub(crate) fn start(name: &str, path: Arc<Path>, mut connection: Connection) -> std::io::Result<Self> {
        let (queue, mut jobs) = mpsc::channel::<Job>(QUEUE);
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            while let Some(job) = jobs.blocking_recv() {
                job(&mut connection);
            }
        })?;
        Ok(Self { queue: Some(queue), thread: Some(thread), path })
    }

    /// Runs a closure. Dropping the future does not take it back.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        job: impl FnOnce(&mut Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // Nobody waits for the answer any more: that is the caller's business.
            done.send(job(connection)).ok();
        });
        let queue = self.queue.as_ref().expect("there until dropped");
        if queue.send(job).await.is_err() {
            return Err(StoreError::Failed { doing, source: "its thread has ended".into() });
        }
        match result.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(failure)) => Err(failure.explain(doing, &self.path)),
            Err(_) => Err(StoreError::Failed { doing, source: "its thread has ended".into() }),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            // The panic itself is in the process's log; every caller has had its error.
            self.thread = None;
        }
    }
}

/// Why a closure failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine's own error, as it is.
    Refused(StoreError),
    Sqlite(rusqlite::Error),
    Json(serde_json::Error),
}

impl Failure {
    fn explain(self, doing: &'static str, path: &Arc<Path>) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => StoreError::Full,
            Self::Sqlite(source) => {
                let source = Box::new(AboutFile { path: path.clone(), source });
                StoreError::Failed { doing, source }
            }
            Self::Json(source) => StoreError::Failed { doing, source: source.into() },
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}
