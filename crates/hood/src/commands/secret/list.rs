//! `hood secret list`.

use anyhow::Result;

use crate::commands::Context;
use crate::exit::Exit;
use crate::terminal::{Table, escape};

pub(crate) async fn run(context: &Context) -> Result<Exit> {
    let secrets = context.client()?.secrets().await?;
    if context.json {
        context.printer.json(&secrets)?;
        return Ok(Exit::Done);
    }
    if secrets.is_empty() && context.printer.is_terminal() {
        context.printer.note("there are no secrets; `hood secret set NAME` makes one");
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "VERSION", "UPDATED", "METADATA", "ID"]);
    for secret in &secrets {
        let metadata: Vec<_> =
            secret.metadata.iter().map(|(name, value)| format!("{name}={value}")).collect();
        table.row([
            escape(&secret.name).into_owned(),
            secret.current_version.to_string(),
            escape(&secret.updated_at).into_owned(),
            escape(&metadata.join(" ")).into_owned(),
            escape(&secret.id).into_owned(),
        ]);
    }
    table.print(context.printer, |_, _| None)?;
    Ok(Exit::Done)
}
