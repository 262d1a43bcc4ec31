//! `hood template list`.

use anyhow::Result;
use hood_images::{Manifest, shipped};
use serde::Serialize;

use super::store;
use crate::commands::Context;
use crate::exit::Exit;
use crate::terminal::{Paint, Table, escape};

/// A template, with the API's names where it has any.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(rename = "templateID")]
    id: String,
    names: Vec<String>,
    build_status: &'static str,
    cpu_count: u32,
    #[serde(rename = "memoryMB")]
    memory_mib: u64,
    /// Disk space of its layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
}

pub(crate) async fn run(context: &Context) -> Result<Exit> {
    // Root means the machine's own; whoever names a server means that one.
    let is_local = rustix::process::geteuid().is_root() || !context.names_server();
    let rows = if is_local { local(context)? } else { remote(context).await? };
    if context.json {
        context.printer.json(&rows)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "STATUS", "SIZE", "CPUS", "MEMORY", "DESCRIPTION"]);
    for row in &rows {
        table.row([
            escape(&row.names.join(" ")).into_owned(),
            row.build_status.to_owned(),
            row.bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{} MiB", bytes >> 20)),
            row.cpu_count.to_string(),
            format!("{} MiB", row.memory_mib),
            escape(&row.description).into_owned(),
        ]);
    }
    table.print(context.printer, |_, text| (text == MISSING).then_some(Paint::Yellow))?;
    if let Some(missing) = rows.iter().find(|row| row.build_status == MISSING) {
        context.printer.hint(&format!("build it with `hood template build {}`", missing.id));
    }
    Ok(Exit::Done)
}

const READY: &str = "ready";
const MISSING: &str = "not built";

/// What lies in the data directory, then what could.
fn local(context: &Context) -> Result<Vec<Row>> {
    // Looking must not make the directory.
    let there = context.data_dir.path().exists();
    let built = if there { store(context)?.list()? } else { Vec::new() };
    let mut rows: Vec<Row> = built.iter().map(|template| Row::built(&template.manifest)).collect();
    for recipe in shipped() {
        if !rows.iter().any(|row| row.id == recipe.name) {
            rows.push(Row {
                id: recipe.name.clone(),
                names: vec![recipe.name],
                build_status: MISSING,
                cpu_count: recipe.resources.cpu,
                memory_mib: recipe.resources.memory_mib,
                bytes: None,
                description: recipe.description,
            });
        }
    }
    Ok(rows)
}

async fn remote(context: &Context) -> Result<Vec<Row>> {
    let templates = context.client()?.templates().await?;
    let row = |template: hood_client::Template| Row {
        id: template.id,
        names: template.names,
        build_status: READY,
        cpu_count: template.cpu_count,
        memory_mib: template.memory_mib,
        bytes: None,
        description: String::new(),
    };
    Ok(templates.into_iter().map(row).collect())
}

impl Row {
    fn built(manifest: &Manifest) -> Self {
        Self {
            id: manifest.name.clone(),
            names: vec![manifest.name.clone()],
            build_status: READY,
            cpu_count: manifest.cpu,
            memory_mib: manifest.memory_mib,
            bytes: Some(manifest.bytes),
            description: manifest.description.clone(),
        }
    }
}
