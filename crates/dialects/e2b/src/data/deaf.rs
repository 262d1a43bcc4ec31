//! A stream to a service that may stop listening before it has said why.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Goes on reading when the other side takes no more.
///
/// A service that refuses an upload ("no space left") answers and closes while the client still sends. Written bytes
/// then fail with a reset, and hyper would drop the connection with the answer unread; here they go nowhere instead,
/// and the answer is read. The stream's end is found by reading, as always.
pub(super) struct Deaf<S> {
    inner: S,
    ears: Ears,
}

/// Whether the other side takes bytes.
#[derive(Clone, Copy)]
enum Ears {
    Open,
    /// It does not. The next write waits for one turn of the task: a write that is always ready would keep hyper
    /// writing for ever, where it should read the answer.
    Shut,
    /// It does not, and the turn has been taken.
    ShutAndWaited,
}

// === impl Deaf ===

impl<S> Deaf<S> {
    pub(super) fn new(inner: S) -> Self {
        Self { inner, ears: Ears::Open }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Deaf<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Deaf<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.ears {
            Ears::Open => match Pin::new(&mut self.inner).poll_write(cx, buf) {
                Poll::Ready(Err(error)) if is_hang_up(&error) => {}
                other => return other,
            },
            Ears::Shut => {}
            Ears::ShutAndWaited => {
                self.ears = Ears::Shut;
                return Poll::Ready(Ok(buf.len()));
            }
        }
        self.ears = Ears::ShutAndWaited;
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.ears {
            Ears::Open => Pin::new(&mut self.inner).poll_flush(cx),
            Ears::Shut | Ears::ShutAndWaited => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.ears {
            Ears::Open => Pin::new(&mut self.inner).poll_shutdown(cx),
            Ears::Shut | Ears::ShutAndWaited => Poll::Ready(Ok(())),
        }
    }
}

fn is_hang_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
