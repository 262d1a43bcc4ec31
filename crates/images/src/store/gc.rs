//! Removing what nobody needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::files::read_json;
use super::{LayerRecord, Store, TEMPORARY};
use crate::error::StoreError;
use crate::key::LayerKey;

/// What [`Store::gc`] removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freed {
    /// Layers.
    pub layers: usize,
    /// Disk space.
    pub bytes: u64,
}

// === impl Store ===

impl Store {
    /// Removes the layers that are neither in a template nor in `in_use` (the layers of living sandboxes).
    pub fn gc(&self, in_use: &BTreeSet<LayerKey>) -> Result<Freed, StoreError> {
        let _lock = self.lock(|| ())?;
        self.sweep()?;
        let named: BTreeSet<_> =
            self.list()?.into_iter().flat_map(|template| template.manifest.layers).collect();
        let mut freed = Freed::default();
        for entry in names_in(&self.layers)? {
            let Ok(key) = LayerKey::try_from(entry) else { continue };
            if named.contains(&key) || in_use.contains(&key) {
                continue;
            }
            let record: Option<LayerRecord> = read_json(&self.record_path(&key))?;
            freed.bytes += record.map_or(0, |record| record.bytes);
            freed.layers += 1;
            self.remove_layer(&key)?;
        }
        Ok(freed)
    }

    /// Removes what builds that were killed have left. The caller holds the lock, so nobody is building.
    pub(crate) fn sweep(&self) -> Result<(), StoreError> {
        for dir in [&self.layers, &self.templates] {
            for name in names_in(dir)?.into_iter().filter(|name| name.starts_with(TEMPORARY)) {
                remove(&dir.join(name))?;
            }
        }
        Ok(())
    }

    /// First out of its name, so that a layer is there whole or not at all.
    fn remove_layer(&self, key: &LayerKey) -> Result<(), StoreError> {
        let path = self.layer_path(key);
        let doomed = self.temporary()?;
        fs::rename(&path, doomed.join("layer")).map_err(StoreError::io("remove", &path))?;
        let record = self.record_path(key);
        if record.exists() {
            remove(&record)?;
        }
        remove(&doomed)
    }
}

fn names_in(dir: &Path) -> Result<Vec<String>, StoreError> {
    let entries = fs::read_dir(dir).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(StoreError::io("list", dir))?;
    Ok(entries.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn remove(path: &Path) -> Result<(), StoreError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(StoreError::io("remove", path))
}
