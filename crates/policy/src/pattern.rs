//! Which names a line of a policy means.

use std::fmt;
use std::str::FromStr;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use serde::{Deserialize, Serialize};

use crate::{Name, ParseNameError, limits};

/// A name, or a `*.` and a name: every name below it, not itself.
///
/// Names outside ASCII are mapped to their `xn--` form (UTS 46), in which they are kept and shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pattern {
    /// Exactly this one.
    Exact(Name),
    /// Everything below it.
    Below(Name),
}

// === impl Pattern ===

impl Pattern {
    /// Whether it means this name.
    pub fn matches(&self, name: &Name) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Below(parent) => name.is_below(parent),
        }
    }

    /// Whether it means every name that the other means.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Exact(name)) => self.matches(name),
            (Self::Below(ours), Self::Below(theirs)) => ours == theirs || theirs.is_below(ours),
            (Self::Exact(_), Self::Below(_)) => false,
        }
    }

    /// Whether there may be a name that both mean.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }

    /// How closely it says what it means: a name before any pattern, a longer pattern before a shorter one.
    pub(crate) fn rank(&self) -> (bool, usize) {
        match self {
            Self::Exact(name) => (true, name.as_str().len()),
            Self::Below(parent) => (false, parent.as_str().len()),
        }
    }
}

impl FromStr for Pattern {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (parent, rest) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
        // Mapping can shorten a text, but not from a length like this.
        if rest.len() > limits::NAME_BYTES * 4 {
            return Err(ParseNameError::new(text, "its length must be 1 to 253"));
        }
        let mapped = Uts46::new()
            .to_ascii(rest.as_bytes(), AsciiDenyList::EMPTY, Hyphens::Allow, DnsLength::Ignore)
            .map_err(|_| ParseNameError::new(text, "it has no `xn--` form, or a wrong one"))?;
        let name = mapped.parse().map_err(|error: ParseNameError| ParseNameError::new(text, error.why))?;
        Ok(if parent { Self::Below(name) } else { Self::Exact(name) })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().expect(text)
    }

    fn name(text: &str) -> Name {
        text.parse().expect(text)
    }

    #[test]
    fn a_wildcard_means_what_lies_below_whole_labels() {
        let below = pattern("*.Example.com.");
        for fits in ["a.example.com", "a.b.example.com"] {
            assert!(below.matches(&name(fits)), "{fits}");
        }
        for other in ["example.com", "aexample.com", "example.com.evil.net", "a-example.com", "com"] {
            assert!(!below.matches(&name(other)), "{other}");
        }
        assert!(!pattern("example.com").matches(&name("a.example.com")));
    }

    #[test]
    fn names_outside_ascii_are_kept_in_ascii_and_no_lookalike_is_equal() {
        assert_eq!(pattern("Bücher.example").to_string(), "xn--bcher-kva.example");
        assert_eq!(pattern("*.bücher.example").to_string(), "*.xn--bcher-kva.example");
        assert_eq!(
            pattern("ａllowed。com"),
            pattern("allowed.com"),
            "full width is the same name to everybody"
        );
        let cyrillic = pattern("аllowed.com");
        assert!(cyrillic != pattern("allowed.com") && cyrillic.to_string().starts_with("xn--"));
        assert!(!cyrillic.matches(&name("allowed.com")));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let long = "ü".repeat(3_000);
        for bad in [
            "*",
            "*.",
            "*.*.com",
            "a.*.com",
            "a*.com",
            "**.com",
            "*com",
            "",
            "*.1",
            "*.0.0.1",
            "１２７.０.０.１",
            "＊.com",
            "a\0.com",
            "xn--a-.com",
            "xn--\u{fc}.com",
            "a b.com",
            "http://a.com",
            "a.com:443",
            "a.com/",
            "℀.com",
            &long,
        ] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad:?}");
        }
        let error = "*".parse::<Pattern>().expect_err("refused").to_string();
        assert!(error.contains("as in `*.example.com`"), "{error}");
    }

    #[test]
    fn covering_and_overlapping() {
        let (wide, narrow, one) =
            (pattern("*.example.com"), pattern("*.a.example.com"), pattern("b.example.com"));
        assert!(wide.covers(&narrow) && wide.covers(&one) && wide.covers(&wide) && one.covers(&one));
        assert!(!narrow.covers(&wide) && !one.covers(&wide) && !wide.covers(&pattern("example.com")));
        assert!(narrow.overlaps(&wide) && !narrow.overlaps(&one));
    }
}
