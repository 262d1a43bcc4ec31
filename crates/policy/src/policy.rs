//! What one sandbox may do, and what no sandbox of a profile may exceed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Pattern, Range};

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
