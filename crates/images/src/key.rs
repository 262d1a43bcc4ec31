//! The name of a layer: a hash of all that it is made from.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::recipe::Step;

/// Changes when the meaning of a step changes in a way that its inputs do not show.
const FORMAT: &str = "hood-layer-1";

/// SHA-256 over the key beneath, the step and its inputs; the layer's directory is named so.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LayerKey(String);

/// Something of `hood` that a step reads, by content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) name: &'a str,
    pub(crate) content: &'a [u8],
}

/// A text that is no key.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a layer key: 64 hexadecimal digits")]
pub struct NotAKey(String);

// === impl LayerKey ===

impl LayerKey {
    /// The key of the layer that `step` makes on top of `parent`.
    pub(crate) fn of(parent: Option<&Self>, step: &Step, inputs: &[Input<'_>]) -> Self {
        // Serde writes the fields of a struct in their order and our maps are sorted, so the JSON is canonical.
        let step = serde_json::to_vec(step).expect("a step is strings and numbers");
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(FORMAT.as_bytes());
        part(parent.map_or("", Self::as_str).as_bytes());
        part(&step);
        for input in inputs {
            part(input.name.as_bytes());
            part(&Sha256::digest(input.content));
        }
        Self(hex(&hash.finalize()))
    }

    /// The 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for LayerKey {
    type Error = NotAKey;

    fn try_from(text: String) -> Result<Self, NotAKey> {
        let fits = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if fits { Ok(Self(text)) } else { Err(NotAKey(text)) }
    }
}

impl From<LayerKey> for String {
    fn from(key: LayerKey) -> Self {
        key.0
    }
}

impl fmt::Display for LayerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> Step {
        Step::Run { title: "t".to_owned(), script: script.to_owned() }
    }

    #[test]
    fn the_same_inputs_give_the_same_key_for_ever() {
        let input = Input { name: "a", content: b"b" };
        let key = LayerKey::of(None, &run("true"), &[input]);
        // Computed once and written down: a change here makes every installation build its layers again.
        assert_eq!(key.as_str(), "64b0357c66e05e867e0030f826a3c7596590e2e1c933fcf9b41658b1b6b28ee7");
        assert_eq!(LayerKey::try_from(key.to_string()).unwrap(), key);
    }

    #[test]
    fn every_input_counts() {
        let parent = LayerKey::of(None, &run("parent"), &[]);
        let input = |name, content| Input { name, content };
        let keys = [
            LayerKey::of(None, &run("true"), &[]),
            LayerKey::of(None, &run("false"), &[]),
            LayerKey::of(Some(&parent), &run("true"), &[]),
            LayerKey::of(None, &run("true"), &[input("a", b"b")]),
            LayerKey::of(None, &run("true"), &[input("a", b"c")]),
            LayerKey::of(None, &run("true"), &[input("b", b"b")]),
            LayerKey::of(None, &run("true"), &[input("a", b"b"), input("c", b"d")]),
        ];
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn a_key_from_a_file_is_checked() {
        for text in ["", "..", "../../../../etc", &"A".repeat(64), &"a".repeat(63)] {
            assert!(LayerKey::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
