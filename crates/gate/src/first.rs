//! The first bytes of a connection: read for the name in them, kept for whoever serves it.

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hood_policy::{Name, Protocol};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use crate::head::{self, Head};
use crate::hello::{self, Read};
use crate::limits::FIRST_BYTES;

/// What a connection began with.
#[derive(Debug, Default)]
pub(crate) struct First {
    /// The bytes themselves.
    pub(crate) bytes: Vec<u8>,
    pub(crate) said: Said,
}

/// What they say.
#[derive(Debug, Default)]
pub(crate) enum Said {
    /// A TLS client's hello.
    Tls(Option<Name>),
    /// An HTTP request.
    Http(Head),
    /// Nothing that we know, or nothing in time.
    #[default]
    Nothing,
}

impl Said {
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Self::Tls(_) => Protocol::Tls,
            Self::Http(_) => Protocol::Http,
            Self::Nothing => Protocol::Tcp,
        }
    }

    /// The host that it is for. One that names another port than the connection's is for none.
    pub(crate) fn name(&self, port: u16) -> Option<&Name> {
        match self {
            Self::Tls(name) => name.as_ref(),
            Self::Http(head) if head.port.is_some_and(|named| named != port) => None,
            Self::Http(head) => head.name.as_ref(),
            Self::Nothing => None,
        }
    }
}

/// Reads until it is known what the connection is for, or known not to be, or time is up.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<First> {
    let mut first = First::default();
    let reading = async {
        loop {
            if stream.read_buf(&mut first.bytes).await? == 0 {
                return Ok(());
            }
            match recognise(&first.bytes) {
                Read::Whole(said) => {
                    first.said = said;
                    return Ok(());
                }
                Read::Not => return Ok(()),
                Read::Partial => {}
            }
        }
    };
    // Out of time is not an error: the server may be the one to speak first.
    match tokio::time::timeout(FIRST_BYTES, reading).await {
        Ok(read) => read.map(|()| first),
        Err(_elapsed) => Ok(first),
    }
}

fn recognise(bytes: &[u8]) -> Read<Said> {
    match hello::read(bytes) {
        Read::Whole(hello) => return Read::Whole(Said::Tls(hello.name.filter(|_| !hello.encrypted))),
        Read::Partial => return Read::Partial,
        Read::Not => {}
    }
    match head::read(bytes) {
        Read::Whole(head) => Read::Whole(Said::Http(head)),
        Read::Partial => Read::Partial,
        Read::Not => Read::Not,
    }
}

/// A stream that begins with bytes that were read already.
pub(crate) struct Replay<S> {
    bytes: io::Cursor<Vec<u8>>,
    stream: S,
}

impl<S> Replay<S> {
    pub(crate) fn new(bytes: Vec<u8>, stream: S) -> Self {
        Self { bytes: io::Cursor::new(bytes), stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replay<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let at = self.bytes.position() as usize;
        let rest = self.bytes.get_ref().get(at..).unwrap_or_default();
        if rest.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let count = rest.len().min(buf.remaining());
        buf.put_slice(rest.get(..count).unwrap_or_default());
        self.bytes.set_position((at + count) as u64);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replay<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
