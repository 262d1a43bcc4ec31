//! The one decision.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::closed::{closed_under, spellings};
use crate::{Base, Ceiling, HostRule, Name, Policy, Target};

/// Ports at which a request to a host with a rule is looked for where nothing else makes us wait for a name. A
/// program that waits for its server to speak first (SSH, SMTP, MySQL) would stand still for as long as we wait.
pub const HTTP_PORTS: [u16; 6] = [80, 443, 3000, 8000, 8080, 8443];

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
    /// Whether `name` is the last word. Once they are read, [`decide`] never answers [`Verdict::NeedsName`].
    pub first_bytes: FirstBytes,
}

/// Whether a connection's first bytes have been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstBytes {
    /// Not yet: its name is not known.
    Unread,
    /// Yes, or there were none in time.
    Read,
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
    /// Let it through, and record that it would have been refused: the policy only logs.
    WouldDeny(Reason),
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
    /// Closed in every policy; which kind of address it is, in a word.
    ClosedRange(String),
    /// The profile of the server's configuration forbids it.
    Ceiling,
    /// The name was not looked up through our resolver, or for another address.
    NotLookedUp,
    /// A name had to allow it, and it gave none.
    NoName,
    /// No request rule of this host (as its rule writes it) allows the request.
    Request(String),
    /// The path can be read in two ways.
    AmbiguousPath,
    /// Questions for records of this type are not passed on.
    RecordType(String),
    /// It was a packet of this protocol (the number in its IP header) and no connection.
    NoConnection(u8),
    /// More of them than one sandbox may have, at once or in a second.
    TooMany,
}

/// Whether this sandbox may open this connection.
///
/// Closed ranges come first, then the ceiling, then the policy; the first that refuses has decided. Only
/// [`Ceiling::open`] opens a closed range, and then both policies must still allow it. A policy decides by the first
/// line of this table that fits:
///
/// | # | the connection | base closed | base open |
/// |---|---|---|---|
/// | 1 | names a host that has a rule, but for another address than was looked up | deny | deny |
/// | 2 | names a host that an allow line names, looked up | allow | allow |
/// | 3 | goes to an address that an allow line names | allow | allow |
/// | 4 | could still name a host that an allow line names | needs name | needs name where a deny line names the address |
/// | 5 | goes to an address that a deny line names | deny | deny |
/// | 6 | names a looked-up host, or none of our rules limits requests | deny | allow |
/// | 7 | could still name one | deny | needs name |
/// | 8 | anything else | deny | deny |
///
/// Lines with ports speak of these ports only. Where lines 3 and 6 allow at once, the name is still asked for when a
/// rule for a host may apply and the port is one of [`HTTP_PORTS`]: the gate must know whose requests to change. What
/// then gives no name is let through unchanged: a transform adds, so leaving it out opens nothing. Request rules take
/// away, hence lines 6 to 8: with an open base and such rules, a connection that keeps its host to itself could be
/// one to the host they limit. A line that allows the address itself (3) is believed.
///
/// Line 1 holds even where the policy only logs: a secret must not go to whoever calls himself by the right name. So
/// do closed ranges and the ceiling (unless the ceiling itself only logs).
pub fn decide(policy: &Policy, ceiling: &Ceiling, attempt: &Attempt<'_>) -> Verdict {
    if attempt.to.port() == 0 {
        return Verdict::Deny(Reason::ClosedRange("port 0".to_owned()));
    }
    if let Some(word) = closed_under(attempt.to.ip(), ceiling) {
        return Verdict::Deny(Reason::ClosedRange(word.to_owned()));
    }
    let above = match judge(&ceiling.policy, attempt) {
        Verdict::Deny(_) => return Verdict::Deny(Reason::Ceiling),
        Verdict::WouldDeny(_) => Verdict::WouldDeny(Reason::Ceiling),
        other => other,
    };
    match (above, judge(policy, attempt)) {
        (_, Verdict::Deny(reason)) => Verdict::Deny(reason),
        (Verdict::NeedsName, _) | (_, Verdict::NeedsName) => Verdict::NeedsName,
        (Verdict::WouldDeny(reason), _) => Verdict::WouldDeny(reason),
        (_, verdict) => verdict,
    }
}

/// What one policy says, without regard to closed ranges.
fn judge(policy: &Policy, attempt: &Attempt<'_>) -> Verdict {
    let unread = attempt.first_bytes == FirstBytes::Unread;
    let ruled = attempt.name.and_then(|name| policy.host_rule(name));
    if ruled.is_some() && !attempt.looked_up {
        return Verdict::Deny(Reason::NotLookedUp);
    }
    let verdict = match lists(policy, attempt) {
        Verdict::Deny(reason) if policy.log_only => Verdict::WouldDeny(reason),
        other => other,
    };
    let may_be_ruled = !policy.hosts.is_empty() && HTTP_PORTS.contains(&attempt.to.port());
    match verdict {
        Verdict::Allow(_) | Verdict::WouldDeny(_) if unread && may_be_ruled => Verdict::NeedsName,
        other => other,
    }
}

/// Lines 2 to 8 of the table.
fn lists(policy: &Policy, attempt: &Attempt<'_>) -> Verdict {
    let unread = attempt.first_bytes == FirstBytes::Unread;
    let (address, port) = (attempt.to.ip(), attempt.to.port());
    let lines = || policy.allow.iter().filter(|line| line.speaks_of(port));
    let named = attempt.name.and_then(|name| lines().find(|line| line.names(name)));
    if let (Some(line), true) = (named, attempt.looked_up) {
        return Verdict::Allow(Reason::Allowed(line.to.to_string()));
    }
    if let Some(line) =
        lines().find(|line| matches!(&line.to, Target::Range(range) if range.contains(address)))
    {
        return Verdict::Allow(Reason::Allowed(line.to.to_string()));
    }
    let names = lines().any(|line| matches!(line.to, Target::Name(_)));
    let denied = policy.deny.iter().find(|range| spellings(address).any(|address| range.contains(address)));
    let refusal = match (named, denied) {
        (Some(_), _) => Reason::NotLookedUp,
        (None, Some(range)) => Reason::Denied(range.to_string()),
        (None, None) if names && !unread && attempt.name.is_none() => Reason::NoName,
        (None, None) => Reason::Base,
    };
    if policy.base == Base::Closed || denied.is_some() {
        return if unread && names { Verdict::NeedsName } else { Verdict::Deny(refusal) };
    }
    let limited = policy.hosts.iter().any(HostRule::limits_requests);
    match (attempt.name, attempt.looked_up) {
        _ if !limited => Verdict::Allow(Reason::Base),
        (Some(_), true) => Verdict::Allow(Reason::Base),
        _ if unread => Verdict::NeedsName,
        (Some(_), false) => Verdict::Deny(Reason::NotLookedUp),
        (None, _) => Verdict::Deny(Reason::NoName),
    }
}

// === impl Reason ===

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allowed(line) => write!(f, "allowed by `{line}`"),
            Self::Denied(line) => write!(f, "denied by `{line}`"),
            Self::Base => f.write_str("no rule names it"),
            Self::ClosedRange(word) => write!(f, "closed in every policy: {word}"),
            Self::Ceiling => f.write_str("beyond the server's profile"),
            Self::NotLookedUp => f.write_str("this address was not looked up for that name"),
            Self::NoName => f.write_str("it names no host, and only a name could allow it"),
            Self::Request(host) => write!(f, "no request rule of `{host}` allows it"),
            Self::AmbiguousPath => f.write_str("its path can be read in two ways"),
            Self::RecordType(kind) => write!(f, "questions for `{kind}` records are not passed on"),
            Self::NoConnection(17) => f.write_str("UDP is not carried"),
            Self::NoConnection(protocol) => write!(f, "packets of IP protocol {protocol} are not carried"),
            Self::TooMany => f.write_str("more than one sandbox may have"),
        }
    }
}
