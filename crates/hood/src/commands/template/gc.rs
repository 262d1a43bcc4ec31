//! `hood template gc`.

use std::collections::BTreeSet;

use anyhow::Result;

use super::existing_store;
use crate::commands::Context;
use crate::exit::{Exit, Hinted};

/// Only when no server runs: sandboxes stand on layers, also on those of templates that were built anew since. None
/// outlives its server.
pub(crate) fn run(context: &Context) -> Result<Exit> {
    let store = existing_store(context)?;
    if context.data_dir.server_url().is_some() {
        let message =
            format!("a server runs on {}, and its sandboxes need layers", context.data_dir.path().display());
        return Err(Hinted::new(message, "stop it first").into());
    }
    let _lock = context.data_dir.lock()?;
    let freed = store.gc(&BTreeSet::new())?;
    context.data_dir.remove_trust()?;
    if context.json {
        context.printer.json(&serde_json::json!({ "layers": freed.layers, "bytes": freed.bytes }))?;
    } else {
        context.printer.line(&format!("removed {} layers, {} MiB", freed.layers, freed.bytes >> 20))?;
    }
    Ok(Exit::Done)
}
