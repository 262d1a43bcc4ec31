//! `hood audit`.

use std::time::Duration;

use anyhow::Result;
use hood_client::{AuditQuery, Client};
use hood_gate::audit::{Entry, Kind};
use hood_policy::{Reason, Seen, suggest};

use crate::cli::AuditArguments;
use crate::commands::Context;
use crate::exit::Exit;
use crate::terminal::{Paint, escape};

/// Between two looks at an audit that is followed.
const POLL: Duration = Duration::from_millis(500);

pub(crate) async fn run(context: &Context, arguments: &AuditArguments) -> Result<Exit> {
    let client = context.client()?;
    let mut query = AuditQuery { sandbox: arguments.sandbox.clone(), denied: arguments.denied, after: 0 };
    if arguments.suggest {
        let seen = everything(&client, query).await?;
        return propose(context, &seen);
    }
    let mut any = false;
    loop {
        let page = client.audit(&query).await?;
        for value in &page.entries {
            any = true;
            if context.json {
                context.printer.json(value)?;
            } else {
                show(context, &serde_json::from_value(value.clone())?)?;
            }
        }
        let more = page.next > query.after;
        query.after = page.next;
        if !more && !arguments.follow {
            if !any && !context.json {
                context.printer.note("nothing is recorded");
            }
            return Ok(Exit::Done);
        }
        if !more {
            tokio::time::sleep(POLL).await;
        }
    }
}

async fn everything(client: &Client, mut query: AuditQuery) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    loop {
        let page = client.audit(&query).await?;
        if page.entries.is_empty() {
            return Ok(entries);
        }
        query.after = page.next;
        for value in page.entries {
            entries.push(serde_json::from_value(value)?);
        }
    }
}

/// A policy that would have let through what was let through, and nothing more.
fn propose(context: &Context, entries: &[Entry]) -> Result<Exit> {
    let seen = entries.iter().filter_map(|entry| {
        let let_through = matches!(entry.kind, Kind::Allowed | Kind::WouldDeny);
        let to = entry.to.filter(|_| let_through)?;
        let name = entry.name.as_deref().and_then(|name| name.parse().ok());
        Some(Seen { name, to, method: entry.method.clone(), path: entry.path.clone() })
    });
    context.printer.json(&suggest(seen))?;
    Ok(Exit::Done)
}

fn show(context: &Context, entry: &Entry) -> Result<()> {
    let (paint, word) = match entry.kind {
        Kind::Allowed => (Paint::Green, "allowed"),
        Kind::Denied => (Paint::Red, "denied"),
        Kind::WouldDeny => (Paint::Yellow, "would deny"),
        Kind::Ended => (Paint::Dim, "ended"),
    };
    let printer = &context.printer;
    let at = entry.at.format(&time::format_description::well_known::Rfc3339)?;
    let mut line = format!(
        "{} {} {} {}",
        printer.paint(Paint::Dim, &at),
        printer.paint(paint, &format!("{word:<10}")),
        escape(&entry.sandbox),
        escape(&destination(entry)),
    );
    if let (Some(method), Some(path)) = (&entry.method, &entry.path) {
        line.push_str(&format!(" {} {}", escape(method), escape(path)));
    }
    if entry.kind == Kind::Ended {
        let (out, back) = (hood_driver_api::Bytes(entry.bytes_out), hood_driver_api::Bytes(entry.bytes_in));
        line.push_str(&format!(" {out} out, {back} in, {} ms", entry.duration.as_millis()));
    }
    if let Some(rule) = &entry.rule {
        line.push_str(&printer.paint(Paint::Dim, &format!(" ({})", escape(&said(rule)))));
    }
    printer.line(&line)
}

fn destination(entry: &Entry) -> String {
    match (&entry.name, entry.to) {
        (Some(name), Some(to)) => format!("{name} ({to})"),
        (Some(name), None) => format!("name {name}"),
        (None, Some(to)) => to.to_string(),
        (None, None) => "?".to_owned(),
    }
}

fn said(rule: &Reason) -> String {
    rule.to_string()
}
