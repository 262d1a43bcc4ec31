//! `hood template`: the templates of this machine's data directory.

mod build;
mod gc;
mod list;
mod progress;
mod show;

use anyhow::{Context as _, Result};
use hood_images::Store;

use super::Context;
use crate::cli::TemplateCommand;
use crate::exit::{Exit, Hinted};

pub(crate) async fn run(context: &Context, command: TemplateCommand) -> Result<Exit> {
    match command {
        TemplateCommand::List => list::run(context).await,
        TemplateCommand::Build(arguments) => build::run(context, arguments),
        TemplateCommand::Show { name } => show::run(context, &name),
        TemplateCommand::Gc => gc::run(context).await,
        TemplateCommand::Remove { name } => remove(context, &name),
    }
}

/// The directory of templates; only its owner may look into it.
fn store(context: &Context) -> Result<Store> {
    if !context.data_dir.is_ours() {
        let dir = context.data_dir.path().display();
        let message = format!("only the owner of {dir} can use the templates in it");
        return Err(Hinted::new(message, "run the command with sudo").into());
    }
    Store::open(context.data_dir.path()).context("cannot open the templates")
}

fn not_built(name: &str) -> Hinted {
    let is_ours = hood_images::shipped().iter().any(|recipe| recipe.name == name);
    let hint = if is_ours {
        format!("build it with `hood template build {name}`")
    } else {
        "`hood template list` shows which there are".to_owned()
    };
    Hinted::new(format!("there is no template `{name}`"), hint)
}

/// The same, of a directory that is there: only a build makes one.
fn existing_store(context: &Context) -> Result<Store> {
    let dir = context.data_dir.path();
    if dir.exists() {
        return store(context);
    }
    let message = format!("the data directory {} does not exist", dir.display());
    Err(Hinted::new(message, "`hood template build` makes it; `--data-dir` names another").into())
}

/// The sandboxes made from it live on: their layers stay.
fn remove(context: &Context, name: &str) -> Result<Exit> {
    if !existing_store(context)?.remove(name)? {
        return Err(not_built(name).into());
    }
    context.printer.line(name)?;
    Ok(Exit::Done)
}
