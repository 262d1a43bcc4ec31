//! What one sandbox may do, and what no sandbox of a profile may exceed.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Name, Pattern, Range};

/// What one sandbox may reach. The default reaches nothing.
///
/// Order: what [`Policy::allow`] names is allowed, else what [`Policy::deny`] names is denied, else [`Policy::base`]
/// says. Closed ranges are closed whatever a policy says; only a [`Ceiling`] opens them, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// What no list names.
    pub base: Base,
    /// Allowed, whatever `deny` says.
    pub allow: Vec<Allow>,
    /// Denied unless `allow` names it.
    pub deny: Vec<Range>,
    /// Name servers that our resolver asks for this sandbox; empty for the server's own.
    pub dns_servers: Vec<IpAddr>,
    /// Where connections go through, if not straight.
    pub proxy: Option<Socks5>,
    /// What is done to requests to a host; the TLS of these hosts is opened at the gate.
    pub hosts: Vec<HostRule>,
    /// How much and how fast.
    pub budget: Budget,
    /// Which profile of the server's configuration bounds it; `None` for the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Lets through what it would refuse, and records it as refused. Closed ranges stay closed.
    pub log_only: bool,
}

/// What happens to what no list names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// It is refused.
    #[default]
    Closed,
    /// It is let through.
    Open,
}

/// One thing that is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allow {
    /// Where to.
    pub to: Target,
    /// Which ports; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
}

/// Where a connection goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Addresses.
    Range(Range),
    /// Hosts by name.
    Name(Pattern),
}

/// A SOCKS5 proxy on the way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Socks5 {
    /// `host:port`.
    pub address: String,
    /// Who asks, where the proxy wants to know.
    #[serde(default)]
    pub username: Option<String>,
    /// The password.
    #[serde(default)]
    pub password: Option<String>,
    /// TLS to the proxy itself: the name to expect, and a CA in PEM if not a public one.
    #[serde(default)]
    pub tls: Option<ProxyTls>,
}

/// TLS to a proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyTls {
    /// The name in its certificate, if not that of the address.
    pub server_name: Option<String>,
    /// The CA's certificate in PEM, if not a public one.
    pub ca: Option<String>,
}

/// What is done to requests to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRule {
    /// Which hosts. An exact name wins over a pattern, a longer pattern over a shorter one.
    pub host: Pattern,
    /// What is changed.
    #[serde(default)]
    pub transform: Transform,
    /// Which requests are allowed; empty for all. A rule grants no access by itself.
    ///
    /// Methods and paths are limited, not what a server makes of a body, a query or a header (`_method=DELETE`). And
    /// they are limited on connections that name this host: a server that answers for two names at one address may
    /// be asked for this one on a connection to the other, which nobody looks into. Where such a neighbour is
    /// allowed, give it a rule, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<HttpRule>,
}

/// Changes of a request on its way out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Transform {
    /// Headers set, replacing those of the same name. Values may hold `${e2b.secrets.NAME}`.
    pub headers: BTreeMap<String, String>,
}

/// Requests that are allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRule {
    /// Methods; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// The path's beginning, whole segments; `/` for all.
    pub path: String,
}

/// How much and how fast. `None` is the server's own ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Bytes out over the sandbox's life.
    pub bytes_out: Option<u64>,
    /// Bytes in over the sandbox's life.
    pub bytes_in: Option<u64>,
    /// Bytes a second, each way.
    pub bytes_per_second: Option<u64>,
    /// New connections a second.
    pub connections_per_second: Option<u32>,
    /// How long one connection may live.
    pub connection_time: Option<Duration>,
}

/// What no policy exceeds: a profile of the server's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ceiling {
    /// What a sandbox may reach at most; the sandbox's own policy decides within.
    pub policy: Policy,
    /// Closed ranges opened, by name.
    pub open: Vec<Range>,
}

impl Default for Ceiling {
    /// Everything public, no closed range.
    fn default() -> Self {
        Self { policy: Policy { base: Base::Open, ..Policy::default() }, open: Vec::new() }
    }
}

// === impl Policy ===

impl Policy {
    /// The rule for requests to this host: one that names it, else the longest pattern that means it. Rules are not
    /// merged.
    pub fn host_rule(&self, name: &Name) -> Option<&HostRule> {
        let fitting = self.hosts.iter().filter(|rule| rule.host.matches(name));
        fitting.max_by_key(|rule| rule.host.rank())
    }
}

// === impl Allow ===

impl Allow {
    /// Whether it speaks of connections to this port.
    pub(crate) fn speaks_of(&self, port: u16) -> bool {
        self.ports.is_empty() || self.ports.contains(&port)
    }

    /// Whether it names this host.
    pub(crate) fn names(&self, name: &Name) -> bool {
        matches!(&self.to, Target::Name(pattern) if pattern.matches(name))
    }
}

// === impl Target ===

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => range.fmt(f),
            Self::Name(pattern) => pattern.fmt(f),
        }
    }
}

// === impl HostRule ===

impl HostRule {
    /// Whether some requests to the host are refused.
    pub fn limits_requests(&self) -> bool {
        !self.requests.is_empty()
    }
}

// === impl Budget ===

impl Budget {
    /// The smaller of each pair: what counts for a sandbox under a ceiling.
    #[must_use]
    pub fn least(&self, other: &Self) -> Self {
        fn least<T: Ord>(ours: Option<T>, theirs: Option<T>) -> Option<T> {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
                (one, other) => one.or(other),
            }
        }
        Self {
            bytes_out: least(self.bytes_out, other.bytes_out),
            bytes_in: least(self.bytes_in, other.bytes_in),
            bytes_per_second: least(self.bytes_per_second, other.bytes_per_second),
            connections_per_second: least(self.connections_per_second, other.connections_per_second),
            connection_time: least(self.connection_time, other.connection_time),
        }
    }
}
