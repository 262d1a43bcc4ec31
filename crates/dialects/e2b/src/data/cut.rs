//! A response body that is cut, not ended, when its sandbox ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::AbortOnDropHandle;

use super::reset::Reset;

/// The service's body. An error of it makes hyper abort the client's connection.
pub(super) struct CutBody {
    inner: Incoming,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    reset: Reset,
    /// Drives the connection to the service: a client that goes away drops this body, and with it the connection, so
    /// that the service notices at once.
    _connection: AbortOnDropHandle<()>,
}

// === impl CutBody ===

impl CutBody {
    pub(super) fn new(
        inner: Incoming,
        cut: CancellationToken,
        reset: Reset,
        connection: AbortOnDropHandle<()>,
    ) -> Self {
        Self { inner, cut: Box::pin(cut.cancelled_owned()), reset, _connection: connection }
    }
}

impl Body for CutBody {
    type Data = Bytes;
    type Error = io::Error;

    /// The cut comes first: what a dying service still said does not make its answer whole.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.cut.as_mut().poll(cx).is_ready() {
            self.reset.ask();
            return Poll::Ready(Some(Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the sandbox ended",
            ))));
        }
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        if let Poll::Ready(Some(Err(_))) = &frame {
            self.reset.ask();
        }
        frame.map_err(io::Error::other)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
