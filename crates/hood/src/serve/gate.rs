//! The gate as the engine's port, and what the configuration says of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use hood_engine::{Outlets, Policy, Record, SandboxId, ports};
use hood_gate::audit::Sink;
use hood_gate::{Authority, Gate, Ingress, ResolverConfig, Secrets, TlsConfig, Whose};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::config;

/// The port of name servers.
const DNS: u16 = 53;

/// The gate behind the engine's port.
pub(super) struct Gated(pub(super) Gate);

/// What the gate is started from, beside the configuration file.
pub(super) struct Around<'a> {
    /// Signs what sandboxes are shown where TLS is opened.
    pub(super) authority: Authority,
    /// The server's own, where it has signed the server's certificate: the gate reaches its sandboxes' hosts like others.
    pub(super) own: Option<Authority>,
    /// The server's, with or without a port.
    pub(super) domain: &'a str,
    /// Where the server listens.
    pub(super) listen: SocketAddr,
    pub(super) sink: Arc<dyn Sink>,
    pub(super) secrets: Arc<dyn Secrets>,
}

/// Starts it.
pub(super) fn start(file: &config::Gate, around: Around<'_>) -> Result<Gate> {
    let name = around.domain.rsplit_once(':').map_or(around.domain, |(name, _)| name);
    // An address is no domain: then sandboxes have no hosts of their own.
    let domain = name.parse::<hood_policy::Name>().ok();
    let mut hosts = BTreeMap::new();
    for (name, addresses) in &file.hosts {
        let name = name.parse().with_context(|| format!("`gate.hosts` holds `{name}`"))?;
        hosts.insert(name, addresses.clone());
    }
    let resolver = ResolverConfig {
        servers: file.dns_servers.iter().map(|address| SocketAddr::new(*address, DNS)).collect(),
        hosts,
        ingress: domain.clone(),
    };
    let mut extra_roots = extra_roots(file)?;
    extra_roots.extend(around.own.map(|own| own.certificate().clone()));
    let config = hood_gate::Config {
        profiles: file.ceilings(),
        default_profile: file.profile.clone(),
        resolver,
        tls: TlsConfig { authority: around.authority, extra_roots },
        ingress: domain.map(|domain| Ingress { domain, to: reachable(around.listen) }),
    };
    Gate::start(config, around.sink, around.secrets).context("the gate cannot start")
}

fn extra_roots(file: &config::Gate) -> Result<Vec<CertificateDer<'static>>> {
    let Some(path) = &file.extra_ca else { return Ok(Vec::new()) };
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .with_context(|| format!("`gate.extra_ca`: no certificates in {}", path.display()))
}

/// A server that listens on every address is reached on loopback.
fn reachable(listen: SocketAddr) -> SocketAddr {
    match listen {
        SocketAddr::V4(at) if at.ip().is_unspecified() => ([127, 0, 0, 1], at.port()).into(),
        SocketAddr::V6(at) if at.ip().is_unspecified() => (std::net::Ipv6Addr::LOCALHOST, at.port()).into(),
        at => at,
    }
}

impl ports::Gate for Gated {
    fn check(&self, policy: &Policy) -> Result<Vec<String>, String> {
        self.0.check(policy)
    }

    fn open(&self, record: &Record, outlets: Outlets) {
        let whose = Whose { sandbox: record.id.to_string(), team: record.team.0.clone() };
        self.0.open(whose, Policy::clone(&record.policy), outlets);
    }

    fn enforce(&self, record: &Record) {
        self.0.enforce(record.id.as_str(), Policy::clone(&record.policy));
    }

    fn close(&self, id: &SandboxId) {
        self.0.close(id.as_str());
    }
}
