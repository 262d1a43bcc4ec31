//! Requests to hosts that a policy has rules for: opened here, checked, changed, sent on.
//!
//! Only for these is TLS opened. The gate shows the program inside a certificate of its own authority, which sandboxes
//! trust, and speaks TLS to the real host itself, whose certificate it verifies. Both sides speak the same version of
//! HTTP: the host's choice among what the program offered. Bodies stream both ways; nothing is kept.
//!
//! A request goes on when it is for the host of the connection, the rules allow its method and path, and every header
//! that the policy sets can be set. Otherwise a page says why not. Start at [`Interceptor::run`].

mod fill;
mod handshake;
mod leaves;
mod refusal;
mod request;
mod rules;
mod scrub;
mod serve;
mod tasks;
mod upstream;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use hood_policy::{Name, Policy, Protocol, Verdict};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::ca::{Authority, AuthorityError};
use crate::secrets::Secrets;
use leaves::Leaves;
pub(crate) use upstream::proxy_config;

/// What interception needs to know.
pub struct TlsConfig {
    /// Signs what sandboxes are shown.
    pub authority: Authority,
    /// Trusted of upstream hosts beside the roots of this host: closed networks and tests have authorities of their own.
    pub extra_roots: Vec<CertificateDer<'static>>,
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConfig").field("extra_roots", &self.extra_roots.len()).finish_non_exhaustive()
    }
}

/// Interception cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The TLS library refuses its own defaults.
    #[error("TLS cannot be set up")]
    Provider(#[source] rustls::Error),
    /// A certificate of the configuration is none.
    #[error("an extra root certificate of the configuration cannot be used")]
    ExtraRoot(#[source] rustls::Error),
}

/// Opens connections to hosts with rules; one for the whole gate.
pub(crate) struct Interceptor {
    leaves: Leaves,
    upstream: ClientConfig,
    secrets: Arc<dyn Secrets>,
}

/// One connection, as the gate knows it when its host has been decided on.
#[derive(Clone)]
pub(crate) struct Facts {
    /// Whose secrets count.
    pub(crate) team: String,
    /// The host: from SNI, or from the first request's `Host`.
    pub(crate) name: Name,
    /// Where it was opened to.
    pub(crate) to: SocketAddr,
    /// TLS or HTTP.
    pub(crate) protocol: Protocol,
    /// The sandbox's policy. Each request is decided by the one of its moment.
    pub(crate) policy: watch::Receiver<Arc<Policy>>,
    /// Is told of each request.
    pub(crate) seen: Arc<dyn Fn(Seen<'_>) + Send + Sync>,
}

/// A request that was decided on.
pub(crate) struct Seen<'a> {
    pub(crate) method: &'a str,
    /// Without the query, which may hold anything.
    pub(crate) path: &'a str,
    /// Whether it went on; a request for another host than the connection's is denied as one to that host.
    pub(crate) verdict: &'a Verdict,
}

/// Whether the program inside spoke TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Secured {
    Yes,
    No,
}

/// Why a connection ended otherwise than by its two ends. For the log; holds nothing of what was sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// The program inside has not shaken hands properly.
    #[error("no TLS handshake with the program inside: {0}")]
    Client(#[source] io::Error),
    /// No certificate could be made.
    #[error(transparent)]
    Leaf(#[from] AuthorityError),
    /// HTTP went wrong on the inner side.
    #[error("no HTTP with the program inside: {0}")]
    Http(#[source] hyper::Error),
}

// === impl Facts ===

impl Facts {
    fn secured(&self) -> Secured {
        if self.protocol == Protocol::Tls { Secured::Yes } else { Secured::No }
    }
}

// === impl Interceptor ===

impl Interceptor {
    pub(crate) fn new(config: TlsConfig, secrets: Arc<dyn Secrets>) -> Result<Self, TlsError> {
        let upstream = upstream::config(&config.extra_roots)?;
        Ok(Self { leaves: Leaves::new(config.authority), upstream, secrets })
    }

    /// Serves one connection until it ends. `client` begins with the first byte that the program sent; `dial` opens
    /// the way to the host and is called once at most. Dropping the future ends everything.
    pub(crate) async fn run<C, U, D, F>(&self, client: C, dial: D, facts: Facts) -> Result<(), Stopped>
    where
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        U: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        D: FnOnce() -> F + Send,
        F: Future<Output = io::Result<U>> + Send,
    {
        match facts.secured() {
            Secured::Yes => self.run_tls(client, dial, facts).await,
            Secured::No => {
                let upstream = match dial().await {
                    Ok(stream) => serve::connect(stream, upstream::HTTP11).await,
                    Err(error) => Err(error.to_string()),
                };
                serve::serve(client, upstream::HTTP11, upstream, self.service(facts)).await
            }
        }
    }

    async fn run_tls<C, U, D, F>(&self, client: C, dial: D, facts: Facts) -> Result<(), Stopped>
    where
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        U: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        D: FnOnce() -> F + Send,
        F: Future<Output = io::Result<U>> + Send,
    {
        let hello = handshake::hello(client).await.map_err(Stopped::Client)?;
        if !hello.is_for(&facts.name) {
            // Whoever called us has read another name than rustls does: nothing is assumed.
            return Err(Stopped::Client(io::Error::other("the name in it is another")));
        }
        let offered = hello.offered();
        let reached = match dial().await {
            Ok(stream) => upstream::handshake(&self.upstream, &facts.name, offered.clone(), stream).await,
            Err(error) => Err(error),
        };
        let (upstream, alpn) = match reached {
            Ok(stream) => {
                let alpn = handshake::chosen(stream.get_ref().1.alpn_protocol());
                (serve::connect(stream, alpn).await, alpn)
            }
            // The program gets a page, in whatever version it likes best.
            Err(error) => (Err(error.to_string()), handshake::chosen(offered.first().map(Vec::as_slice))),
        };
        let leaf = self.leaves.of(facts.name.as_str())?;
        let client = hello.accept(leaf, alpn).await.map_err(Stopped::Client)?;
        serve::serve(client, alpn, upstream, self.service(facts)).await
    }

    fn service(&self, facts: Facts) -> serve::Service {
        serve::Service::new(facts, self.secrets.clone())
    }
}

#[cfg(test)]
mod tests;
