//! What a gate is started with.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hood_policy::{Ceiling, Name, Range};

use crate::dns::{INGRESS_ADDRESS, ResolverConfig, ResolverError};
use crate::tls::{TlsConfig, TlsError};

/// What the server's owner decides.
#[derive(Debug)]
pub struct Config {
    /// What no sandbox of a profile exceeds, by the profile's name.
    pub profiles: BTreeMap<String, Ceiling>,
    /// Which of them bounds sandboxes whose policy names none.
    pub default_profile: String,
    /// How names are resolved.
    pub resolver: ResolverConfig,
    /// How the TLS of hosts with rules is opened.
    pub tls: TlsConfig,
    /// How sandboxes reach each other's public hosts.
    pub ingress: Option<Ingress>,
}

/// The way from a sandbox to the hosts `<port>-<id>.<domain>` of this server, as anybody on the internet reaches them.
#[derive(Debug, Clone)]
pub struct Ingress {
    /// The server's domain.
    pub domain: Name,
    /// Where the server listens.
    pub to: SocketAddr,
}

/// The gate cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The default profile is not among the profiles.
    #[error("the default profile `{0}` is not among the profiles of the configuration")]
    NoProfile(String),
    /// Names cannot be resolved.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// TLS cannot be opened.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Config {
    /// The profiles as the gate uses them: the address that stands for the server's own sandboxes is open in each.
    pub(crate) fn ceilings(&self) -> BTreeMap<String, std::sync::Arc<Ceiling>> {
        let opened = |ceiling: &Ceiling| {
            let mut ceiling = ceiling.clone();
            if self.ingress.is_some() {
                ceiling.open.push(Range::one(INGRESS_ADDRESS.into()));
            }
            std::sync::Arc::new(ceiling)
        };
        self.profiles.iter().map(|(name, ceiling)| (name.clone(), opened(ceiling))).collect()
    }
}

impl Ingress {
    /// Whether the name is that of a port of a sandbox: `<port>-<id>` and the domain.
    pub(crate) fn serves(&self, name: &Name) -> bool {
        let Some(label) = name.as_str().strip_suffix(self.domain.as_str()).and_then(|l| l.strip_suffix('.'))
        else {
            return false;
        };
        label.split_once('-').is_some_and(|(port, id)| {
            port.parse::<u16>().is_ok_and(|port| port != 0)
                && !id.is_empty()
                && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_of_sandboxes_are_ingress() {
        let ingress =
            Ingress { domain: "hood.test".parse().expect("a name"), to: ([127, 0, 0, 1], 1).into() };
        let serves = |name: &str| ingress.serves(&name.parse().expect("a name"));
        assert!(serves("8080-iabc1.hood.test"));
        for other in [
            "api.hood.test",
            "hood.test",
            "8080-iabc1.xhood.test",
            "0-iabc1.hood.test",
            "a.8080-iabc1.hood.test",
            "8080-.hood.test",
        ] {
            assert!(!serves(other), "{other}");
        }
    }
}
