//! A client's connection, which may begin with a TLS handshake.
//!
//! The handshake is done by whoever reads first, which is the connection's own task: a client that is slow with it holds
//! up nobody.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// The first byte of every TLS connection.
const HANDSHAKE: u8 = 0x16;

/// Whether a connection may also speak clear text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::serve) enum Plain {
    /// It may: it comes from this machine.
    Allowed,
    /// It may not: keys would be read by others.
    Refused,
}

/// A connection in one of its states.
pub(in crate::serve) enum Stream {
    Plain(TcpStream),
    /// Its first byte will tell.
    New(TcpStream, TlsAcceptor, Plain),
    Shaking(Box<Accept<TcpStream>>),
    Tls(Box<TlsStream<TcpStream>>),
    /// The handshake failed.
    Gone,
}

impl Stream {
    /// The socket beneath.
    pub(in crate::serve) fn socket(&self) -> Option<&TcpStream> {
        match self {
            Self::Plain(socket) | Self::New(socket, ..) => Some(socket),
            Self::Shaking(accept) => accept.get_ref(),
            Self::Tls(stream) => Some(stream.get_ref().0),
            Self::Gone => None,
        }
    }

    /// Ready when bytes of requests can pass.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self {
                Self::Plain(_) | Self::Tls(_) => return Poll::Ready(Ok(())),
                Self::Gone => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
                Self::New(socket, ..) => {
                    let mut first = [0];
                    let mut buffer = ReadBuf::new(&mut first);
                    let read = ready!(socket.poll_peek(cx, &mut buffer))?;
                    let Self::New(socket, acceptor, plain) = std::mem::replace(self, Self::Gone) else {
                        continue;
                    };
                    if read == 1 && first[0] == HANDSHAKE {
                        *self = Self::Shaking(Box::new(acceptor.accept(socket)));
                    } else if plain == Plain::Allowed || read == 0 {
                        *self = Self::Plain(socket);
                    } else {
                        let text = "this server speaks TLS; clear text is for its own machine";
                        return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
                    }
                }
                Self::Shaking(accept) => {
                    let result = ready!(Pin::new(&mut **accept).poll(cx));
                    *self = Self::Gone;
                    *self = Self::Tls(Box::new(result?));
                }
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_ready(cx))?;
        match &mut *self {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
            _ => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_ready(cx))?;
        match &mut *self {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            _ => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_ready(cx))?;
        match &mut *self {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, parts),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            _ => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Before the handshake there is nothing to flush, and nothing is waited for.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(socket) | Self::New(socket, ..) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Shaking(_) | Self::Gone => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hood_gate::Authority;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, RootCertStore, ServerConfig};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsConnector;

    use super::super::own::Own;
    use super::*;

    fn both_ends() -> (TlsAcceptor, TlsConnector) {
        let authority = Authority::generate("test").unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(authority.certificate().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Own::new(authority, vec!["*.hood.test".to_owned()]).unwrap()));
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        (TlsAcceptor::from(Arc::new(server)), TlsConnector::from(Arc::new(client)))
    }

    async fn pair(acceptor: TlsAcceptor, plain: Plain) -> (TcpStream, Stream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (client, Stream::New(server, acceptor, plain))
    }

    #[tokio::test]
    async fn a_connection_may_begin_with_a_handshake() {
        let (acceptor, connector) = both_ends();
        let (client, mut server) = pair(acceptor, Plain::Refused).await;
        let name = ServerName::try_from("49983-abc.hood.test").unwrap();
        let echo = async {
            let mut text = [0; 5];
            server.read_exact(&mut text).await.unwrap();
            server.write_all(&text).await.unwrap();
            server.flush().await.unwrap();
            server.shutdown().await.unwrap();
        };
        let talk = async {
            let mut client = connector.connect(name, client).await.unwrap();
            client.write_all(b"hello").await.unwrap();
            let mut text = String::new();
            client.read_to_string(&mut text).await.unwrap();
            text
        };
        assert_eq!(tokio::join!(echo, talk).1, "hello");
    }

    #[tokio::test]
    async fn clear_text_is_for_this_machine_only() {
        for (plain, expected) in [(Plain::Allowed, Some(*b"GET /")), (Plain::Refused, None)] {
            let (mut client, mut server) = pair(both_ends().0, plain).await;
            client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            let mut text = [0; 5];
            assert_eq!(server.read_exact(&mut text).await.ok().map(|_| text), expected);
        }
    }

    #[tokio::test]
    async fn a_failed_handshake_is_an_error_and_no_more() {
        let (mut client, mut server) = pair(both_ends().0, Plain::Allowed).await;
        client.write_all(&[HANDSHAKE, 0, 0, 0, 0, 0, 0]).await.unwrap();
        let mut text = [0; 5];
        assert!(server.read_exact(&mut text).await.is_err());
        assert!(server.read_exact(&mut text).await.is_err(), "also the second time");
        server.shutdown().await.unwrap();
    }
}
