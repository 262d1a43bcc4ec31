//! Whom the resolver asks.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hood_policy::Name;

/// Where hosts say which servers they ask. Read once, at the start.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// The port of name servers.
pub(super) const PORT: u16 = 53;

/// No more servers are asked than the C library asks.
const SERVERS: usize = 3;

/// What hosts of this server's own sandboxes resolve to, inside. Nobody has it (RFC 7600 is not in use here): the gate
/// knows it and carries such connections to the server's own listener.
pub const INGRESS_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 3);

/// How names are resolved.
#[derive(Debug, Clone, Default)]
pub struct ResolverConfig {
    /// Servers to ask, in this order. Empty for those of the host (`/etc/resolv.conf`).
    pub servers: Vec<SocketAddr>,
    /// Names that are answered without asking anybody.
    pub hosts: BTreeMap<Name, Vec<IpAddr>>,
    /// The domain below which sandboxes have names of the form `<port>-<id>`. These are answered with
    /// [`INGRESS_ADDRESS`]; no other name below it is known.
    pub ingress: Option<Name>,
}

/// The resolver cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ResolverError {
    /// The host's servers cannot be read.
    #[error(
        "cannot read `{RESOLV_CONF}`, which names the host's name servers; name some in `gate.dns_servers` of the \
         configuration"
    )]
    Host(#[source] io::Error),
}

impl ResolverConfig {
    /// The addresses of a name that is answered without asking anybody; empty for one that is known not to exist.
    pub(super) fn known(&self, name: &Name) -> Option<Vec<IpAddr>> {
        if let Some(addresses) = self.hosts.get(name) {
            return Some(addresses.clone());
        }
        let text = name.as_str();
        if text == "localhost" || text.ends_with(".localhost") {
            return Some(Vec::new());
        }
        let below = text.strip_suffix(self.ingress.as_ref()?.as_str())?;
        let Some(label) = below.strip_suffix('.') else { return below.is_empty().then(Vec::new) };
        Some(if is_sandbox(label) { vec![INGRESS_ADDRESS.into()] } else { Vec::new() })
    }

    /// The servers that were named, or those of the host.
    pub(super) fn servers(&self) -> Result<Vec<SocketAddr>, ResolverError> {
        if !self.servers.is_empty() {
            return Ok(self.servers.clone());
        }
        match std::fs::read_to_string(RESOLV_CONF) {
            Ok(text) => Ok(name_servers(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(name_servers("")),
            Err(error) => Err(ResolverError::Host(error)),
        }
    }
}

/// Whether a label has the form `<port>-<id>`.
fn is_sandbox(label: &str) -> bool {
    label.split_once('-').is_some_and(|(port, id)| {
        port.parse::<u16>().is_ok_and(|port| port != 0)
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && !id.is_empty()
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// The `nameserver` lines of a resolv.conf (man 5 resolv.conf). Without any, the host itself is asked.
fn name_servers(text: &str) -> Vec<SocketAddr> {
    let address = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let is_server = words.next() == Some("nameserver");
        words.next().filter(|_| is_server)?.parse::<IpAddr>().ok()
    };
    let mut servers: Vec<_> = text.lines().filter_map(address).map(|ip| (ip, PORT).into()).collect();
    servers.truncate(SERVERS);
    if servers.is_empty() {
        servers.push((Ipv4Addr::LOCALHOST, PORT).into());
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_server_are_those_of_its_sandboxes_and_no_others() {
        let own: IpAddr = "10.1.2.3".parse().unwrap();
        let config = ResolverConfig {
            hosts: BTreeMap::from([("registry.corp.example".parse().unwrap(), vec![own])]),
            ingress: Some("sandbox.example".parse().unwrap()),
            ..ResolverConfig::default()
        };
        let known = |name: &str| config.known(&name.parse().unwrap());
        assert_eq!(known("3000-abc1.sandbox.example"), Some(vec![INGRESS_ADDRESS.into()]));
        for nobody in ["api", "0-abc", "99999-abc", "80-", "80-a.b", "80-a_b"] {
            assert_eq!(known(&format!("{nobody}.sandbox.example")), Some(Vec::new()), "{nobody}");
        }
        assert_eq!(known("sandbox.example"), Some(Vec::new()));
        assert_eq!(known("localhost"), Some(Vec::new()));
        assert_eq!(known("80-abc.notsandbox.example"), None);
        assert_eq!(known("registry.corp.example"), Some(vec![own]));
        assert_eq!(known("example.com"), None);
    }

    #[test]
    fn servers_are_read_as_the_c_library_reads_them() {
        let text = "# nameserver 1.1.1.1\nsearch x\nnameserver 9.9.9.9 # mine\nnameserver\t2620:fe::fe\nnameserver x\n";
        assert_eq!(name_servers(text), ["9.9.9.9:53".parse().unwrap(), "[2620:fe::fe]:53".parse().unwrap()]);
        assert_eq!(name_servers("options ndots:1"), ["127.0.0.1:53".parse().unwrap()]);
        assert_eq!(name_servers(&"nameserver 1.1.1.1\n".repeat(9)).len(), 3);
    }
}
