//! Ids: the only names that cross from engine to driver.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Characters of an id after its first.
const RANDOM: usize = 20;

const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Declares a kind of id: one letter that tells it from the other kinds, and twenty lower-case letters or digits.
///
/// The alphabet is fixed by the protocol: ids become DNS labels between dashes (reference `e2b.md` 1.3), so neither a
/// dash nor an upper-case letter may occur. It also makes an id safe as a file, cgroup and host name.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal, $error:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        /// The text is not an id of this kind.
        #[derive(Debug, thiserror::Error)]
        #[error("`{0}` is not a {what} id: `{letter}` followed by {RANDOM} lower-case letters or digits", what = $what, letter = $letter)]
        pub struct $error(String);

        impl $name {
            /// Length of an id in characters.
            pub const LEN: usize = 1 + RANDOM;

            /// An id from twenty random bytes.
            pub fn from_random(bytes: [u8; RANDOM]) -> Self {
                let mut id = String::with_capacity(Self::LEN);
                id.push($letter);
                id.extend(bytes.iter().map(|b| char::from(ALPHABET[usize::from(b % 32)])));
                Self(id)
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = $error;

            fn from_str(s: &str) -> Result<Self, Self::Err> {
                let fits = s.len() == Self::LEN
                    && s.starts_with($letter)
                    && s.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
                if fits { Ok(Self(s.to_owned())) } else { Err($error(s.chars().take(64).collect())) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(s: String) -> Result<Self, Self::Error> {
                s.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A sandbox.
    SandboxId, 'i', ParseIdError, "sandbox"
);

id!(
    /// What a sandbox had written at one moment, kept.
    SnapshotId, 's', ParseSnapshotIdError, "snapshot"
);

id!(
    /// A volume: files that sandboxes share and that outlive them.
    VolumeId, 'v', ParseVolumeIdError, "volume"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_parse_as_their_own_kind_alone() {
        let id = SandboxId::from_random([255; 20]);
        assert_eq!(id.as_str().parse::<SandboxId>().expect("own output"), id);
        assert!(id.as_str().parse::<SnapshotId>().is_err());
        assert!(SnapshotId::from_random([0; 20]).as_str().parse::<SandboxId>().is_err());
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
        assert_eq!(
            "x".parse::<SandboxId>().expect_err("no id").to_string(),
            "`x` is not a sandbox id: `i` followed by 20 lower-case letters or digits"
        );
    }
}
