//! A sandbox's log, in both generations of the call.

use std::collections::BTreeMap;

use hood_engine::LogLine;
use hood_wire::Level;
use serde::Serialize;
use serde_json::json;

use crate::wire::When;

/// `GET /sandboxes/{id}/logs`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Logs {
    pub(crate) logs: Vec<LogLineV1>,
    pub(crate) log_entries: Vec<LogEntry>,
}

/// `GET /v2/sandboxes/{id}/logs`.
#[derive(Debug, Serialize)]
pub(crate) struct LogsV2 {
    pub(crate) logs: Vec<LogEntry>,
}

/// A line of the old kind: a JSON text, because the command line client parses it as one.
#[derive(Debug, Serialize)]
pub(crate) struct LogLineV1 {
    timestamp: When,
    line: String,
}

/// A line of the new kind.
#[derive(Debug, Serialize)]
pub(crate) struct LogEntry {
    timestamp: When,
    level: &'static str,
    message: String,
    fields: BTreeMap<String, String>,
}

impl From<&LogLine> for LogLineV1 {
    fn from(line: &LogLine) -> Self {
        let mut text =
            json!({ "level": level_name(line.level), "logger": line.logger, "message": line.message });
        if let Some(object) = text.as_object_mut() {
            for (name, value) in &line.fields {
                object.entry(name).or_insert_with(|| json!(value));
            }
        }
        Self { timestamp: When(line.at), line: text.to_string() }
    }
}

impl From<LogLine> for LogEntry {
    fn from(line: LogLine) -> Self {
        let mut fields = line.fields;
        fields.insert("logger".to_owned(), line.logger);
        Self { timestamp: When(line.at), level: level_name(line.level), message: line.message, fields }
    }
}

/// A level by the protocol's name.
pub(crate) fn level(name: &str) -> Option<Level> {
    [Level::Debug, Level::Info, Level::Warn, Level::Error]
        .into_iter()
        .find(|level| level_name(*level) == name)
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}
