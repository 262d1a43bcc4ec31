//! The id of a sandbox: the only name that crosses from engine to driver.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `i` and twenty lower-case letters or digits.
///
/// The alphabet is fixed by the protocol: ids become DNS labels between dashes (reference `e2b.md` 1.3), so neither a
/// dash nor an upper-case letter may occur. It also makes an id safe as a file, cgroup and host name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SandboxId(String);

/// The text is not an id.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a sandbox id: `i` followed by 20 lower-case letters or digits")]
pub struct ParseIdError(String);

impl SandboxId {
    /// Length of an id in characters.
    pub const LEN: usize = 21;

    /// An id from twenty random bytes.
    pub fn from_random(bytes: [u8; 20]) -> Self {
        const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let mut id = String::with_capacity(Self::LEN);
        id.push('i');
        id.extend(bytes.iter().map(|b| char::from(ALPHABET[usize::from(b % 32)])));
        Self(id)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SandboxId {
    type Err = ParseIdError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let fits = s.len() == Self::LEN
            && s.starts_with('i')
            && s.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if fits { Ok(Self(s.to_owned())) } else { Err(ParseIdError(s.chars().take(64).collect())) }
    }
}

impl TryFrom<String> for SandboxId {
    type Error = ParseIdError;

    fn try_from(s: String) -> Result<Self, Self::Error> {
        s.parse()
    }
}

impl From<SandboxId> for String {
    fn from(id: SandboxId) -> Self {
        id.0
    }
}

impl fmt::Display for SandboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_parse() {
        let id = SandboxId::from_random([255; 20]);
        assert_eq!(id.as_str().parse::<SandboxId>().expect("own output"), id);
    }

    #[test]
    fn what_could_escape_a_path_or_a_label_is_refused() {
        for bad in [
            "",
            "i",
            "../../../../etc/passwd",
            "iAAAAAAAAAAAAAAAAAAAA",
            "i-aaaaaaaaaaaaaaaaaaa",
            "xaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert!(bad.parse::<SandboxId>().is_err(), "{bad}");
        }
    }
}
