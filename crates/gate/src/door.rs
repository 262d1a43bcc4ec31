//! Accepting: from a listener to streams, each with the address that it was meant for.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

/// Pause after a failed accept: out of descriptors, the next try would fail at once, too.
const PAUSE: Duration = Duration::from_millis(50);

/// How it is found out where a connection was meant for. The seam for ways of redirecting that are not NAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// The kernel has redirected it by NAT and remembers (`SO_ORIGINAL_DST`).
    Redirected,
    /// Everything that arrives is for this address: for tests and measurements without a network of their own.
    For(SocketAddr),
}

impl Meant {
    /// Where this connection was meant for. An error for one that was opened to the listener itself.
    fn of(self, stream: &TcpStream) -> io::Result<SocketAddr> {
        match self {
            Self::For(address) => Ok(address),
            Self::Redirected if stream.local_addr()?.is_ipv4() => {
                Ok(rustix::net::sockopt::ip_original_dst(stream)?.into())
            }
            Self::Redirected => Ok(rustix::net::sockopt::ipv6_original_dst(stream)?.into()),
        }
    }
}

/// The next connection, and where it was meant for. May be dropped at any point.
pub(crate) async fn next(listener: &TcpListener, meant: Meant) -> (TcpStream, SocketAddr) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "a sandbox's connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        match meant.of(&stream) {
            Ok(to) => return (stream, to),
            Err(error) => {
                tracing::debug!(%error, "a connection to the gate's own listener");
                reset(&stream);
            }
        }
    }
}

/// Has the connection end with a reset when it is dropped: the program inside learns at once that it was refused, and
/// does not take what came so far for an answer.
pub(crate) fn reset(stream: &TcpStream) {
    if let Err(error) = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)) {
        tracing::debug!(%error, "a connection cannot be reset");
    }
}
