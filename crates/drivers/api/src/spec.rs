//! What to build.

use std::path::PathBuf;

use hood_wire::GuestConfig;

use crate::{Resources, SandboxId};

/// Everything a driver needs to build one sandbox.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Every name the driver makes (path, cgroup, host name) derives from it.
    pub id: SandboxId,
    /// The template's files.
    pub root: RootFs,
    /// Whether the root may be written.
    pub root_mode: RootMode,
    /// Ceilings.
    pub resources: Resources,
    /// What the guest is told. The driver fills in `filter` and `limits.disk_bytes` (0 where it enforces none).
    pub guest: GuestConfig,
}

/// A template's root filesystem: read-only, shared by all its sandboxes.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootMode {
    /// Everything is writable, up to the disk limit.
    Writable,
    /// Only this directory, `/tmp`, `/run` and `/dev/shm` are.
    ReadOnlyExcept(String),
}
