//! Host names, in one canonical spelling.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A host name: lower case, no trailing dot, labels of letters, digits, dashes and underscores (IDNA in its ASCII form).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// A name, or a `*.` and a name: every name below it, not itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pattern {
    /// Exactly this one.
    Exact(Name),
    /// Everything below it.
    Below(Name),
}

/// The text is no host name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no host name: {why}")]
pub struct ParseNameError {
    /// What was given, escaped and cut.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Pattern {
    /// Whether it means this name.
    pub fn matches(&self, name: &Name) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Below(parent) => {
                name.0.strip_suffix(parent.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
        }
    }
}

impl FromStr for Name {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = |why| ParseNameError { text: text.escape_debug().take(80).collect(), why };
        let trimmed = text.strip_suffix('.').unwrap_or(text);
        if trimmed.is_empty() || trimmed.len() > 253 {
            return Err(bad("its length must be 1 to 253"));
        }
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        if !trimmed.split('.').all(label) {
            return Err(bad("a label is 1 to 63 letters, digits, dashes or underscores"));
        }
        Ok(Self(trimmed.to_ascii_lowercase()))
    }
}

impl FromStr for Pattern {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("*.") {
            Some(parent) => parent.parse().map(Self::Below),
            None => text.parse().map(Self::Exact),
        }
    }
}

impl TryFrom<String> for Name {
    type Error = ParseNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Pattern {
    type Error = ParseNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => name.fmt(f),
            Self::Below(parent) => write!(f, "*.{parent}"),
        }
    }
}
