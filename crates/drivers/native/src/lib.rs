//! The native driver: walls from the Linux kernel alone, up in milliseconds.
//!
//! May not know: HTTP, deadlines, owners, protocols. Start at [`NativeDriver`], then `sandbox` (the table of steps),
//! `warden` (who puts the walls up, and in which order), `seccomp`. The engineering behind the order of things is told
//! in `ARCHITECTURE.md`; invariants 3, 4 and 8 are held here.
#![deny(unsafe_code)]

mod ceilings;
mod cgroup;
mod checks;
mod control;
mod driver;
mod ground;
mod helper;
mod ids;
mod instance;
mod layer;
pub mod limits;
mod netdoor;
mod network;
mod nursery;
mod random;
mod root;
mod rootless;
mod sandbox;
mod seccomp;
mod stopwatch;
mod sys;
mod templates;
mod warden;

pub use checks::run as checks;
pub use driver::{Config, NativeDriver};
pub use ground::sweep;
pub use helper::WARDEN_COMMAND;
pub use rootless::{
    PROBE_COMMAND, Purpose, RootlessError, enter as enter_rootless, layer_owner, mode, probe as run_probe,
};
#[cfg(fuzzing)]
pub use seccomp::fuzz;
pub use warden::run as run_warden;

/// Moves this process into a mount namespace of its own: what the driver mounts is then seen by nobody else, and is
/// gone with the process however it ends. Must be called before any thread is started.
pub fn enter_private_mounts() -> std::io::Result<()> {
    use rustix::mount::MountPropagationFlags as P;
    sys::namespaces::unshare(libc::CLONE_NEWNS)?;
    // Downstream: what the host mounts later (a volume with templates on it) still arrives here.
    rustix::mount::mount_change("/", P::DOWNSTREAM | P::REC)?;
    Ok(())
}
