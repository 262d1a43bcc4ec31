//! `hood sandbox show`.

use anyhow::Result;
use hood_client::{Isolation, ShownSandbox};

use crate::cli::ShowArguments;
use crate::commands::Context;
use crate::exit::Exit;
use crate::terminal::{Table, escape};

pub(crate) async fn run(context: &Context, arguments: &ShowArguments) -> Result<Exit> {
    let sandbox = context.client()?.show(&arguments.id).await?;
    if context.json {
        context.printer.json(&sandbox)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["WHAT", "VALUE"]);
    for (what, value) in rows(&sandbox) {
        table.row([escape(&what).into_owned(), escape(&value).into_owned()]);
    }
    table.print(context.printer, |_, _| None)?;
    Ok(Exit::Done)
}

fn rows(sandbox: &ShownSandbox) -> Vec<(String, String)> {
    let listed = &sandbox.listed;
    let fixed = [
        ("id", listed.id.clone()),
        ("template", listed.alias.clone()),
        ("state", listed.state.clone()),
        ("started", listed.started_at.clone()),
        ("ends", listed.end_at.clone()),
        ("cpus", listed.cpu_count.to_string()),
        ("memory", format!("{} MiB", listed.memory_mib)),
        ("disk", format!("{} MiB", listed.disk_mib)),
    ];
    let mut rows: Vec<_> = fixed.map(|(what, value)| (what.to_owned(), value)).into();
    rows.extend(listed.metadata.iter().map(|(name, value)| (format!("metadata {name}"), value.clone())));
    if let Some(Isolation { driver, mode, network, walls }) = &sandbox.isolation {
        rows.push(("driver".to_owned(), format!("{driver}, as {mode}")));
        rows.push(("network".to_owned(), network.clone()));
        rows.extend(walls.iter().map(|(wall, standing)| (format!("wall {wall}"), standing.clone())));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_are_shown_one_a_line_and_secrets_are_not() {
        let sandbox: ShownSandbox = serde_json::from_str(
            r#"{"sandboxID":"i1","templateID":"t","alias":"base","startedAt":"2026-01-01T00:00:00Z",
                "endAt":"2026-01-01T00:05:00Z","cpuCount":2,"memoryMB":512,"diskSizeMB":1,"state":"running",
                "envdAccessToken":"secret","isolation":{"driver":"native","mode":"root","network":"gate",
                "walls":{"disk":"missing","memory":"full"}}}"#,
        )
        .unwrap();
        let last: Vec<_> =
            rows(&sandbox).into_iter().skip(8).map(|(what, value)| format!("{what}: {value}")).collect();
        assert_eq!(
            last,
            ["driver: native, as root", "network: gate", "wall disk: missing", "wall memory: full"]
        );
        assert!(!serde_json::to_string(&sandbox).unwrap().contains("secret"));
    }
}
