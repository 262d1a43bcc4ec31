//! `hood snapshot`.

use anyhow::Result;

use super::Context;
use crate::cli::SnapshotCommand;
use crate::exit::Exit;
use crate::terminal::{Table, escape};

pub(crate) async fn run(context: &Context, command: SnapshotCommand) -> Result<Exit> {
    match command {
        SnapshotCommand::List => list(context).await,
        SnapshotCommand::Delete(arguments) => {
            let client = context.client()?;
            for snapshot in &arguments.snapshots {
                client.delete_snapshot(snapshot).await?;
            }
            Ok(Exit::Done)
        }
    }
}

async fn list(context: &Context) -> Result<Exit> {
    let snapshots = context.client()?.snapshots().await?;
    if context.json {
        context.printer.json(&snapshots)?;
        return Ok(Exit::Done);
    }
    if snapshots.is_empty() && context.printer.is_terminal() {
        context.printer.note("there are no snapshots; `hood sandbox snapshot ID` makes one");
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["ID", "NAME", "TEMPLATE", "SIZE", "MADE", "OF"]);
    for snapshot in &snapshots {
        table.row([
            escape(&snapshot.id).into_owned(),
            escape(&snapshot.names.join(" ")).into_owned(),
            escape(&snapshot.alias).into_owned(),
            format!("{} MiB", snapshot.size_bytes.div_ceil(1 << 20)),
            escape(&snapshot.created_at).into_owned(),
            escape(&snapshot.source).into_owned(),
        ]);
    }
    table.print(context.printer, |_, _| None)?;
    Ok(Exit::Done)
}
