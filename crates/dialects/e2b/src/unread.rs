//! What a client still sends after it has been answered.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::limits::{UNREAD_BODY, UNREAD_BODY_TIME};

/// A request body whose rest is read and thrown away when nobody wants it.
///
/// An answer that comes before the body's end ("the sandbox was not found", a wrong key) closes the connection under a
/// client that still writes. Node's fetch then reports the broken pipe and never shows the answer.
struct ReadOut {
    /// None once it has ended.
    inner: Option<Body>,
    tasks: TaskTracker,
}

/// Has the request's body read to its end, by whoever answers or else by a task of `tasks`.
pub(crate) fn read_out(request: Request, tasks: &TaskTracker) -> Request {
    // Who waits for a "100 Continue" sends nothing before it, and nothing after another answer.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return request;
    }
    request.map(|body| Body::new(ReadOut { inner: Some(body), tasks: tasks.clone() }))
}

async fn drain(mut body: Body) {
    let all = async {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > UNREAD_BODY {
                return;
            }
        }
    };
    if timeout(UNREAD_BODY_TIME, all).await.is_err() {
        tracing::debug!("a client went on sending long after it was answered");
    }
}

// === impl ReadOut ===

impl HttpBody for ReadOut {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let polled = Pin::new(inner).poll_frame(cx);
        if let Poll::Ready(None | Some(Err(_))) = &polled {
            self.inner = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for ReadOut {
    fn drop(&mut self) {
        let rest = self.inner.take().filter(|body| !body.is_end_stream());
        // Without a runtime the server is ending, and its connections with it.
        if let (Some(rest), Ok(runtime)) = (rest, Handle::try_current()) {
            self.tasks.spawn_on(drain(rest), &runtime);
        }
    }
}
