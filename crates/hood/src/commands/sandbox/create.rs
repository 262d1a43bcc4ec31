//! `hood sandbox create`.

use anyhow::Result;
use hood_client::{Hood, NewSandbox, VolumeMount};

use crate::cli::CreateArguments;
use crate::commands::Context;
use crate::exit::Exit;

pub(crate) async fn run(context: &Context, arguments: CreateArguments) -> Result<Exit> {
    let client = context.client()?;
    let new = NewSandbox {
        template: arguments.template,
        timeout: arguments.timeout.as_secs(),
        metadata: arguments.metadata.into_iter().collect(),
        envs: arguments.envs.into_iter().collect(),
        internet: false,
        volumes: arguments.volume.into_iter().map(|(name, path)| VolumeMount { name, path }).collect(),
        hood: Hood {
            memory_mib: arguments.memory.map(|memory| memory.mib),
            cpus: arguments.cpus,
            disk_mib: arguments.disk.map(|disk| disk.mib),
            read_only_root: arguments.read_only_root,
        },
    };
    let sandbox = client.create(&new).await?;
    if context.json {
        context.printer.json(&client.detail(sandbox.id()).await?)?;
    } else {
        context.printer.line(sandbox.id())?;
    }
    Ok(Exit::Done)
}
