//! The port to one stateful sandbox: what the agent needs of it and nothing more.

use std::{collections::BTreeMap, error::Error, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use serde::Serialize;

/// Where the agent works inside the sandbox: uploads lie here, and cells run with it as working directory.
pub const HOME: &str = "/home/user";

/// Receives what a running cell prints, while it prints it.
pub type CellEvents<'a> = &'a mut (dyn FnMut(CellEvent) + Send);

/// One stateful sandbox. Calls are made one after another; state (variables, files) lasts between them.
#[async_trait]
pub trait Workbench: Send + Sync {
    /// Writes a file, making its folders.
    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), WorkbenchError>;

    /// Runs `code` as one cell of one Python context. An exception of the code is no error of the call: it is
    /// [`Cell::error`]. Neither is a kernel that died, as long as the sandbox answers with a new one: then the
    /// error says that the state is lost.
    async fn run(&self, code: &str, on: CellEvents<'_>) -> Result<Cell, WorkbenchError>;

    /// All files beneath `dir`, at any depth; folders are not named.
    async fn list(&self, dir: &str) -> Result<Vec<Entry>, WorkbenchError>;

    /// Reads a file.
    async fn get(&self, path: &str) -> Result<Bytes, WorkbenchError>;

    /// Ends the sandbox. Called once, at the end of a run, whatever its outcome.
    async fn close(&self) -> Result<(), WorkbenchError>;
}

/// Something that a running cell printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellEvent {
    /// A piece of standard output.
    Stdout(String),
    /// A piece of standard error.
    Stderr(String),
}

/// What came of one cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Everything printed to standard output.
    pub stdout: String,
    /// Everything printed to standard error.
    pub stderr: String,
    /// What was displayed, in order; the value of the last expression is among them.
    pub results: Vec<Shown>,
    /// The exception that ended the cell.
    pub error: Option<CellError>,
}

/// One displayed thing: the same content in each MIME type that it offers. As in Jupyter's messages, binary
/// types (`image/png`, `image/jpeg`, `application/pdf`) are base64, all others are text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown(pub BTreeMap<String, String>);

/// A Python exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CellError {
    /// The exception's class, such as `KeyError`.
    pub name: String,
    /// What it says.
    pub value: String,
    /// The traceback as text; colour codes are taken out by the agent.
    pub traceback: String,
}

/// A file in the sandbox. The path is the sandbox's word: never used as a path on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Absolute, inside the sandbox.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// Time of the last change, in any unit that grows: only compared for equality.
    pub modified: i64,
}

/// Why a sandbox did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    /// It exists no more: killed, past its deadline, out of memory as a whole.
    #[error("the sandbox has ended: {why}")]
    Ended {
        /// The reason given.
        why: String,
    },
    /// A cell ran too long and was interrupted; the sandbox goes on.
    #[error("the code ran longer than {} s and was interrupted", limit.as_secs())]
    TimedOut {
        /// The time it was given.
        limit: Duration,
    },
    /// A file is not there, or may not be read or written.
    #[error("the sandbox refused the file `{path}`: {why}")]
    File {
        /// The file.
        path: String,
        /// The reason given.
        why: String,
    },
    /// A request got no answer, or one that makes no sense.
    #[error("no answer from the sandbox while {doing}")]
    Unreachable {
        /// What was being done, as in "listing files".
        doing: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl WorkbenchError {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Ended { .. } => {
                "a new sandbox would have lost the run's variables, so none was used; what was saved until then \
                 is kept: ask again, with a longer time limit or more memory if that was the reason"
            }
            Self::TimedOut { .. } => "give the sandbox more time, or ask for less in one step",
            Self::File { .. } => "look at the file's name and size, and at the space left in the sandbox",
            Self::Unreachable { .. } => "look whether the server runs (`hood serve`) and `hood env` points at it",
        }
        .to_owned()
    }
}
