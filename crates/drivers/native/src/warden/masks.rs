//! Which parts of `/proc` are covered: data, read once.

use std::io;

use serde::Deserialize;

const SHIPPED: &str = include_str!("../../data/masks.toml");

/// Paths relative to `/proc`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Masks {
    /// Files to cover with the null device.
    pub(super) null: Vec<String>,
    /// Directories to cover with an empty one.
    pub(super) empty: Vec<String>,
    /// Directories to make read-only.
    pub(super) readonly: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    null: String,
    empty: String,
    readonly: String,
}

impl Masks {
    pub(super) fn shipped() -> io::Result<Self> {
        let file: File = toml::from_str(SHIPPED).map_err(io::Error::other)?;
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Ok(Self { null: list(&file.null), empty: list(&file.empty), readonly: list(&file.readonly) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_stay_beneath_proc() {
        let masks = Masks::shipped().expect("valid data");
        let all = masks.null.iter().chain(&masks.empty).chain(&masks.readonly);
        for path in all {
            assert!(!path.starts_with('/') && !path.contains(".."), "{path}");
        }
        assert!(masks.null.len() > 20 && masks.readonly == ["sys"]);
    }
}
