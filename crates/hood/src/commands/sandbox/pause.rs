//! `hood sandbox pause` and `hood sandbox resume`.

use anyhow::Result;

use crate::cli::{PauseArguments, ResumeArguments};
use crate::commands::Context;
use crate::exit::Exit;

pub(crate) async fn pause(context: &Context, arguments: &PauseArguments) -> Result<Exit> {
    context.client()?.pause(&arguments.id, !arguments.files_only).await?;
    context.printer.line(&arguments.id)?;
    Ok(Exit::Done)
}

pub(crate) async fn resume(context: &Context, arguments: &ResumeArguments) -> Result<Exit> {
    context.client()?.extend(&arguments.id, arguments.timeout).await?;
    context.printer.line(&arguments.id)?;
    Ok(Exit::Done)
}
