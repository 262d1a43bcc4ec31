//! One file a command; each returns how it ended.

mod ask;
mod audit;
mod ca;
mod context;
mod doctor;
mod env;
mod relay; // a running program's output and input
mod run;
mod sandbox;
mod secret;
mod serve;
mod snapshot;
mod template;
mod volume;

use anyhow::Result;

pub(crate) use context::Context;

use crate::cli::Command;
use crate::exit::Exit;

pub(crate) async fn run(command: Command, context: &Context) -> Result<Exit> {
    match command {
        Command::Serve(arguments) => serve::run(context, arguments).await,
        Command::Env(arguments) => env::run(context, &arguments),
        Command::Run(arguments) => run::run(context, arguments).await,
        Command::Ask(arguments) => ask::run(context, arguments).await,
        Command::Sandbox(command) => sandbox::run(context, command).await,
        Command::Snapshot(command) => snapshot::run(context, command).await,
        Command::Volume(command) => volume::run(context, command).await,
        Command::Template(command) => template::run(context, command).await,
        Command::Audit(arguments) => audit::run(context, &arguments).await,
        Command::Secret(command) => secret::run(context, command).await,
        Command::Ca => ca::run(context),
        Command::Doctor => doctor::run(context),
    }
}
