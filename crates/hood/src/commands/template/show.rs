//! `hood template show`.

use anyhow::Result;
use hood_images::Manifest;

use super::{existing_store, not_built};
use crate::commands::Context;
use crate::exit::Exit;
use crate::terminal::{Paint, escape};

pub(crate) fn run(context: &Context, name: &str) -> Result<Exit> {
    let template = existing_store(context)?.find(name)?.ok_or_else(|| not_built(name))?;
    if context.json {
        context.printer.json(&template.manifest)?;
        return Ok(Exit::Done);
    }
    for (field, value) in fields(&template.manifest) {
        let field = context.printer.paint(Paint::Bold, &format!("{field:<12}"));
        context.printer.line(&format!("{field} {}", escape(&value)))?;
    }
    Ok(Exit::Done)
}

fn fields(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("name", manifest.name.clone()),
        ("description", manifest.description.clone()),
        ("debian", manifest.suite.clone()),
        ("user", manifest.user.clone()),
        ("workdir", manifest.workdir.clone()),
        ("cpus", manifest.cpu.to_string()),
        ("memory", format!("{} MiB", manifest.memory_mib)),
        ("size", format!("{} MiB", manifest.bytes >> 20)),
        ("recipe", manifest.recipe.clone()),
    ];
    fields.extend(manifest.env.iter().map(|(name, value)| ("env", format!("{name}={value}"))));
    fields.extend(manifest.layers.iter().map(|key| ("layer", key.to_string())));
    fields
}
