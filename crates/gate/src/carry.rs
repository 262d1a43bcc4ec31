//! Carrying bytes between a program and its server, counted, within the budget.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::Sleep;

use crate::budget::Way;
use crate::limits::{BUFFER, BUFFERS};

/// What one connection has moved, and the sandbox's account that it is charged to.
pub(crate) struct Meter {
    pub(crate) out: AtomicU64,
    pub(crate) into: AtomicU64,
    /// Charges the sandbox; says how long to wait, or that nothing is left.
    pub(crate) charge: Box<dyn Fn(Way, usize) -> Charge + Send + Sync>,
}

/// What a charge comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charge {
    /// Go on after this long.
    Wait(Duration),
    /// The budget is used up.
    UsedUp,
}

/// Buffers that no connection is using: only bytes on their way need one, so thousands of idle connections need none.
static POOL: Mutex<Vec<Box<[u8]>>> = Mutex::new(Vec::new());

struct Buffer(Box<[u8]>);

impl Buffer {
    fn take() -> Self {
        let pooled = POOL.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Self(pooled.unwrap_or_else(|| vec![0; BUFFER].into_boxed_slice()))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < BUFFERS {
            pool.push(std::mem::take(&mut self.0));
        }
    }
}

impl Meter {
    /// Counts bytes that have passed, and charges them. Says how long to wait before more do.
    pub(crate) fn count(&self, way: Way, bytes: usize) -> io::Result<Duration> {
        let counter = if way == Way::Out { &self.out } else { &self.into };
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
        match (self.charge)(way, bytes) {
            Charge::Wait(pause) => Ok(pause),
            Charge::UsedUp => Err(io::Error::new(io::ErrorKind::QuotaExceeded, "the budget is used up")),
        }
    }
}

/// Carries both ways until both sides have ended, or one fails.
pub(crate) async fn plain(inside: &mut TcpStream, outside: &mut TcpStream, meter: &Meter) -> io::Result<()> {
    let (inside_reads, inside_writes) = inside.split();
    let (outside_reads, outside_writes) = outside.split();
    tokio::try_join!(
        one_way(inside_reads, outside_writes, Way::Out, meter),
        one_way(outside_reads, inside_writes, Way::In, meter),
    )
    .map(drop)
}

/// Takes a buffer only when there is something to read.
async fn one_way(from: ReadHalf<'_>, mut to: WriteHalf<'_>, way: Way, meter: &Meter) -> io::Result<()> {
    loop {
        from.readable().await?;
        let mut buffer = Buffer::take();
        loop {
            let read = match from.try_read(&mut buffer.0) {
                Ok(0) => return to.shutdown().await,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            to.write_all(buffer.0.get(..read).unwrap_or_default()).await?;
            let pause = meter.count(way, read)?;
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
    }
}

/// The inner end of a connection that somebody else carries: counts what passes.
pub(crate) struct Metered<S> {
    stream: S,
    meter: Arc<Meter>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<S> Metered<S> {
    pub(crate) fn new(stream: S, meter: Arc<Meter>) -> Self {
        Self { stream, meter, pause: None }
    }

    fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        Poll::Ready(())
    }

    fn count(&mut self, way: Way, bytes: usize) -> io::Result<()> {
        let pause = self.meter.count(way, bytes)?;
        if !pause.is_zero() {
            self.pause = Some(Box::pin(tokio::time::sleep(pause)));
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_pause(cx));
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let read = buf.filled().len() - before;
        Poll::Ready(self.count(Way::Out, read))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_pause(cx));
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        Poll::Ready(self.count(Way::In, written).map(|()| written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
