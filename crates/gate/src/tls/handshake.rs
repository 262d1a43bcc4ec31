//! The gate's side of a handshake with the program inside.

use std::io;
use std::sync::Arc;

use hood_policy::Name;
use rustls::ServerConfig;
use rustls::server::{Acceptor, ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use super::upstream::{H2, HTTP11};
use crate::limits::HANDSHAKE;

/// A handshake that has begun.
pub(super) struct Hello<C>(StartHandshake<C>);

/// One certificate, whatever is asked for.
#[derive(Debug)]
struct Only(Arc<CertifiedKey>);

/// Reads the first message.
pub(super) async fn hello<C: AsyncRead + AsyncWrite + Unpin>(client: C) -> io::Result<Hello<C>> {
    timed(LazyConfigAcceptor::new(Acceptor::default(), client)).await.map(Hello)
}

/// Which of the two versions of HTTP a side has settled on.
pub(super) fn chosen(alpn: Option<&[u8]>) -> &'static [u8] {
    if alpn == Some(H2) { H2 } else { HTTP11 }
}

impl<C: AsyncRead + AsyncWrite + Unpin> Hello<C> {
    /// Whether it asks for this host.
    pub(super) fn is_for(&self, name: &Name) -> bool {
        let hello = self.0.client_hello();
        hello.server_name().and_then(|asked| asked.parse::<Name>().ok()).is_some_and(|asked| asked == *name)
    }

    /// The versions of HTTP that it offers and we know, in its order.
    pub(super) fn offered(&self) -> Vec<Vec<u8>> {
        let hello = self.0.client_hello();
        let Some(offered) = hello.alpn() else { return vec![HTTP11.to_vec()] };
        offered.filter(|alpn| *alpn == H2 || *alpn == HTTP11).map(<[u8]>::to_vec).collect()
    }

    /// Goes on with this certificate and this version of HTTP.
    pub(super) async fn accept(self, leaf: Arc<CertifiedKey>, alpn: &[u8]) -> io::Result<TlsStream<C>> {
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(io::Error::other)?
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(Only(leaf)));
        config.alpn_protocols = vec![alpn.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        timed(self.0.into_stream(Arc::new(config))).await
    }
}

impl ResolvesServerCert for Only {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

async fn timed<T>(handshake: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match tokio::time::timeout(HANDSHAKE, handshake).await {
        Ok(result) => result,
        Err(_elapsed) => Err(io::ErrorKind::TimedOut.into()),
    }
}
