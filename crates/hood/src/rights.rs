//! With which rights a command works: taken before anything starts a thread.

use anyhow::{Context as _, Result};
use hood_driver_api::Mode;
use hood_driver_native::Purpose;
use hood_images::Store;

use crate::cli::{Command, TemplateCommand};
use crate::commands::Context;

/// Enters the mount namespace of a server and, without root, a user namespace first. A command that only speaks to a
/// server stays as it is.
pub(crate) fn take(command: &Command, context: &Context) -> Result<()> {
    let is_root = rustix::process::geteuid().is_root() && hood_driver_native::mode() == Mode::Root;
    match purpose(command, context) {
        Some(Purpose::Serve) => {
            if !is_root {
                hood_driver_native::enter_rootless(Purpose::Serve)?;
            }
            hood_driver_native::enter_private_mounts().context("cannot make a mount namespace")
        }
        Some(Purpose::Build) if !is_root => {
            // What is made from here on belongs to root inside; these folders must stay the user's.
            context.data_dir.create()?;
            Store::open(context.data_dir.path()).context("cannot open the templates")?;
            Ok(hood_driver_native::enter_rootless(Purpose::Build)?)
        }
        _ => Ok(()),
    }
}

fn purpose(command: &Command, context: &Context) -> Option<Purpose> {
    match command {
        Command::Serve(_) => Some(Purpose::Serve),
        Command::Run(_) | Command::Ask(_) if context.would_serve() => Some(Purpose::Serve),
        Command::Template(TemplateCommand::Build(_) | TemplateCommand::Gc) => Some(Purpose::Build),
        _ => None,
    }
}
