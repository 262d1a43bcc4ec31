//! `hood sandbox fork`.

use anyhow::Result;

use crate::cli::ForkArguments;
use crate::commands::Context;
use crate::exit::{Exit, Hinted};
use crate::terminal::escape;

pub(crate) async fn run(context: &Context, arguments: &ForkArguments) -> Result<Exit> {
    let children = context.client()?.fork(&arguments.id, arguments.count, arguments.timeout).await?;
    if context.json {
        context.printer.json(&children)?;
    } else {
        for sandbox in children.iter().filter_map(|child| child.sandbox.as_ref()) {
            context.printer.line(&sandbox.id)?;
        }
    }
    let failed: Vec<_> = children.iter().filter_map(|child| child.error.as_ref()).collect();
    match failed.first() {
        None => Ok(Exit::Done),
        Some(first) => {
            let (failed, all) = (failed.len(), children.len());
            let message = format!("{failed} of {all} copies could not be made: {}", escape(&first.message));
            Err(Hinted::new(message, "the ids of the others stand on standard output").into())
        }
    }
}
