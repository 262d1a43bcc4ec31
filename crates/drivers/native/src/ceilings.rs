//! Ceilings of kernel objects that the kernel counts per owner of a user namespace.
//!
//! All sandboxes of a template have namespaces below the template's, so what each of them uses is also counted, summed,
//! for the template's owner on the host. With the host's defaults (128 inotify instances, 800 KiB of message queues)
//! one sandbox takes all of it and its neighbours get none (reference `walls.md` F7). So the sum must not be what
//! binds: each sandbox has limits of its own, and the host's are raised above all of them together.

use std::fs;
use std::io;

use crate::ids::MAX_SLOTS;
use crate::sys::namespaces;

/// inotify instances of one sandbox: what an ordinary host gives each of its users.
pub(crate) const INOTIFY_INSTANCES: u32 = 128;

/// inotify watches of one sandbox.
pub(crate) const INOTIFY_WATCHES: u32 = 65536;

/// Raises the host's inotify ceilings so that all sandboxes of a template fit; never lowers them. Returns what it
/// could not do, which is then the operator's to do.
pub(crate) fn raise_inotify() -> Vec<String> {
    [("max_user_instances", INOTIFY_INSTANCES), ("max_user_watches", INOTIFY_WATCHES)]
        .into_iter()
        .filter_map(|(name, each)| {
            let wanted = u64::from(each) * u64::from(MAX_SLOTS);
            raise(&format!("/proc/sys/fs/inotify/{name}"), wanted)
                .err()
                .map(|error| format!("`sysctl fs.inotify.{name}={wanted}` failed: {error}"))
        })
        .collect()
}

fn raise(path: &str, wanted: u64) -> io::Result<()> {
    let present: u64 = fs::read_to_string(path)?.trim().parse().map_err(io::Error::other)?;
    if present < wanted { fs::write(path, wanted.to_string()) } else { Ok(()) }
}

/// Share of the user's inotify ceilings that all sandboxes of a server without root get together, as a divisor.
pub(crate) const SHARE_OF_USER: u64 = 2;

/// Without root what sandboxes use is also counted for the user who runs the server, whose editor needs file watches,
/// too. So the server's own user namespace gets a part of what the host gives a user.
pub(crate) fn leave_inotify_to_user() -> io::Result<()> {
    for name in ["max_user_instances", "max_user_watches"] {
        let text = fs::read_to_string(format!("/proc/sys/fs/inotify/{name}"))?;
        let given: u64 = text.trim().parse().map_err(io::Error::other)?;
        let own = format!("/proc/sys/user/{}", name.replace("_user_", "_inotify_"));
        fs::write(own, (given / SHARE_OF_USER).to_string())?;
    }
    Ok(())
}

/// Lifts this process's limits that the kernel freezes into a user namespace it makes. Best effort: without
/// CAP_SYS_RESOURCE they stay what the host gave, and then bind all sandboxes of a template together.
pub(crate) fn lift_frozen_limits() {
    for resource in [libc::RLIMIT_NPROC, libc::RLIMIT_SIGPENDING, libc::RLIMIT_MSGQUEUE] {
        namespaces::lift_limit(resource);
    }
}
