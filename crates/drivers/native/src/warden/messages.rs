//! What the server, the warden and the builders say to each other. All ends are ours; the bound is `sys::socket`'s.

use serde::{Deserialize, Serialize};

/// One line of a uid and gid map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdLine {
    /// First id inside.
    pub(crate) inside: u32,
    /// First id outside.
    pub(crate) outside: u32,
    /// How many.
    pub(crate) count: u32,
}

/// To the warden.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWarden {
    /// A user namespace with these maps, to map mounts with. The answer carries its descriptor.
    UserNamespace { lines: Vec<IdLine> },
    /// A builder with a user namespace of `count` ids from `base`. Carries its socket and, where there are groups, its
    /// cgroup2 directory.
    Builder { base: u32, count: u32 },
}

/// To a builder.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToBuilder {
    /// Put up a sandbox. The answer carries the guest's pidfd and its network namespace.
    Build(Build),
    /// Start the template's nursery. Carries, in this order: root, `/dev`, its cgroup2 directory, its socket, the
    /// joiner, its settings.
    Nurse(Nurse),
}

/// The template's nursery.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Nurse {
    /// The program and its arguments, found through `PATH` in the template.
    pub(crate) argv: Vec<String>,
    /// Its environment.
    pub(crate) env: Vec<(String, String)>,
}

/// A sandbox. Descriptors come in the order of `roles`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Build {
    pub(crate) roles: Vec<Role>,
    /// Host name inside.
    pub(crate) hostname: String,
    /// Root inside, counted in U.
    pub(crate) root: u32,
    /// Who S is made and counted for, in U.
    pub(crate) account: u32,
    /// The maps of S.
    pub(crate) lines: Vec<IdLine>,
    /// Ceiling of processes, the second fence behind the pids controller.
    pub(crate) max_processes: u64,
    /// Size of `/dev/shm` in bytes.
    pub(crate) shm_bytes: u64,
    /// What `/proc/sys/kernel/random/boot_id` says.
    pub(crate) boot_id: String,
    /// The only writable directory, where the root is read-only.
    pub(crate) writable: Option<String>,
    /// Where the volumes go, in the order of their descriptors.
    pub(crate) volumes: Vec<String>,
    /// The sandbox's own groups, shown read-only beneath `/sys/fs/cgroup`.
    pub(crate) views: Vec<View>,
    /// Programs inside may make user namespaces.
    pub(crate) nested_user_namespaces: bool,
}

/// One cgroup hierarchy as the sandbox sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct View {
    /// `cgroup` or `cgroup2`.
    pub(crate) fs: String,
    /// v1 controllers, as mount options.
    pub(crate) controllers: Vec<String>,
    /// Directory beneath `/sys/fs/cgroup`; empty for that itself.
    pub(crate) dir: String,
}

/// What a descriptor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    /// The overlay, a detached mount.
    Root,
    /// `/dev`, a detached read-only mount.
    Dev,
    /// `/sys`, a detached read-only mount.
    Sys,
    /// The guest's program.
    Guest,
    /// The guest's end of the control socket.
    Control,
    /// The sandbox's cgroup2 directory; not sent where there are no groups.
    Group,
    /// A device node to be mounted in `/dev`; they come in one order, or not at all.
    Node,
    /// A v1 `tasks` file to write `0` into.
    Tasks,
    /// A volume, a detached mount.
    Volume,
}

/// From either.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Done. Carries: a user namespace; or nothing; or the guest's pidfd and network namespace; or, as a builder's first
    /// word, its own pidfd.
    Done,
    /// This step failed.
    Failed { step: String, errno: i32 },
}
