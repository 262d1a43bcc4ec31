//! `hood sandbox snapshot` and `hood sandbox rollback`.

use anyhow::Result;

use crate::cli::{RollbackArguments, SnapshotArguments};
use crate::commands::Context;
use crate::exit::Exit;

pub(crate) async fn make(context: &Context, arguments: &SnapshotArguments) -> Result<Exit> {
    let snapshot = context.client()?.snapshot(&arguments.id, arguments.name.as_deref()).await?;
    if context.json {
        context.printer.json(&snapshot)?;
    } else {
        context.printer.line(&snapshot.id)?;
    }
    Ok(Exit::Done)
}

pub(crate) async fn rollback(context: &Context, arguments: &RollbackArguments) -> Result<Exit> {
    context.client()?.rollback(&arguments.id, &arguments.snapshot).await?;
    context.printer.line(&arguments.id)?;
    Ok(Exit::Done)
}
