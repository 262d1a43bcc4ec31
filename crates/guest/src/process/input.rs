//! What a client types: writing to a process, in order, never for longer than the call may last.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::unix::AsyncFd;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::wire;
use crate::connect::{Code, ConnectError};
use crate::limits::MAX_WRITES_WAITING;

/// The way into one process.
pub(super) struct Input {
    kind: Kind,
    /// `None` once it is closed. The lock keeps concurrent writes whole and in order.
    to: Mutex<Option<Arc<AsyncFd<OwnedFd>>>>,
    waiting: Semaphore,
    /// The main process has ended: nobody will read.
    gone: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Disabled,
    Pipe,
    Terminal,
}

impl Input {
    /// `/dev/null`.
    pub(super) fn disabled(gone: CancellationToken) -> Self {
        Self::new(Kind::Disabled, None, gone)
    }

    pub(super) fn pipe(to: Arc<AsyncFd<OwnedFd>>, gone: CancellationToken) -> Self {
        Self::new(Kind::Pipe, Some(to), gone)
    }

    pub(super) fn terminal(to: Arc<AsyncFd<OwnedFd>>, gone: CancellationToken) -> Self {
        Self::new(Kind::Terminal, Some(to), gone)
    }

    fn new(kind: Kind, to: Option<Arc<AsyncFd<OwnedFd>>>, gone: CancellationToken) -> Self {
        Self { kind, to: Mutex::new(to), waiting: Semaphore::new(MAX_WRITES_WAITING), gone }
    }

    /// Writes it all. Dropping the future, or the deadline, leaves a part written: what a process has read cannot be
    /// taken back.
    pub(super) async fn write(
        &self,
        input: &wire::Input,
        deadline: Option<Instant>,
    ) -> Result<(), ConnectError> {
        let bytes = self.meant(input)?;
        let Ok(_turn) = self.waiting.try_acquire() else {
            let message = format!("{MAX_WRITES_WAITING} writes to this process are waiting for it to read");
            return Err(ConnectError::new(Code::ResourceExhausted, message));
        };
        let mut rest = bytes;
        let result = self.until(deadline, async {
            let to = self.to.lock().await;
            let fd = to.as_ref().ok_or_else(|| self.failed("stdin is closed"))?;
            while !rest.is_empty() {
                let n = write_some(fd, rest).await.map_err(|error| self.failed(&error.to_string()))?;
                rest = rest.get(n..).unwrap_or_default();
            }
            Ok(())
        });
        match result.await {
            Some(result) => result,
            None => Err(ConnectError::new(
                Code::DeadlineExceeded,
                format!(
                    "the process did not read its input in time: {} of {} bytes were written",
                    bytes.len() - rest.len(),
                    bytes.len()
                ),
            )),
        }
    }

    /// End of input, after what is being written. Closing twice, or what was never open, is no error.
    pub(super) async fn close(&self, deadline: Option<Instant>) -> Result<(), ConnectError> {
        if self.kind == Kind::Terminal {
            let message = "a terminal has no stdin to close: send Ctrl+D (0x04) to it instead";
            return Err(ConnectError::new(Code::FailedPrecondition, message));
        }
        let closed = self.until(deadline, async {
            self.to.lock().await.take();
            Ok(())
        });
        closed.await.unwrap_or_else(|| {
            let message = "an earlier write to the process still waits for it to read";
            Err(ConnectError::new(Code::DeadlineExceeded, message))
        })
    }

    /// `None` at the deadline. The end of the process ends the wait as well.
    async fn until(
        &self,
        deadline: Option<Instant>,
        work: impl Future<Output = Result<(), ConnectError>>,
    ) -> Option<Result<(), ConnectError>> {
        let work = async {
            tokio::select! {
                biased;
                result = work => result,
                () = self.gone.cancelled() => Err(self.failed("the process has ended")),
            }
        };
        match deadline {
            Some(at) => timeout_at(at, work).await.ok(),
            None => Some(work.await),
        }
    }

    /// The bytes, if they are addressed to what this process has.
    fn meant<'a>(&self, input: &'a wire::Input) -> Result<&'a [u8], ConnectError> {
        match (self.kind, &input.stdin, &input.pty) {
            (Kind::Disabled, Some(_), _) => {
                Err(self.failed("stdin was not enabled; start the process with `stdin: true`"))
            }
            (Kind::Terminal, Some(_), _) => Err(self.failed("the process has a terminal; send `pty` input")),
            (Kind::Pipe | Kind::Disabled, None, Some(_)) => {
                Err(ConnectError::new(Code::Internal, "error writing to pty: the process has no terminal"))
            }
            (Kind::Pipe, Some(bytes), _) | (Kind::Terminal, None, Some(bytes)) => Ok(bytes),
            (_, None, None) => {
                Err(ConnectError::new(Code::InvalidArgument, "the input holds neither `stdin` nor `pty`"))
            }
        }
    }

    fn failed(&self, why: &str) -> ConnectError {
        let what = if self.kind == Kind::Terminal { "pty" } else { "stdin" };
        // Clients know an address without a terminal only by this code (reference `e2b.md` 3.2).
        ConnectError::new(Code::Internal, format!("error writing to {what}: {why}"))
    }
}

async fn write_some(fd: &AsyncFd<OwnedFd>, bytes: &[u8]) -> io::Result<usize> {
    loop {
        let mut ready = fd.writable().await?;
        let written = ready.try_io(|fd| {
            rustix::io::retry_on_intr(|| rustix::io::write(fd.get_ref(), bytes)).map_err(Into::into)
        });
        if let Ok(result) = written {
            return result;
        }
    }
}
