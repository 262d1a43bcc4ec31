//! `hood template gc`.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use hood_engine::ports::Store as _;
use hood_images::LayerKey;
use hood_store::SqliteStore;

use super::existing_store;
use crate::commands::Context;
use crate::exit::{Exit, Hinted};

/// Only when no server runs: sandboxes stand on layers, also on those of templates that were built anew since. None
/// outlives its server; snapshots do, and what they stand on stays.
pub(crate) async fn run(context: &Context) -> Result<Exit> {
    let store = existing_store(context)?;
    if context.data_dir.server_url().is_some() {
        let message =
            format!("a server runs on {}, and its sandboxes need layers", context.data_dir.path().display());
        return Err(Hinted::new(message, "stop it first").into());
    }
    let _lock = context.data_dir.lock()?;
    let in_use = of_snapshots(context).await?;
    let freed = store.gc(&in_use)?;
    if in_use.is_empty() {
        context.data_dir.remove_trust()?;
    }
    if context.json {
        context.printer.json(&serde_json::json!({ "layers": freed.layers, "bytes": freed.bytes }))?;
    } else {
        context.printer.line(&format!("removed {} layers, {} MiB", freed.layers, freed.bytes >> 20))?;
    }
    Ok(Exit::Done)
}

/// The layers that snapshots stand on.
async fn of_snapshots(context: &Context) -> Result<BTreeSet<LayerKey>> {
    let path = context.data_dir.store_file();
    if !path.exists() {
        return Ok(BTreeSet::new());
    }
    let store = SqliteStore::open(path).context("cannot open the store")?;
    let snapshots = store.snapshots().await.context("cannot read the snapshots")?;
    let names = snapshots
        .iter()
        .flat_map(|snapshot| &snapshot.blueprint.root.layers)
        .filter_map(|layer| layer.file_name());
    Ok(names.filter_map(|name| LayerKey::try_from(name.to_str()?.to_owned()).ok()).collect())
}
