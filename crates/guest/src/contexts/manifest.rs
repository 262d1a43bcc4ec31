//! Which kernels the template has: a file that its recipe wrote.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use crate::limits::MAX_MANIFEST;
use crate::reach;

use serde::Deserialize;

/// Where the recipes of our templates put it.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/lib/hood/kernels/kernels.json";

/// How one language's kernel is started.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    /// Defaults: whatever the sandbox's own environment sets wins.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// Other names of the language.
    #[serde(default)]
    aliases: Vec<String>,
}

/// Languages by name. Read anew at each use, which is cheap and lets a template's build add one.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Manifest {
    languages: BTreeMap<String, Program>,
}

/// No kernel can be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error(
        "this sandbox cannot run code: its template has no kernels ({path}: {source}); use a template that has, such as code-interpreter-v1"
    )]
    Unreadable { path: String, source: io::Error },
    #[error("this sandbox cannot run code: {path} is not a list of kernels: {source}")]
    Malformed { path: String, source: serde_json::Error },
}

impl Manifest {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, ManifestError> {
        let name = || path.display().to_string();
        let bytes = read(path).map_err(|source| ManifestError::Unreadable { path: name(), source })?;
        serde_json::from_slice(&bytes).map_err(|source| ManifestError::Malformed { path: name(), source })
    }

    /// The language's own name and its program, by any of its names.
    pub(crate) fn find(&self, language: &str) -> Option<(&str, &Program)> {
        self.languages
            .get_key_value(language)
            .or_else(|| self.languages.iter().find(|(_, p)| p.aliases.iter().any(|alias| alias == language)))
            .map(|(name, program)| (name.as_str(), program))
    }

    /// Names for people: `bash, python`.
    pub(crate) fn names(&self) -> String {
        self.languages.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// A FIFO or a device put in the manifest's place must not hold the guest up.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reach::regular(path)?.take(MAX_MANIFEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_found_by_its_name_and_its_aliases() {
        let text =
            r#"{"python":{"argv":["python3"],"env":{"A":"b"},"aliases":["py"]},"bash":{"argv":["x"]}}"#;
        let manifest: Manifest = serde_json::from_str(text).expect("valid");
        assert_eq!(manifest.find("py").expect("known").0, "python");
        assert_eq!(manifest.find("bash").expect("known").1.argv, ["x"]);
        assert!(manifest.find("cobol").is_none());
        assert_eq!(manifest.names(), "bash, python");
    }

    #[test]
    fn what_is_not_a_file_is_refused_at_once() {
        let error = Manifest::read(Path::new("/dev/zero")).expect_err("a device");
        assert!(error.to_string().contains("not a regular file"), "{error}");
        assert!(matches!(Manifest::read(Path::new("/nowhere")), Err(ManifestError::Unreadable { .. })));
    }
}
