//! The server's own certificate: from an authority of its own, or from files that somebody else renews.

mod bridge;
mod files;
mod own;
mod stream;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::ServerConfig;
use rustls::server::ResolvesServerCert;
use tokio_rustls::TlsAcceptor;

use super::acme::{Acme, Place};
use crate::local::DataDir;
use bridge::Bridge;
use files::Files;
use own::Own;
pub(super) use stream::{Plain, Stream};

/// Where the certificate comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Certificate {
    /// There is none: requests come in clear text.
    #[default]
    None,
    /// From the server's own authority, which `hood ca` prints.
    Own,
    /// From a public authority, got by the server itself; from its own until the first comes.
    Acme(Acme),
    /// From these files in PEM, read again when they change.
    Files {
        /// The certificate, and those between it and a root.
        chain: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

/// What takes handshakes, if there is a certificate. `domain` may have a port.
pub(super) fn acceptor(
    certificate: &Certificate,
    data_dir: &DataDir,
    domain: &str,
) -> Result<Option<TlsAcceptor>> {
    let resolver: Arc<dyn ResolvesServerCert> = match certificate {
        Certificate::None => return Ok(None),
        Certificate::Own => Arc::new(Own::new(data_dir.ingress_authority()?, names(domain))?),
        Certificate::Acme(acme) => {
            let own = Own::new(data_dir.ingress_authority()?, names(domain))?;
            let place = Place::new(data_dir.path(), acme, host_of(domain));
            Arc::new(Bridge::new(own, place.chain(), place.key()))
        }
        Certificate::Files { chain, key } => Arc::new(Files::open(chain, key)?),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("cannot set up TLS")?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

/// What a certificate for this domain is good for: itself, every host of a sandbox below it, and this machine.
fn names(domain: &str) -> Vec<String> {
    let host = host_of(domain);
    let mut names = vec![host.to_owned()];
    if host.parse::<IpAddr>().is_err() {
        names.push(format!("*.{host}"));
    }
    for local in ["localhost", "127.0.0.1", "::1"] {
        if local != host {
            names.push(local.to_owned());
        }
    }
    names
}

pub(super) fn host_of(domain: &str) -> &str {
    if let Some((address, _)) = domain.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    match domain.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        _ => domain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_covers_the_hosts_of_sandboxes() {
        assert_eq!(names("fumehood.test:8443")[..2], ["fumehood.test", "*.fumehood.test"]);
        assert_eq!(names("127.0.0.1:7070"), ["127.0.0.1", "localhost", "::1"]);
        assert_eq!(host_of("[::1]:7070"), "::1");
        assert_eq!(host_of("fumehood.test"), "fumehood.test");
    }
}
