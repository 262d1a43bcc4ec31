//! Policies and attempts in short.

use std::net::SocketAddr;

use hood_policy::{Attempt, Ceiling, FirstBytes, Name, Policy, Protocol, Verdict, decide};

pub(crate) fn policy(json: &str) -> Policy {
    serde_json::from_str(json).expect(json)
}

pub(crate) fn ceiling(json: &str) -> Ceiling {
    serde_json::from_str(json).expect(json)
}

/// What is known of a connection's name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seen<'a> {
    /// Its first bytes have not been read.
    Nothing,
    /// They name nobody.
    NoName,
    /// They name this host, for whom the address was looked up.
    LookedUp(&'a str),
    /// They name this host, and the address is another.
    Claimed(&'a str),
}

/// What is decided about a connection under the ceiling that everybody has.
pub(crate) fn verdict(policy: &Policy, to: &str, seen: Seen<'_>) -> Verdict {
    under(policy, &Ceiling::default(), to, seen)
}

pub(crate) fn under(policy: &Policy, ceiling: &Ceiling, to: &str, seen: Seen<'_>) -> Verdict {
    let to: SocketAddr = to.parse().expect(to);
    let (name, looked_up, first_bytes) = match seen {
        Seen::Nothing => (None, false, FirstBytes::Unread),
        Seen::NoName => (None, false, FirstBytes::Read),
        Seen::LookedUp(name) => (Some(name), true, FirstBytes::Read),
        Seen::Claimed(name) => (Some(name), false, FirstBytes::Read),
    };
    let name: Option<Name> = name.map(|name| name.parse().expect(name));
    let attempt = Attempt { to, name: name.as_ref(), looked_up, protocol: Protocol::Tls, first_bytes };
    decide(policy, ceiling, &attempt)
}
