//! `hood secret`.

mod delete;
mod list;
mod set;

use anyhow::Result;

use super::Context;
use crate::cli::SecretCommand;
use crate::exit::Exit;

pub(crate) async fn run(context: &Context, command: SecretCommand) -> Result<Exit> {
    match command {
        SecretCommand::List => list::run(context).await,
        SecretCommand::Set(arguments) => set::run(context, arguments).await,
        SecretCommand::Delete(arguments) => delete::run(context, &arguments).await,
    }
}
