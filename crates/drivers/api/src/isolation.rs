//! Which walls stand, in words for `hood doctor` and for a sandbox's detail.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Not there. A server starts without it only where it was told to, and never when the wall is a needed one.
    Missing,
}

/// What a server can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// No sandbox is made without it.
    Always,
    /// The server's owner may do without it, by name.
    UnlessToldOtherwise,
    /// Advice: nothing depends on it.
    Never,
}

/// Which walls stand around a driver's sandboxes. It does not change while the server runs, and no sandbox outlives
/// its server, so what is said of the driver holds for each sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// The driver's name.
    pub driver: String,
    /// With which rights the server builds walls.
    pub mode: Mode,
    /// What reaches out of a sandbox and into it.
    pub network: Network,
    /// The walls, each with how it stands.
    pub walls: BTreeMap<Wall, Standing>,
}

/// With which rights a server builds walls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The host's root.
    Root,
    /// An ordinary user's, as root of a user namespace of that user's own.
    Rootless,
}

/// The network of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Loopback, and nothing else.
    None,
    /// Loopback, and connections through the gate.
    Gate,
}

/// The text names no wall.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no wall; they are {all}", all = names())]
pub struct ParseWallError(String);

// === impl Wall ===

impl Wall {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Kernel,
        Self::Privilege,
        Self::Namespaces,
        Self::Memory,
        Self::Cpu,
        Self::Pids,
        Self::TreeKill,
        Self::Disk,
        Self::Idmap,
        Self::Seccomp,
        Self::HostSettings,
    ];

    /// Its name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Privilege => "privilege",
            Self::Namespaces => "namespaces",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
            Self::TreeKill => "tree_kill",
            Self::Disk => "disk",
            Self::Idmap => "idmap",
            Self::Seccomp => "seccomp",
            Self::HostSettings => "host_settings",
        }
    }

    /// Whether a server with these rights may start without it.
    pub const fn need(self, mode: Mode) -> Need {
        match (self, mode) {
            // A full disk hurts the host's other work, but lets nothing out.
            (Self::Disk, _) => Need::UnlessToldOtherwise,
            (Self::HostSettings, _) => Need::Never,
            // What the kernel gives to root alone, or to a user only through an administrator. None of them is what
            // keeps a sandbox in: without them it can take more of the machine than its share.
            (Self::Memory | Self::Cpu | Self::Pids | Self::TreeKill | Self::Idmap, Mode::Rootless) => {
                Need::UnlessToldOtherwise
            }
            _ => Need::Always,
        }
    }
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Wall {
    type Err = ParseWallError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|wall| wall.name() == name);
        found.ok_or_else(|| ParseWallError(name.chars().take(64).collect()))
    }
}

// === impl Mode ===

impl Mode {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Root, Self::Rootless];
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::Rootless => "rootless",
        })
    }
}

// === impl Standing ===

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::Missing => "missing",
        })
    }
}

fn names() -> String {
    Wall::ALL.map(Wall::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_has_one_name_everywhere() {
        for wall in Wall::ALL {
            assert_eq!(wall.name().parse::<Wall>().expect("its own name"), wall);
            let json = serde_json::to_value(wall).expect("a word");
            assert_eq!(json, serde_json::json!(wall.name()));
        }
        assert!("roof".parse::<Wall>().expect_err("no wall").to_string().contains("tree_kill"));
    }

    #[test]
    fn without_root_only_what_bounds_a_sandbox_can_be_spared() {
        let spared = |mode| Wall::ALL.into_iter().filter(move |w| w.need(mode) == Need::UnlessToldOtherwise);
        let names = |mode| spared(mode).map(Wall::name).collect::<Vec<_>>();
        assert_eq!(names(Mode::Root), ["disk"]);
        assert_eq!(names(Mode::Rootless), ["memory", "cpu", "pids", "tree_kill", "disk", "idmap"]);
    }

    #[test]
    fn isolation_is_plain_words_in_json() {
        let isolation = Isolation {
            driver: "native".to_owned(),
            mode: Mode::Root,
            network: Network::None,
            walls: BTreeMap::from([(Wall::Disk, Standing::Missing), (Wall::TreeKill, Standing::Full)]),
        };
        let expected = serde_json::json!({
            "driver": "native", "mode": "root", "network": "none",
            "walls": {"disk": "missing", "tree_kill": "full"},
        });
        assert_eq!(serde_json::to_value(isolation).expect("plain data"), expected);
    }
}
