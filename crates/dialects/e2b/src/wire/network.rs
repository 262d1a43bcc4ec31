//! A network policy as clients write it (reference `e2b.md` 2.4). How it is understood: [`super::policy`].

use std::collections::BTreeMap;

use hood_policy::{HttpRule, ProxyTls};
use serde::{Deserialize, Serialize};

/// `network` of a create call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Network {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_public_traffic: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mask_request_host: Option<String>,
    #[serde(flatten)]
    pub(crate) egress: Egress,
}

/// The part that `PUT …/network` replaces as a whole.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Egress {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_out: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deny_out: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dns_servers: Option<Vec<String>>,
    #[serde(rename = "egressProxy", skip_serializing_if = "Option::is_none")]
    pub(crate) proxy: Option<EgressProxy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<BTreeMap<String, Vec<Rule>>>,
    /// Our extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hood: Option<Extension>,
}

/// A SOCKS5 proxy on the way out.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EgressProxy {
    pub(crate) address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) password: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<EgressProxyTls>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EgressProxyTls {
    #[serde(default)]
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_cert: Option<String>,
}

/// What is done to requests to one host.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct Rule {
    #[serde(default)]
    pub(crate) transform: Option<Headers>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct Headers {
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
}

/// What E2B's policy has no words for. Being ours, unknown names in it are mistakes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Extension {
    /// A profile of the server's configuration, the most that this sandbox may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<String>,
    /// Requests that are allowed, by host.
    pub(crate) requests: BTreeMap<String, Vec<HttpRule>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_out: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_in: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) connections_per_second: Option<u32>,
    /// How long one connection may live, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) connection_seconds: Option<u64>,
    /// Refuse nothing, record what would be refused.
    pub(crate) log_only: bool,
}

/// The body of `PUT …/network`.
#[derive(Debug, Deserialize)]
pub(crate) struct NetworkUpdate {
    pub(crate) allow_internet_access: Option<bool>,
    #[serde(flatten)]
    pub(crate) egress: Egress,
}

// === impl Network ===

impl Network {
    /// Ports other than envd's need a token.
    pub(crate) fn is_private(&self) -> bool {
        self.allow_public_traffic == Some(false)
    }

    /// The same ingress with another egress.
    pub(crate) fn updated(current: Option<Self>, egress: Egress) -> Self {
        let (allow_public_traffic, mask_request_host) =
            current.map(|now| (now.allow_public_traffic, now.mask_request_host)).unwrap_or_default();
        Self { allow_public_traffic, mask_request_host, egress }
    }

    /// As it is shown to whoever asks: without the proxy's password.
    pub(crate) fn shown(mut self) -> Self {
        if let Some(proxy) = &mut self.egress.proxy {
            proxy.password = None;
        }
        self
    }
}

// === impl EgressProxyTls ===

impl EgressProxyTls {
    pub(crate) fn into_policy(self) -> Option<ProxyTls> {
        self.enabled.then_some(ProxyTls { server_name: self.server_name, ca: self.ca_cert })
    }
}
