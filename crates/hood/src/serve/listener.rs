//! The listening socket, and connections that can be closed with a reset.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::serve::IncomingStream;
use hood_dialect_e2b::{FromSandbox, Reset};
use hood_gate::Visitors;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::tls::{Plain, Stream};

/// Pause after a failed accept: out of descriptors, the next try would fail at once, too.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections that carry a [`Reset`].
pub(super) struct Listener {
    pub(super) socket: TcpListener,
    /// With it, connections may begin with TLS; those of other machines must.
    pub(super) acceptor: Option<TlsAcceptor>,
}

/// One client.
pub(super) struct Connection {
    stream: Stream,
    reset: Reset,
}

/// What requests learn of their connection.
#[derive(Clone)]
pub(super) struct PerConnection {
    reset: Reset,
    client: SocketAddr,
}

/// Makes each request carry the marks of its connection.
pub(super) fn with_marks(router: Router, visitors: Visitors) -> Router {
    async fn mark(
        State(visitors): State<Visitors>,
        ConnectInfo(connection): ConnectInfo<PerConnection>,
        mut request: Request,
        next: Next,
    ) -> axum::response::Response {
        if visitors.contains(connection.client) {
            request.extensions_mut().insert(FromSandbox);
        }
        request.extensions_mut().insert(connection.reset);
        next.run(request).await
    }
    router.layer(middleware::from_fn_with_state(visitors, mark))
}

impl axum::serve::Listener for Listener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            match self.socket.accept().await {
                Ok((stream, address)) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "cannot switch off Nagle's algorithm");
                    }
                    let stream = self.begin(stream, address);
                    return (Connection { stream, reset: Reset::default() }, address);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

impl Listener {
    fn begin(&self, socket: TcpStream, peer: SocketAddr) -> Stream {
        let Some(acceptor) = &self.acceptor else { return Stream::Plain(socket) };
        let own = socket.local_addr().is_ok_and(|own| own.ip().to_canonical() == peer.ip().to_canonical());
        let plain =
            if own || peer.ip().to_canonical().is_loopback() { Plain::Allowed } else { Plain::Refused };
        Stream::New(socket, acceptor.clone(), plain)
    }
}

impl Connected<IncomingStream<'_, Listener>> for PerConnection {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        Self { reset: stream.io().reset.clone(), client: *stream.remote_addr() }
    }
}

impl Drop for Connection {
    /// No lingering: what is still unsent is dropped, and the client sees a reset instead of an end.
    fn drop(&mut self) {
        if self.reset.is_asked()
            && let Some(socket) = self.stream.socket()
            && let Err(error) = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO))
        {
            tracing::debug!(%error, "cannot reset a connection");
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// A connection that is to be reset says no polite goodbye first.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.reset.is_asked() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
