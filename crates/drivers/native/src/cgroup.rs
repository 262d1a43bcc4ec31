//! Groups of a sandbox: one cgroup2 group for its life, and limits in whichever version the host has.
//!
//! Life (killing a tree, seeing it empty) always goes through cgroup2, because even a host whose controllers are all
//! v1 has `cgroup.kill` and `cgroup.events` in a cgroup2 mount without controllers (reference `walls.md` F10). Limits
//! go through [`v1`] or [`v2`]. Names derive from the instance and the sandbox's id alone, so that what an earlier run
//! left behind can be removed without a memory of it.
//!
//! ```text
//! <cgroup2>/hood-<instance>/t<n>/builder        the template's builder
//!                              /<sandbox id>/    the guest; c-<n>/ below it are the guest's own
//! <v1 memory|cpu|pids>/hood-<instance>/<sandbox id>/
//! ```
//!
//! Without root the tree hangs beneath the process's own group, if that was handed to the user ([`delegated`]); and if
//! not, there are no groups: then killing goes by process, and nothing is limited.

mod delegated;
mod files;
mod life;
mod mounts;
mod unlimited;
mod v1;
mod v2;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use hood_driver_api::{Bytes, Resources, SandboxId};

pub(crate) use delegated::Delegated;
pub(crate) use life::{Life, TemplateGroup};
pub(crate) use mounts::Mounts;

use crate::warden::messages::View;

/// What the groups of one sandbox report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Meter {
    pub(crate) cpu: Duration,
    pub(crate) memory: Bytes,
    pub(crate) cache: Bytes,
    pub(crate) pids: u32,
    pub(crate) oom_kills: u64,
    pub(crate) pids_refused: u64,
}

/// The limits of one sandbox.
pub(crate) trait Limits: Send + Sync {
    /// Makes its groups and sets its ceilings. Returns the v1 `tasks` files that its first process writes itself into.
    fn make(&self, id: &SandboxId, template: &TemplateGroup, ask: &Resources) -> io::Result<Vec<OwnedFd>>;

    /// Sets other ceilings of memory and processor time in groups that are there.
    fn set(&self, id: &SandboxId, template: &TemplateGroup, ask: &Resources) -> io::Result<()>;

    /// The v1 `tasks` files of a sandbox that exists.
    fn tasks(&self, id: &SandboxId) -> io::Result<Vec<OwnedFd>>;

    /// Removes its groups; succeeds on what is not there.
    fn remove(&self, id: &SandboxId) -> io::Result<()>;

    /// Removes every group of the instance and returns how many there were.
    fn remove_all(&self) -> io::Result<usize>;

    /// Reads its counters; `None` where nothing counts.
    fn meter(&self, id: &SandboxId, template: &TemplateGroup) -> io::Result<Option<Meter>>;

    /// Whether the kernel refuses processes beyond the sandbox's ceiling.
    fn holds_pids(&self) -> bool;

    /// How the sandbox sees its own groups.
    fn views(&self) -> Vec<View>;
}

/// The back end without root: whichever controllers were handed to the user.
pub(crate) fn limits_of_user(delegated: Option<&Delegated>) -> Box<dyn Limits> {
    match delegated {
        Some(own) if !own.controllers.is_empty() => Box::new(v2::V2::beneath(own)),
        _ => Box::new(unlimited::Unlimited),
    }
}

/// The back end this host needs, or what is missing for any.
pub(crate) fn limits(mounts: &Mounts, instance: &str) -> Result<Box<dyn Limits>, String> {
    if let Some(v2) = v2::V2::find(mounts) {
        return Ok(Box::new(v2));
    }
    v1::V1::find(mounts, instance).map(|v1| Box::new(v1) as Box<dyn Limits>)
}
