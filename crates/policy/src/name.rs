//! Host names, in one canonical spelling.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;

/// A host name: lower case, no trailing dot, labels of letters, digits, dashes and underscores.
///
/// What a program sends is parsed by `from_str`, which takes ASCII and maps nothing but upper case: no spelling
/// becomes another name, so that the name we decide on is the one that its server reads. A name outside ASCII has its
/// `xn--` form here; that is also how it is shown, and how a Cyrillic `а` is told from a Latin one. Whoever writes
/// policies may write `bücher.example`: [`crate::Pattern`] maps it.
///
/// A name whose last label is a number in any base is refused, because many programs take it for an address
/// (`127.1`, `0x7f.1`, `2130706433`; the rule is that of the URL standard, "ends in a number").
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// The text is no host name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no host name: {why}")]
pub struct ParseNameError {
    /// What was given, escaped and cut.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

// === impl Name ===

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without its first label; `None` for one of a single label.
    pub fn parent(&self) -> Option<Self> {
        self.0.split_once('.').map(|(_, parent)| Self(parent.to_owned()))
    }

    /// Whether it lies below the other, and is not the other itself.
    pub(crate) fn is_below(&self, parent: &Self) -> bool {
        let rest = self.0.strip_suffix(parent.as_str());
        rest.is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

impl FromStr for Name {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        check(text).map_err(|why| ParseNameError::new(text, why))?;
        Ok(Self(text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase()))
    }
}

/// What is wrong with it.
fn check(text: &str) -> Result<(), &'static str> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.is_empty() || text.len() > limits::NAME_BYTES {
        return Err("its length must be 1 to 253");
    }
    if text.contains('*') {
        return Err("`*` stands for everything below a name, as in `*.example.com`, and for nothing else");
    }
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let mut labels = text.split('.');
    if !labels
        .clone()
        .all(|label| (1..=limits::LABEL_BYTES).contains(&label.len()) && label.bytes().all(is_fine))
    {
        return Err("a label is 1 to 63 letters, digits, dashes or underscores");
    }
    if labels.next_back().is_some_and(is_number) {
        return Err("it ends in a number, which many programs take for an address");
    }
    Ok(())
}

/// A number in decimal, octal or hexadecimal, as the URL standard's "ends in a number" has it.
fn is_number(label: &str) -> bool {
    let digits = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match digits {
        Some(hex) => hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
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

// === impl ParseNameError ===

impl ParseNameError {
    pub(crate) fn new(text: &str, why: &'static str) -> Self {
        Self { text: text.escape_debug().take(80).collect(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_a_name() {
        for (text, canonical) in [
            ("Example.COM", "example.com"),
            ("example.com.", "example.com"),
            ("_dmarc.example.com", "_dmarc.example.com"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
            ("localhost", "localhost"),
            ("0x.example", "0x.example"),
            ("1.example", "1.example"),
            ("0xyz", "0xyz"),
            ("r3---sn.example", "r3---sn.example"),
        ] {
            assert_eq!(text.parse::<Name>().expect(text).as_str(), canonical);
        }
    }

    #[test]
    fn what_is_no_name_or_two_names_is_refused() {
        let long = format!("{}.com", vec!["a".repeat(63); 4].join("."));
        for bad in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a..",
            "evil\0.allowed.com",
            "evil.com\0.allowed.com",
            "a b",
            "a\tb",
            "a\n",
            "a/b",
            "a:443",
            "a@b",
            "user@allowed.com",
            "a%2eb",
            "allowed.com%00",
            "[::1]",
            "*.com",
            "*",
            "a.*",
            &long,
            // Mapped by some, taken literally by others.
            "bücher.example",
            "аllowed.com",
            "allowed。com",
            "ａllowed.com",
            "allowed.com\u{200b}",
            "al\u{ad}lowed.com",
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "0x7f000001",
            "0X7F.0.0.1",
            "017700000001",
            "2130706433",
            "1.0x",
            "0x",
            "1.2.3.4.",
            "example.0x10",
            "a.09",
            "a\u{7f}",
            "a\\b",
            "a,b",
            "a;b",
            "a#b",
            "a?b",
        ] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_error_is_escaped_and_says_why() {
        let error = "evil\0.allowed.com".parse::<Name>().expect_err("refused").to_string();
        assert!(error.starts_with("`evil\\0.allowed.com` is no host name: a label is"), "{error}");
    }

    #[test]
    fn a_parent_is_what_follows_the_first_dot() {
        let name: Name = "a.b.example".parse().expect("a name");
        assert_eq!(name.parent().expect("there").as_str(), "b.example");
        assert!("localhost".parse::<Name>().expect("a name").parent().is_none());
    }
}
