//! Signed file URLs (reference `e2b.md` 1.6).

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What a signature permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Write,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// The signature that E2B's SDKs would make. `expiration` is taken as it stands in the URL.
pub(super) fn of(
    path: &str,
    operation: Operation,
    user: &str,
    token: &str,
    expiration: Option<&str>,
) -> String {
    let mut text = format!("{path}:{}:{user}:{token}", operation.name());
    if let Some(expiration) = expiration {
        text.push(':');
        text.push_str(expiration);
    }
    format!("v1_{}", STANDARD_NO_PAD.encode(Sha256::digest(text)))
}

/// Compares in a time that does not depend on where they differ.
pub(super) fn same(expected: &str, given: &str) -> bool {
    bool::from(expected.as_bytes().ct_eq(given.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_sdks() {
        let token = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";
        let made = of("hello.txt", Operation::Read, "user", token, None);
        assert!(same(&made, "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E"), "{made}");
        assert!(!same(&made, &of("hello.txt", Operation::Write, "user", token, None)));
        assert!(!same(&made, &of("hello.txt", Operation::Read, "user", token, Some("1"))));
        assert!(!same(&made, ""));
    }
}
