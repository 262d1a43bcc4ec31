//! The gate's own connection to the host: TLS with a certificate that is verified, then HTTP.

use std::io;
use std::sync::Arc;

use hood_policy::Name;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::TlsError;
use super::refusal::AnyBody;
use crate::limits::HANDSHAKE;

/// ALPN's names.
pub(super) const H2: &[u8] = b"h2";
pub(super) const HTTP11: &[u8] = b"http/1.1";

/// Where requests are sent.
pub(super) enum Sender {
    /// One at a time.
    Http1(Mutex<http1::SendRequest<AnyBody>>),
    /// Many at once.
    Http2(http2::SendRequest<AnyBody>),
}

impl Sender {
    pub(super) fn version(&self) -> Version {
        match self {
            Self::Http1(_) => Version::HTTP_11,
            Self::Http2(_) => Version::HTTP_2,
        }
    }

    /// Sends a request and returns the answer's head; its body follows.
    pub(super) async fn send(&self, request: Request<AnyBody>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::Http1(sender) => {
                let mut sender = sender.lock().await;
                sender.ready().await?;
                sender.send_request(request).await
            }
            Self::Http2(sender) => {
                let mut sender = sender.clone();
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

/// How a proxy is spoken to through TLS: verified by its own authority where one is named, else by the host's roots.
pub(crate) fn proxy_config(ca: Option<&str>) -> io::Result<Arc<ClientConfig>> {
    use rustls::pki_types::pem::PemObject;

    let extra = match ca {
        None => Vec::new(),
        Some(pem) => CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| io::Error::other(format!("the proxy's CA is no PEM: {error:?}")))?,
    };
    let mut config = config(&extra).map_err(io::Error::other)?;
    // It is not HTTP that is spoken within.
    config.alpn_protocols.clear();
    Ok(Arc::new(config))
}

/// Verifies by the host's own roots, and by those that the configuration adds.
pub(super) fn config(extra: &[CertificateDer<'static>]) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "a root certificate of this host cannot be read");
    }
    roots.add_parsable_certificates(found.certs);
    for certificate in extra {
        roots.add(certificate.clone()).map_err(TlsError::ExtraRoot)?;
    }
    if roots.is_empty() {
        tracing::warn!(
            "this host has no root certificates: hosts with rules cannot be verified, thus not reached"
        );
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Provider)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // Sessions are not shared: connections of two teams to one host have nothing in common.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

/// Shakes hands with the host, offering what the program inside offered.
pub(super) async fn handshake<U>(
    config: &ClientConfig,
    name: &Name,
    alpn: Vec<Vec<u8>>,
    stream: U,
) -> io::Result<TlsStream<U>>
where
    U: AsyncRead + AsyncWrite + Unpin,
{
    let mut config = config.clone();
    config.alpn_protocols = alpn;
    let server = ServerName::try_from(name.as_str().to_owned()).map_err(io::Error::other)?;
    let connecting = TlsConnector::from(Arc::new(config)).connect(server, stream);
    match tokio::time::timeout(HANDSHAKE, connecting).await {
        Ok(result) => result,
        Err(_elapsed) => {
            let text = format!("no TLS handshake within {} s", HANDSHAKE.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        }
    }
}
