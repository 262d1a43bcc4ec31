//! `hood sandbox kill`.

use anyhow::Result;

use crate::cli::KillArguments;
use crate::commands::Context;
use crate::exit::{Exit, Hinted};

/// All of them are tried, whatever comes of one.
pub(crate) async fn run(context: &Context, arguments: &KillArguments) -> Result<Exit> {
    let client = context.client()?;
    let mut missing = Vec::new();
    for id in &arguments.ids {
        if client.kill(id).await? {
            context.printer.line(id)?;
        } else {
            missing.push(format!("`{id}`"));
        }
    }
    if missing.is_empty() {
        return Ok(Exit::Done);
    }
    let message = format!("no sandbox {} is running", missing.join(", "));
    Err(Hinted::new(message, "`hood sandbox list` shows the running ones").into())
}
