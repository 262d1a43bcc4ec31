//! `hood sandbox set`.

use anyhow::Result;
use hood_client::Change;

use crate::cli::SetArguments;
use crate::commands::Context;
use crate::exit::Exit;

pub(crate) async fn run(context: &Context, arguments: SetArguments) -> Result<Exit> {
    let client = context.client()?;
    let SetArguments { id, memory, cpus, timeout, metadata } = arguments;
    let metadata = (!metadata.is_empty()).then(|| metadata.into_iter().collect());
    let change = Change::new(metadata, memory.map(|memory| memory.mib), cpus);
    if !change.is_nothing() {
        client.change(&id, &change).await?;
    }
    if let Some(timeout) = timeout {
        client.set_timeout(&id, timeout).await?;
    }
    context.printer.line(&id)?;
    Ok(Exit::Done)
}
