//! `run.json`: everything that happened in a run, for whoever wants to check or repeat it.
//!
//! Times are milliseconds; `started` is seconds since 1970. Outputs are kept longer here than the model reads
//! them. There is no key in it: none of the things it is made of ever held one, and the text goes through
//! [`Model::without_key`](crate::Model::without_key) all the same.

use serde::Serialize;

use crate::{
    model::{Message, Stop, Usage},
    workbench::CellError,
};

/// Raised when a field changes its meaning or goes away.
pub(crate) const VERSION: u32 = 1;

/// The file as a whole.
#[derive(Debug, Serialize)]
pub(crate) struct Run<'a> {
    pub(crate) version: u32,
    pub(crate) question: &'a str,
    pub(crate) outcome: OutcomeRecord,
    pub(crate) model: &'a str,
    pub(crate) endpoint: &'a str,
    /// `tools` or `fenced`: how the model asked for code to be run.
    pub(crate) calling: &'static str,
    pub(crate) started: u64,
    pub(crate) duration_ms: u64,
    pub(crate) usage: Usage,
    pub(crate) uploads: &'a [FileRecord],
    pub(crate) rounds: &'a [RoundRecord],
    pub(crate) answer: Option<&'a str>,
    pub(crate) charts: &'a [String],
    pub(crate) files: &'a [FileRecord],
    pub(crate) skipped: &'a [SkippedRecord],
    pub(crate) system: &'a str,
    pub(crate) messages: &'a [Message],
}

/// How it ended.
#[derive(Debug, Serialize)]
pub(crate) struct OutcomeRecord {
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// A file, by its name in the sandbox (uploads) or beneath the run's directory (results).
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FileRecord {
    pub(crate) name: String,
    /// Where it lies in the sandbox.
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

/// Something that was made and not saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SkippedRecord {
    pub(crate) path: String,
    pub(crate) why: String,
}

/// One turn of the model with its calls. The turn that sums up when the rounds are used up is one, too.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RoundRecord {
    pub(crate) n: u32,
    pub(crate) model_ms: u64,
    pub(crate) retries: Vec<RetryRecord>,
    pub(crate) usage: Usage,
    pub(crate) stop: Stop,
    pub(crate) text: String,
    pub(crate) calls: Vec<CallRecord>,
}

/// An attempt at a turn that failed.
#[derive(Debug, Serialize)]
pub(crate) struct RetryRecord {
    pub(crate) why: String,
    pub(crate) after_ms: u64,
}

/// One call and what came of it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct CallRecord {
    pub(crate) id: String,
    pub(crate) description: String,
    pub(crate) code: String,
    pub(crate) ran: bool,
    pub(crate) ok: bool,
    pub(crate) duration_ms: u64,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<CellError>,
    pub(crate) charts: Vec<String>,
    /// What the model read.
    pub(crate) told: String,
}
