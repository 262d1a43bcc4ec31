//! `hood volume`.

use anyhow::Result;

use super::Context;
use crate::cli::VolumeCommand;
use crate::exit::Exit;
use crate::terminal::{Table, escape};

pub(crate) async fn run(context: &Context, command: VolumeCommand) -> Result<Exit> {
    let client = context.client()?;
    match command {
        VolumeCommand::List => list(context).await,
        VolumeCommand::Create(arguments) => {
            let size = arguments.size.map(|size| size.mib);
            let volume = client.create_volume(&arguments.name, size).await?;
            if context.json {
                context.printer.json(&volume)?;
            } else {
                context.printer.line(&volume.id)?;
            }
            Ok(Exit::Done)
        }
        VolumeCommand::Delete(arguments) => {
            for volume in &arguments.volumes {
                client.delete_volume(volume).await?;
            }
            Ok(Exit::Done)
        }
    }
}

async fn list(context: &Context) -> Result<Exit> {
    let volumes = context.client()?.volumes().await?;
    if context.json {
        context.printer.json(&volumes)?;
        return Ok(Exit::Done);
    }
    if volumes.is_empty() && context.printer.is_terminal() {
        context.printer.note("there are no volumes; `hood volume create NAME` makes one");
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "SIZE", "MADE", "ID"]);
    for volume in &volumes {
        table.row([
            escape(&volume.name).into_owned(),
            format!("{} MiB", volume.size_mib),
            escape(&volume.created_at).into_owned(),
            escape(&volume.id).into_owned(),
        ]);
    }
    table.print(context.printer, |_, _| None)?;
    Ok(Exit::Done)
}
