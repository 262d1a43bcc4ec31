//! Which walls stand, in words for `hood doctor` and for a sandbox's detail.

use serde::{Deserialize, Serialize};

/// One wall or ability of a driver on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What is meant, in the user's words.
    pub wall: Wall,
    /// Whether it stands.
    pub standing: Standing,
    /// What was found, in one line.
    pub found: String,
    /// What to do about it, where something can be done.
    pub advice: Option<String>,
}

/// The things that a driver checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wall {
    /// The kernel is new enough.
    Kernel,
    /// The server has the rights to build walls.
    Privilege,
    /// User, mount, pid, net, ipc, uts and cgroup namespaces.
    Namespaces,
    /// Memory ceiling and OOM detection.
    Memory,
    /// CPU quota.
    Cpu,
    /// Process count ceiling.
    Pids,
    /// Killing whole process trees at once.
    TreeKill,
    /// Hard size of the writable layer.
    Disk,
    /// Layers with a range of ids of their own.
    Idmap,
    /// The system call filter.
    Seccomp,
    /// Host settings that widen or narrow what the above leaves.
    HostSettings,
}

/// How well one wall stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As promised.
    Full,
    /// Works, but less than promised; `found` says what is missing.
    Partial,
    /// Not there. The driver refuses to create sandboxes when the wall is a needed one.
    Missing,
}
