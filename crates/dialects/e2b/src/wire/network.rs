//! A network policy as clients write it. It is noted and shown again; this build lets nothing out at all.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `network` of a create call.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
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
    /// Rules, proxies, resolvers: kept as they came.
    #[serde(flatten)]
    rest: Map<String, Value>,
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
}
