//! The one decision.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{Base, Ceiling, Name, Policy, Target};

/// A connection that a sandbox tries to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// Where to, as the kernel saw it.
    pub to: SocketAddr,
    /// The host that the connection's first bytes name (TLS SNI, HTTP Host); `None` where they name none.
    pub name: Option<&'a Name>,
    /// Our resolver has answered this address for that name, to this sandbox, and the answer still counts.
    pub looked_up: bool,
    /// What its first bytes speak.
    pub protocol: Protocol,
}

/// What a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Neither of the others, or not known yet.
    Tcp,
    /// TLS.
    Tls,
    /// HTTP without TLS.
    Http,
    /// A question to a name server.
    Dns,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Let it through.
    Allow(Reason),
    /// Refuse it.
    Deny(Reason),
    /// The name decides, and the first bytes have not been read yet: read them and ask again.
    NeedsName,
}

/// Which rule decided. Its text is what the audit shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A line of the allow list, as written.
    Allowed(String),
    /// A line of the deny list, as written.
    Denied(String),
    /// No list named it.
    Base,
    /// The range is closed in every policy.
    ClosedRange,
    /// The profile of the server's configuration forbids it.
    Ceiling,
    /// The name was not looked up through our resolver, or for another address.
    NotLookedUp,
}

/// Whether this sandbox may open this connection.
pub fn decide(policy: &Policy, ceiling: &Ceiling, attempt: &Attempt<'_>) -> Verdict {
    let _ = (ceiling, attempt.looked_up);
    let address = attempt.to.ip();
    for allow in &policy.allow {
        if !allow.ports.is_empty() && !allow.ports.contains(&attempt.to.port()) {
            continue;
        }
        match &allow.to {
            Target::Range(range) if range.contains(address) => {
                return Verdict::Allow(Reason::Allowed(range.to_string()));
            }
            Target::Range(_) | Target::Name(_) => {}
        }
    }
    match policy.base {
        Base::Open => Verdict::Allow(Reason::Base),
        Base::Closed => Verdict::Deny(Reason::Base),
    }
}
