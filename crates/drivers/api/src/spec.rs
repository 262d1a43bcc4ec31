//! What to build.

use std::path::PathBuf;

use hood_wire::GuestConfig;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Resources, SandboxId, SnapshotId, VolumeId};

/// Everything a driver needs to build one sandbox.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Every name the driver makes (path, cgroup, host name) derives from it.
    pub id: SandboxId,
    /// The template's files.
    pub root: RootFs,
    /// Whether the root may be written.
    pub root_mode: RootMode,
    /// What is written there from the start.
    pub origin: Origin,
    /// Volumes in its tree.
    pub mounts: Vec<Mount>,
    /// Ceilings.
    pub resources: Resources,
    /// What the guest is told. The driver fills in `filter` and `limits.disk_bytes` (0 where it enforces none).
    pub guest: GuestConfig,
}

/// What the writable layer of a new sandbox holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// Nothing.
    #[default]
    Empty,
    /// What the sandbox of this id had written when it was put to rest ([`crate::Driver::rest`]).
    Kept {
        /// Of which so much came from a snapshot.
        inherited: Bytes,
    },
    /// A copy of a snapshot. What names a machine is made anew.
    Snapshot {
        /// Which.
        id: SnapshotId,
        /// Its size, which counts against the ceiling.
        bytes: Bytes,
    },
}

/// A volume in a sandbox's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Which.
    pub volume: VolumeId,
    /// Where: an absolute path without `.`, `..` and doubled slashes. The folder is made where it is missing.
    pub path: String,
}

/// A template's root filesystem: read-only, shared by all its sandboxes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RootFs {
    /// Identity of the contents and of all fields below. Sandboxes with the same key may share a builder and a nursery.
    pub key: String,
    /// Directories, bottom layer first.
    pub layers: Vec<PathBuf>,
    /// The kernel that drivers which can fork may keep warm.
    pub nursery: Option<Nursery>,
    /// Whether programs inside may make user namespaces and, as root of those, the other kinds.
    pub nested_user_namespaces: bool,
}

/// A language kernel that can be forked from a warm parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nursery {
    /// The language, as contexts name it.
    pub language: String,
    /// The parent's program; the driver adds its own arguments.
    pub argv: Vec<String>,
    /// Modules to import before the first fork.
    pub imports: Vec<String>,
    /// Code to run before the first fork, so that forks share its pages.
    pub warm_up: Vec<String>,
}

/// Whether the root filesystem may be written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RootMode {
    /// Everything is writable, up to the disk limit.
    #[default]
    Writable,
    /// Only this directory, `/tmp`, `/run` and `/dev/shm` are.
    ReadOnlyExcept(String),
}
