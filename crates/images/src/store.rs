//! The directory of layers and templates.
//!
//! ```text
//! <data dir>/layers/<key>/        a layer: a plain directory, root's, never changed
//!            layers/<key>.json    its size and age
//!            layers/.tmp-…/       a layer in the making, or what a killed build left
//!            layers/.lock         held by whoever builds or removes
//!            templates/<name>.json  a manifest; replaced whole
//! ```

mod files;
mod gc;
mod lock;
mod manifest;

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::chroot::names;
use crate::error::StoreError;
use crate::key::LayerKey;
use crate::recipe::is_template_name;
use files::{make_private_dir, read_json, replace_json, sync_dir};

pub use gc::Freed;
pub(crate) use manifest::DEFAULT_TAG;
pub use manifest::{Manifest, Template};

/// Begins the name of everything unfinished.
const TEMPORARY: &str = ".tmp-";

/// Layers and templates beneath one data directory.
#[derive(Debug, Clone)]
pub struct Store {
    layers: PathBuf,
    templates: PathBuf,
}

/// What is known of a layer besides its content.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LayerRecord {
    pub(crate) title: String,
    pub(crate) bytes: u64,
    pub(crate) created_ms: u64,
}

// === impl Store ===

impl Store {
    /// Opens the store in `data_dir` and makes its folders.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let data_dir = std::path::absolute(data_dir).map_err(StoreError::io("resolve", data_dir))?;
        let store = Self { layers: data_dir.join("layers"), templates: data_dir.join("templates") };
        // Closed to all but root: layers hold set-user-id programs that are never updated.
        make_private_dir(&store.layers)?;
        make_private_dir(&store.templates)?;
        Ok(store)
    }

    /// The template called `name` or `name:tag`, if it is built.
    pub fn find(&self, reference: &str) -> Result<Option<Template>, StoreError> {
        let (name, tag) = reference.split_once(':').unwrap_or((reference, DEFAULT_TAG));
        if !is_template_name(name) {
            return Ok(None);
        }
        let manifest: Option<Manifest> = read_json(&self.manifest_path(name))?;
        let manifest = manifest.filter(|manifest| manifest.tags.iter().any(|known| known == tag));
        manifest.map(|manifest| self.template(manifest)).transpose()
    }

    /// All templates, by name.
    pub fn list(&self) -> Result<Vec<Template>, StoreError> {
        let io = || StoreError::io("list", &self.templates);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.templates).map_err(io())? {
            let name = entry.map_err(io())?.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(".json"));
            if let Some(template) = name.map(|name| self.find(name)).transpose()?.flatten() {
                found.push(template);
            }
        }
        found.sort_by(|a, b| a.manifest.name.cmp(&b.manifest.name));
        Ok(found)
    }

    /// Forgets a template; false if there is none of this name. Its layers go with [`Store::gc`].
    pub fn remove(&self, name: &str) -> Result<bool, StoreError> {
        if !is_template_name(name) {
            return Ok(false);
        }
        let path = self.manifest_path(name);
        match fs::remove_file(&path) {
            Ok(()) => sync_dir(&self.templates).map(|()| true),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::io::<io::Error>("remove", &path)(source)),
        }
    }

    /// Writes a manifest, so that its template can be found. One that says the same keeps its age.
    pub(crate) fn name(&self, manifest: Manifest) -> Result<Manifest, StoreError> {
        let path = self.manifest_path(&manifest.name);
        let old: Option<Manifest> = read_json(&path)?;
        let is_same =
            |old: &Manifest| Manifest { created_ms: manifest.created_ms, ..old.clone() } == manifest;
        if let Some(old) = old.filter(is_same) {
            return Ok(old);
        }
        replace_json(&path, &manifest)?;
        Ok(manifest)
    }

    pub(crate) fn layers_dir(&self) -> &Path {
        &self.layers
    }

    /// The size of a finished layer.
    pub(crate) fn layer_bytes(&self, key: &LayerKey) -> Result<Option<u64>, StoreError> {
        if !self.layer_path(key).is_dir() {
            return Ok(None);
        }
        let record: Option<LayerRecord> = read_json(&self.record_path(key))?;
        Ok(record.map(|record| record.bytes))
    }

    /// An empty directory for a layer in the making, with a directory in it that becomes the layer.
    pub(crate) fn temporary(&self) -> Result<PathBuf, StoreError> {
        let random = RandomState::new().hash_one(0);
        let path = self.layers.join(format!("{TEMPORARY}{}-{random:016x}", std::process::id()));
        fs::create_dir(&path).map_err(StoreError::io("create", &path))?;
        let upper = path.join(names::UPPER);
        fs::create_dir(&upper).map_err(StoreError::io("create", &upper))?;
        Ok(path)
    }

    /// Gives a finished layer its name, after all of it is on the disk.
    pub(crate) fn keep_layer(
        &self,
        key: &LayerKey,
        temporary: &Path,
        upper: &Path,
        record: &LayerRecord,
    ) -> Result<(), StoreError> {
        replace_json(&self.record_path(key), record)?;
        let dir = fs::File::open(upper).map_err(StoreError::io("open", upper))?;
        // One call for tens of thousands of files.
        rustix::fs::syncfs(&dir).map_err(StoreError::io("write to disk", upper))?;
        let path = self.layer_path(key);
        if path.exists() {
            // Its record was lost, so it was made again.
            fs::rename(&path, temporary.join("old")).map_err(StoreError::io("replace", &path))?;
        }
        fs::rename(upper, &path).map_err(StoreError::io("rename", upper))?;
        sync_dir(&self.layers)?;
        fs::remove_dir_all(temporary).map_err(StoreError::io("remove", temporary))
    }

    fn template(&self, manifest: Manifest) -> Result<Template, StoreError> {
        let layers: Vec<_> = manifest.layers.iter().map(|key| self.layer_path(key)).collect();
        match layers.iter().find(|path| !path.is_dir()) {
            Some(path) => Err(StoreError::MissingLayer { template: manifest.name, path: path.clone() }),
            None => Ok(Template { manifest, layers }),
        }
    }

    fn layer_path(&self, key: &LayerKey) -> PathBuf {
        self.layers.join(key.as_str())
    }

    fn record_path(&self, key: &LayerKey) -> PathBuf {
        self.layers.join(format!("{key}.json"))
    }

    fn manifest_path(&self, name: &str) -> PathBuf {
        self.templates.join(format!("{name}.json"))
    }
}

#[cfg(test)]
mod tests;
