//! A template as it is stored and as it is found.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::key::LayerKey;
use crate::recipe::{Nursery, Walls};

/// The tag of a reference without one, as in E2B.
pub(crate) const DEFAULT_TAG: &str = "default";

/// What is stored of a template besides its layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// How it is called.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// SHA-256 of the recipe that it was built from.
    pub recipe: String,
    /// Debian's name of the release in its bottom layer.
    pub suite: String,
    /// Bottom first.
    pub layers: Vec<LayerKey>,
    /// Disk space of all its layers.
    pub bytes: u64,
    /// When it was built, milliseconds since 1970.
    pub created_ms: u64,
    /// Who runs commands and contexts when a request names nobody.
    pub user: String,
    /// Where they start.
    pub workdir: String,
    /// Environment of every command and context.
    pub env: BTreeMap<String, String>,
    /// Processors of a sandbox when a request says nothing.
    pub cpu: u32,
    /// Memory of a sandbox when a request says nothing, MiB.
    pub memory_mib: u64,
    /// A kernel that may be kept warm and forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nursery: Option<Nursery>,
    /// What its sandboxes may do that others may not.
    #[serde(default, skip_serializing_if = "Walls::are_whole")]
    pub walls: Walls,
}

/// A template that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// What is stored of it.
    pub manifest: Manifest,
    /// The absolute paths of its layers' directories, bottom first.
    pub layers: Vec<PathBuf>,
}
