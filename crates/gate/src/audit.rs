//! What is recorded of each decision and of each connection's end.

use std::net::SocketAddr;
use std::time::Duration;

use hood_policy::{Protocol, Reason};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When it was decided, or when it ended.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// Which sandbox.
    pub sandbox: String,
    /// Whose sandbox.
    pub team: String,
    /// A number that the decision and the end of one connection share.
    pub connection: u64,
    /// What this entry tells.
    pub kind: Kind,
    /// The host by name, where one was seen.
    pub name: Option<String>,
    /// Where to; `None` for a question to our resolver.
    pub to: Option<SocketAddr>,
    /// What it spoke.
    pub protocol: Protocol,
    /// The request's method, where HTTP was seen.
    pub method: Option<String>,
    /// The request's path without its query, where HTTP was seen.
    pub path: Option<String>,
    /// Which rule decided.
    pub rule: Option<Reason>,
    /// Bytes that left the sandbox.
    pub bytes_out: u64,
    /// Bytes that came in.
    pub bytes_in: u64,
    /// How long it was open.
    #[serde(with = "millis")]
    pub duration: Duration,
}

/// What an entry tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was let through.
    Allowed,
    /// It was refused.
    Denied,
    /// It would have been refused, but the policy only logs.
    WouldDeny,
    /// A connection ended.
    Ended,
}

/// Where entries go. Must not block: the gate calls it on the path of connections.
pub trait Sink: Send + Sync {
    /// Takes one.
    fn record(&self, entry: Entry);
}

mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
