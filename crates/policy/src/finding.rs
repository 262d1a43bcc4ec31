//! What is wrong with a policy, or odd about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Pattern;

/// One thing that is wrong with a policy, or odd about it. Printed as one sentence that names the place, the limit
/// and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// What it is, with the limit where there is one.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The policy cannot be used.
    Error,
    /// It works, perhaps not as it was meant.
    Warning,
}

/// A part of a policy or of a ceiling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// `base`.
    Base,
    /// A line of `allow`, counted from 0; the list itself without one.
    Allow(Option<usize>),
    /// A line of `deny`, counted from 0; the list itself without one.
    Deny(Option<usize>),
    /// `dns_servers`.
    DnsServers,
    /// `proxy`.
    Proxy,
    /// The rule of a host; all of them without one.
    Host(Option<Pattern>),
    /// `budget`.
    Budget,
    /// `profile`.
    Profile,
    /// `log_only`.
    LogOnly,
    /// A range of a ceiling's `open`, counted from 0.
    Open(usize),
}

// === impl Finding ===

impl Finding {
    pub(crate) fn error(place: Place, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { severity: Severity::Error, place, what: what.into(), hint: hint.into() }
    }

    pub(crate) fn warning(place: Place, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, place, what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}; {}", self.place, self.what, self.hint)
    }
}

// === impl Place ===

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.write_str("base"),
            Self::Allow(None) => f.write_str("allow"),
            Self::Allow(Some(line)) => write!(f, "allow[{line}]"),
            Self::Deny(None) => f.write_str("deny"),
            Self::Deny(Some(line)) => write!(f, "deny[{line}]"),
            Self::DnsServers => f.write_str("dns_servers"),
            Self::Proxy => f.write_str("proxy"),
            Self::Host(None) => f.write_str("hosts"),
            Self::Host(Some(host)) => write!(f, "hosts[{host}]"),
            Self::Budget => f.write_str("budget"),
            Self::Profile => f.write_str("profile"),
            Self::LogOnly => f.write_str("log_only"),
            Self::Open(line) => write!(f, "open[{line}]"),
        }
    }
}
