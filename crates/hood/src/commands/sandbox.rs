//! `hood sandbox`.

mod connect;
mod create;
mod exec;
mod fork;
mod kill;
mod list;
mod logs;
mod pause;
mod set;
mod show;
mod snapshot;

use anyhow::Result;

use super::Context;
use crate::cli::SandboxCommand;
use crate::exit::Exit;

pub(crate) use exec::is_late;

pub(crate) async fn run(context: &Context, command: SandboxCommand) -> Result<Exit> {
    match command {
        SandboxCommand::List => list::run(context).await,
        SandboxCommand::Show(arguments) => show::run(context, &arguments).await,
        SandboxCommand::Create(arguments) => create::run(context, arguments).await,
        SandboxCommand::Exec(arguments) => exec::run(context, arguments).await,
        SandboxCommand::Pause(arguments) => pause::pause(context, &arguments).await,
        SandboxCommand::Resume(arguments) => pause::resume(context, &arguments).await,
        SandboxCommand::Fork(arguments) => fork::run(context, &arguments).await,
        SandboxCommand::Snapshot(arguments) => snapshot::make(context, &arguments).await,
        SandboxCommand::Set(arguments) => set::run(context, arguments).await,
        SandboxCommand::Rollback(arguments) => snapshot::rollback(context, &arguments).await,
        SandboxCommand::Kill(arguments) => kill::run(context, &arguments).await,
        SandboxCommand::Logs(arguments) => logs::run(context, &arguments).await,
        SandboxCommand::Connect(arguments) => connect::run(context, arguments).await,
    }
}
