//! `hood secret delete`.

use anyhow::Result;

use crate::cli::DeleteSecretArguments;
use crate::commands::Context;
use crate::exit::Exit;

pub(crate) async fn run(context: &Context, arguments: &DeleteSecretArguments) -> Result<Exit> {
    let client = context.client()?;
    for name in &arguments.names {
        client.delete_secret(name).await?;
    }
    Ok(Exit::Done)
}
