//! `hood sandbox list`.

use anyhow::Result;
use hood_client::ListedSandbox;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::commands::Context;
use crate::exit::Exit;
use crate::terminal::{Table, escape};

pub(crate) async fn run(context: &Context) -> Result<Exit> {
    let sandboxes = context.client()?.list().await?;
    if context.json {
        context.printer.json(&sandboxes)?;
        return Ok(Exit::Done);
    }
    if sandboxes.is_empty() && context.printer.is_terminal() {
        context.printer.note("no sandbox is running; `hood sandbox create` makes one");
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["ID", "TEMPLATE", "STATE", "AGE", "LEFT", "CPUS", "MEMORY", "METADATA"]);
    let now = OffsetDateTime::now_utc();
    for sandbox in &sandboxes {
        table.row(cells(sandbox, now));
    }
    table.print(context.printer, |_, _| None)?;
    Ok(Exit::Done)
}

fn cells(sandbox: &ListedSandbox, now: OffsetDateTime) -> [String; 8] {
    let metadata = sandbox.metadata.iter().map(|(name, value)| format!("{name}={value}"));
    [
        escape(&sandbox.id).into_owned(),
        escape(&sandbox.alias).into_owned(),
        escape(&sandbox.state).into_owned(),
        since(&sandbox.started_at, |then| now - then),
        // No time counts against what is paused.
        if sandbox.state == "paused" { "-".to_owned() } else { since(&sandbox.end_at, |then| then - now) },
        sandbox.cpu_count.to_string(),
        format!("{} MiB", sandbox.memory_mib),
        escape(&metadata.collect::<Vec<_>>().join(" ")).into_owned(),
    ]
}

fn since(moment: &str, difference: impl Fn(OffsetDateTime) -> time::Duration) -> String {
    match OffsetDateTime::parse(moment, &Rfc3339) {
        Ok(moment) => short(difference(moment).whole_seconds().max(0)),
        Err(_) => escape(moment).into_owned(),
    }
}

/// The two largest units.
fn short(seconds: i64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!([0, 59, 61, 3600, 90_061].map(short), ["0s", "59s", "1m 1s", "1h 0m", "25h 1m"]);
    }

    #[test]
    fn metadata_cannot_command_the_terminal() {
        let sandbox: ListedSandbox = serde_json::from_str(
            r#"{"sandboxID":"i1","templateID":"t","alias":"base","startedAt":"2026-01-01T00:00:00Z",
                "endAt":"2026-01-01T00:05:00Z","cpuCount":2,"memoryMB":512,"diskSizeMB":1,"state":"running",
                "metadata":{"a":"\u001b[2J"}}"#,
        )
        .unwrap();
        let now = OffsetDateTime::parse("2026-01-01T00:01:30Z", &Rfc3339).unwrap();
        let expected = ["i1", "base", "running", "1m 30s", "3m 30s", "2", "512 MiB", "a=\\u{1b}[2J"];
        assert_eq!(cells(&sandbox, now), expected);
    }
}
