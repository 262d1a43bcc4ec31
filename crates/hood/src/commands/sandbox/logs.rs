//! `hood sandbox logs`.

use std::time::Duration;

use anyhow::Result;
use hood_client::LogEntry;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cli::LogsArguments;
use crate::commands::Context;
use crate::exit::Exit;
use crate::terminal::{Paint, escape};

/// Between two looks at a log that is followed.
const POLL: Duration = Duration::from_secs(1);

pub(crate) async fn run(context: &Context, arguments: &LogsArguments) -> Result<Exit> {
    let client = context.client()?;
    let mut seen = Seen::default();
    loop {
        // Looked at before the log is read: what was written until the end is then in it.
        let runs = arguments.follow && is_running(client.detail(&arguments.id).await)?;
        for entry in seen.fresh(client.logs(&arguments.id, seen.moment).await?) {
            show(context, &entry)?;
        }
        if !runs {
            return Ok(Exit::Done);
        }
        tokio::time::sleep(POLL).await;
    }
}

fn is_running(detail: Result<serde_json::Value, hood_client::ClientError>) -> Result<bool> {
    match detail {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn show(context: &Context, entry: &LogEntry) -> Result<()> {
    if context.json {
        return context.printer.json(entry);
    }
    let paint = match entry.level.as_str() {
        "error" => Paint::Red,
        "warn" => Paint::Yellow,
        "info" => Paint::Green,
        _ => Paint::Dim,
    };
    let level = context.printer.paint(paint, &format!("{:<5}", escape(&entry.level)));
    let logger = entry.fields.get("logger").map_or("", String::as_str);
    let time = context.printer.paint(Paint::Dim, &escape(&entry.timestamp));
    context.printer.line(&format!("{time} {level} {} {}", escape(logger), escape(&entry.message)))
}

/// Where the reading of a log stands. A log is asked for from a millisecond on, so its last one comes again.
#[derive(Debug, Default)]
struct Seen {
    moment: u64,
    /// The entries of that millisecond that were shown.
    last: Vec<LogEntry>,
}

impl Seen {
    fn fresh(&mut self, entries: Vec<LogEntry>) -> Vec<LogEntry> {
        let mut fresh = Vec::new();
        let mut known = self.last.clone();
        for entry in entries {
            if let Some(at) = known.iter().position(|other| *other == entry) {
                known.remove(at);
                continue;
            }
            let moment = milliseconds(&entry.timestamp).max(self.moment);
            if moment > self.moment {
                self.moment = moment;
                self.last.clear();
            }
            self.last.push(entry.clone());
            fresh.push(entry);
        }
        fresh
    }
}

fn milliseconds(moment: &str) -> u64 {
    let parsed = OffsetDateTime::parse(moment, &Rfc3339).ok();
    parsed.and_then(|moment| u64::try_from(moment.unix_timestamp_nanos() / 1_000_000).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(millis: u32, message: &str) -> LogEntry {
        LogEntry {
            timestamp: format!("2026-01-01T00:00:00.{millis:03}Z"),
            level: "info".into(),
            message: message.into(),
            fields: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn every_entry_is_shown_once() {
        let mut seen = Seen::default();
        let shown =
            |entries: Vec<LogEntry>| entries.into_iter().map(|entry| entry.message).collect::<Vec<_>>();
        assert_eq!(shown(seen.fresh(vec![entry(1, "a"), entry(2, "b")])), ["a", "b"]);
        assert_eq!(shown(seen.fresh(vec![entry(2, "b"), entry(2, "b"), entry(2, "c")])), ["b", "c"]);
        assert_eq!(
            shown(seen.fresh(vec![entry(2, "b"), entry(2, "b"), entry(2, "c"), entry(3, "d")])),
            ["d"]
        );
        assert_eq!(seen.moment, milliseconds("2026-01-01T00:00:00.003Z"));
    }
}
