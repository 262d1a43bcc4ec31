//! The first API key.

use anyhow::{Context, Result};
use hood_engine::TeamId;
use hood_store::SqliteStore;
use sha2::{Digest, Sha256};

use crate::local::DataDir;

/// Random bytes of a key: 40 hexadecimal digits, the shape that old SDKs check.
const KEY_BYTES: usize = 20;

/// The key for local use, and whether it was made just now: at the first start, or when its file was lost.
pub(super) async fn ensure(store: &SqliteStore, data_dir: &DataDir) -> Result<(String, bool)> {
    if store.has_keys().await? && data_dir.key_file().exists() {
        return Ok((data_dir.read_key()?, false));
    }
    let mut bytes = [0u8; KEY_BYTES];
    rand::fill(&mut bytes);
    let digits = bytes.map(|byte| format!("{byte:02x}")).concat();
    let key = format!("e2b_{digits}");
    let hash = Sha256::digest(key.as_bytes()).into();
    store.create_key(&TeamId("default".to_owned()), hash, "local").await?;
    data_dir.write_key(&key).context("cannot keep the API key for local use")?;
    Ok((key, true))
}
