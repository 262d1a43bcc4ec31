//! `hood audit`.

use std::time::Duration;

use anyhow::Result;
use hood_client::AuditQuery;
use hood_gate::audit::{Entry, Kind};
use hood_policy::Reason;

use crate::cli::AuditArguments;
use crate::commands::Context;
use crate::exit::Exit;
use crate::terminal::{Paint, escape};

/// Between two looks at an audit that is followed.
const POLL: Duration = Duration::from_millis(500);

pub(crate) async fn run(context: &Context, arguments: &AuditArguments) -> Result<Exit> {
    let client = context.client()?;
    let mut query = AuditQuery { sandbox: arguments.sandbox.clone(), denied: arguments.denied, after: 0 };
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
    format!("{rule:?}")
}
