//! What can go wrong, each with the next step.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::limits::FREE_MIN;

/// Why a template was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Layers hold files of many owners, and building them mounts.
    #[error("templates are built as root, or as root of a user namespace")]
    NotRoot,
    /// A program of the host that the build needs.
    #[error("`{tool}` is not installed")]
    MissingTool {
        /// The program or file.
        tool: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// Nothing says where Debian packages come from.
    #[error("no Debian mirror is known: the apt sources of this host name no Debian archive with `main`")]
    NoMirror,
    /// The mirror given is no address.
    #[error("`{0}` is not the address of a Debian mirror: http:// or https://, without spaces")]
    BadMirror(String),
    /// The template beneath is missing.
    #[error("template `{name}` stands on `{from}`, which is not built")]
    NoParent {
        /// The template to be built.
        name: String,
        /// The one it stands on.
        from: String,
    },
    /// Too little room for another layer.
    #[error("{} MiB are free at {}, and a build wants {} MiB", free >> 20, path.display(), FREE_MIN >> 20)]
    NoSpace {
        /// The data directory.
        path: PathBuf,
        /// Free bytes there.
        free: u64,
    },
    /// A program of a step failed.
    #[error("step `{step}`: `{command}` {}{}", ending(*code), quoted(output))]
    Command {
        /// Title of the step.
        step: String,
        /// The program.
        command: String,
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// Its last lines.
        output: Vec<String>,
    },
    /// A step hung.
    #[error("step `{step}`: `{command}` was still running after {} minutes and was killed{}", limit.as_secs() / 60, quoted(output))]
    TimedOut {
        /// Title of the step.
        step: String,
        /// The program.
        command: String,
        /// How long it was given.
        limit: Duration,
        /// Its last lines.
        output: Vec<String>,
    },
    /// The data directory did not do as told.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A file operation in the data directory failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// What was tried, as in "create".
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A layer was removed by hand.
    #[error("template `{template}` needs the layer {}, which is gone: build it again", path.display())]
    MissingLayer {
        /// The template.
        template: String,
        /// The layer's directory.
        path: PathBuf,
    },
    /// A manifest was changed by hand, or is of a newer version.
    #[error("{} is not a template manifest", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

// === impl BuildError ===

impl BuildError {
    /// What to do about it, if there is anything.
    pub fn next_step(&self) -> Option<String> {
        match self {
            Self::NotRoot => Some("run the command with sudo".to_owned()),
            Self::MissingTool { package, .. } => Some(format!("apt-get install {package}")),
            Self::NoMirror | Self::BadMirror(_) => {
                Some("name one: `hood template build --debian-mirror URL`".to_owned())
            }
            Self::NoParent { from, .. } => Some(format!("`hood template build {from}`")),
            Self::NoSpace { .. } => Some(
                "free some room, remove unused layers with `hood template gc`, or choose another `--data-dir`".to_owned(),
            ),
            Self::Command { .. } | Self::TimedOut { .. } => Some(
                "mend the cause shown above (for a failed download: reach the package mirrors from this host) and build \
                 again: finished layers are kept"
                    .to_owned(),
            ),
            Self::Store(_) => None,
        }
    }
}

// === impl StoreError ===

impl StoreError {
    /// For `map_err`: names the operation and the file.
    pub(crate) fn io<E: Into<io::Error>>(
        operation: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |source| Self::Io { operation, path, source: source.into() }
    }
}

fn ending(code: Option<i32>) -> String {
    code.map_or_else(|| "was killed".to_owned(), |code| format!("ended with exit code {code}"))
}

fn quoted(output: &[String]) -> String {
    output.iter().fold(String::new(), |text, line| text + "\n  | " + line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_shows_its_last_words_and_the_next_step() {
        let error = BuildError::Command {
            step: "install 3 Python packages".to_owned(),
            command: "bash".to_owned(),
            code: Some(1),
            output: vec!["ERROR: No matching distribution found".to_owned()],
        };
        assert_eq!(
            error.to_string(),
            "step `install 3 Python packages`: `bash` ended with exit code 1\n  | ERROR: No matching distribution found"
        );
        assert!(error.next_step().is_some_and(|hint| hint.contains("layers are kept")));
    }

    #[test]
    fn a_missing_tool_says_how_to_get_it() {
        let error = BuildError::MissingTool { tool: "mmdebstrap", package: "mmdebstrap" };
        assert_eq!(error.to_string(), "`mmdebstrap` is not installed");
        assert_eq!(error.next_step().as_deref(), Some("apt-get install mmdebstrap"));
    }
}
