//! Volumes and their files, as clients see them.

use hood_engine::files::{Entry, Kind};
use serde::Serialize;

use crate::wire::When;

/// A volume in a listing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Volume {
    #[serde(rename = "volumeID")]
    id: String,
    name: String,
    /// Ours, as is the next.
    created_at: When,
    #[serde(rename = "sizeMB")]
    size_mib: u64,
}

/// A volume, with what opens its files.
#[derive(Debug, Serialize)]
pub(crate) struct VolumeAndToken {
    #[serde(flatten)]
    volume: Volume,
    token: String,
}

/// What is told of a file.
#[derive(Debug, Serialize)]
pub(crate) struct Stat {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    path: String,
    size: u64,
    mode: u32,
    uid: u32,
    gid: u32,
    atime: When,
    mtime: When,
    ctime: When,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

// === impl Volume ===

impl Volume {
    pub(crate) fn of(volume: &hood_engine::Volume) -> Self {
        Self {
            id: volume.id.to_string(),
            name: volume.name.clone(),
            created_at: When(volume.created_at),
            size_mib: volume.size.as_mib(),
        }
    }
}

// === impl VolumeAndToken ===

impl VolumeAndToken {
    pub(crate) fn of(volume: &hood_engine::Volume) -> Self {
        Self { volume: Volume::of(volume), token: volume.token.0.clone() }
    }
}

// === impl Stat ===

impl Stat {
    pub(crate) fn of(entry: &Entry) -> Self {
        Self {
            name: entry.name().to_owned(),
            kind: match entry.kind {
                Kind::File => "file",
                Kind::Folder => "directory",
                Kind::Link => "symlink",
                Kind::Other => "unknown",
            },
            path: entry.path.clone(),
            size: entry.size,
            mode: entry.mode,
            uid: entry.uid,
            gid: entry.gid,
            atime: When(entry.read_at.into()),
            mtime: When(entry.changed_at.into()),
            ctime: When(entry.touched_at.into()),
            target: entry.target.clone(),
        }
    }
}
