//! Rootless mode: the server as an ordinary user.
//!
//! At its start, before any thread, the process steps into a user namespace of its own (O) in which it is root: over
//! itself and over the user's sub-ids of `/etc/subuid` and `/etc/subgid`, and over nothing else of the host. From there
//! the driver works as it does with root. What the kernel keeps from it is said by [`crate::checks`]; which ids are
//! whose by [`crate::ids`].
//!
//! The user's own id is never in a sandbox: root inside is a sub-id.

mod census;
mod enter;
mod leftovers;
mod subids;

use hood_driver_api::Mode;

use crate::ids::Ids;

pub(crate) use census::count;
pub use enter::{PROBE_COMMAND, Purpose, RootlessError, enter, probe};
pub(crate) use enter::{REFUSED_ADVICE, find_tool, is_allowed};
pub(crate) use leftovers::{end, end_leftovers};
pub(crate) use subids::own_range;

/// As many ids as root mode counts on; a container's root may have far fewer.
const ALL_IDS: u64 = 1 << 31;

/// With which rights this process builds walls, now.
pub fn mode() -> Mode {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_root = rustix::process::geteuid().is_root();
    if is_root && mapped_ids(&map) >= ALL_IDS { Mode::Root } else { Mode::Rootless }
}

/// Who must own the files of a layer that this process makes itself, where it is not this process: root inside is somebody
/// else for a server without root.
pub fn layer_owner() -> Option<u32> {
    let is_inside = mode() == Mode::Rootless && rustix::process::geteuid().is_root();
    is_inside.then(|| Ids::of(Mode::Rootless).root_on_disk())
}

fn mapped_ids(map: &str) -> u64 {
    let count = |line: &str| line.split_whitespace().nth(2)?.parse::<u64>().ok();
    map.lines().filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_of_a_few_ids_is_not_root() {
        assert!(mapped_ids("         0          0 4294967295\n") >= ALL_IDS);
        assert_eq!(mapped_ids("0 1000 1\n1 100000 65536\n"), 65537);
    }
}
