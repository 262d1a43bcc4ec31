//! What this host allows: `hood doctor`, the start-up message and a sandbox's detail.

mod user;

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use hood_driver_api::{Check, Isolation, Mode, Network, Standing, Wall};

use crate::cgroup::Mounts;
use crate::helper::NO_RULES;
use crate::layer;
use crate::network;
use crate::rootless;
use crate::sys::btrfs;

/// The oldest kernel that the driver is built for (reference `walls.md` 10).
const OLDEST_KERNEL: (u32, u32) = (6, 1);

/// Says what to do where layers have no size limit.
const DISK_ADVICE: &str = "put the data directory on btrfs, or `apt-get install btrfs-progs` and load the modules `btrfs` and `loop`";

/// Looks at the host, for a server in this mode on this data directory, which need not exist; changes nothing.
pub fn run(mode: Mode, data_dir: &Path) -> Vec<Check> {
    let mounts = Mounts::read().unwrap_or_default();
    let mut checks = vec![kernel()];
    match mode {
        Mode::Root => {
            checks.extend([privilege(), with_rules(namespaces())]);
            checks.extend(controllers(&mounts));
            checks.extend([tree_kill(&mounts), disk(data_dir)]);
            checks.push(full(Wall::Idmap, "a range of ids for each sandbox"));
        }
        Mode::Rootless => checks.extend(user::run(&mounts, namespaces())),
    }
    checks.push(seccomp());
    checks.extend(host_settings());
    checks
}

fn full(wall: Wall, found: impl Into<String>) -> Check {
    Check { wall, standing: Standing::Full, found: found.into(), advice: None }
}

fn less(wall: Wall, standing: Standing, found: impl Into<String>, advice: impl Into<String>) -> Check {
    Check { wall, standing, found: found.into(), advice: Some(advice.into()) }
}

fn kernel() -> Check {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= OLDEST_KERNEL {
        return full(Wall::Kernel, format!("Linux {release}"));
    }
    let advice = format!("Linux {}.{} or newer is needed", OLDEST_KERNEL.0, OLDEST_KERNEL.1);
    less(Wall::Kernel, Standing::Missing, format!("Linux {release}"), advice)
}

fn privilege() -> Check {
    if rootless::mode() == Mode::Root {
        return full(Wall::Privilege, "root");
    }
    less(
        Wall::Privilege,
        Standing::Missing,
        "not root",
        "start it with sudo; or without root, with fewer walls",
    )
}

fn namespaces() -> Check {
    let missing: Vec<_> = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"]
        .into_iter()
        .filter(|name| !Path::new("/proc/self/ns").join(name).exists())
        .collect();
    if missing.is_empty() {
        return full(Wall::Namespaces, "user, mnt, pid, net, ipc, uts, cgroup");
    }
    let found = format!("the kernel lacks {}", missing.join(", "));
    less(Wall::Namespaces, Standing::Missing, found, "use a distribution's kernel")
}

/// The network's rules as well, which only root can try out.
fn with_rules(namespaces: Check) -> Check {
    if namespaces.standing != Standing::Full || rootless::mode() != Mode::Root {
        return namespaces;
    }
    match network::try_out() {
        Ok(()) => full(Wall::Namespaces, format!("{}; nf_tables", namespaces.found)),
        Err(error) => {
            let found = format!("the rules of a sandbox's network cannot be loaded: {error}");
            less(Wall::Namespaces, Standing::Missing, found, NO_RULES)
        }
    }
}

fn controllers(mounts: &Mounts) -> Vec<Check> {
    let v2 = mounts.v2.as_ref().and_then(|at| fs::read_to_string(at.join("cgroup.controllers")).ok());
    let has_v2 = |name: &str| v2.as_ref().is_some_and(|all| all.split_whitespace().any(|c| c == name));
    let check = |(wall, name): (Wall, &str)| {
        if has_v2(name) {
            full(wall, "cgroup v2")
        } else if let Some(at) = mounts.v1_of(name) {
            full(wall, format!("cgroup v1 at {}", at.display()))
        } else {
            let advice = format!("boot with the `{name}` controller on (for memory: `cgroup_enable=memory`)");
            less(wall, Standing::Missing, format!("no `{name}` controller"), advice)
        }
    };
    [(Wall::Memory, "memory"), (Wall::Cpu, "cpu"), (Wall::Pids, "pids")].into_iter().map(check).collect()
}

fn tree_kill(mounts: &Mounts) -> Check {
    if let Some(at) = &mounts.v2 {
        return full(Wall::TreeKill, format!("cgroup.kill at {}", at.display()));
    }
    let advice = "mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 none /sys/fs/cgroup/unified";
    less(Wall::TreeKill, Standing::Missing, "cgroup2 is not mounted", advice)
}

fn disk(data_dir: &Path) -> Check {
    let there = data_dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"));
    let on_btrfs = layer::open_dir(there).and_then(|dir| btrfs::is_btrfs(dir.as_fd()));
    if on_btrfs.unwrap_or(false) {
        return full(Wall::Disk, "btrfs subvolumes with quotas, beside the data");
    }
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let tool = layer::image(data_dir).exists()
        || std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            // An ordinary user's path has not what root's has.
            .chain(["/usr/sbin".into(), "/sbin".into()])
            .any(|dir| dir.join("mkfs.btrfs").exists());
    // The module may be loadable without being loaded.
    let btrfs = known.lines().any(|line| line.trim() == "btrfs")
        || fs::read_dir("/lib/modules").is_ok_and(|mut all| all.next().is_some());
    let loops = Path::new("/dev/loop-control").exists();
    match (btrfs, loops, tool) {
        (true, true, true) => full(Wall::Disk, "btrfs subvolumes with quotas"),
        (false, ..) => no_disk_limit("the kernel has no btrfs"),
        (_, false, _) => no_disk_limit("there are no loop devices"),
        (.., false) => no_disk_limit("`mkfs.btrfs` is not installed"),
    }
}

/// Layers have no size limit of their own, and why.
pub(crate) fn no_disk_limit(why: &str) -> Check {
    let found = format!("writable layers have no size limit: {why}");
    less(Wall::Disk, Standing::Missing, found, DISK_ADVICE)
}

/// The walls around each sandbox of a server whose start found these.
pub(crate) fn isolation(driver: &str, mode: Mode, checks: &[Check]) -> Isolation {
    // Facts of the host: no walls of a sandbox.
    const OF_THE_HOST: [Wall; 3] = [Wall::Kernel, Wall::Privilege, Wall::HostSettings];
    let walls = checks
        .iter()
        .filter(|check| !OF_THE_HOST.contains(&check.wall))
        .map(|check| (check.wall, check.standing))
        .collect();
    Isolation { driver: driver.to_owned(), mode, network: Network::Gate, walls }
}

fn seccomp() -> Check {
    match fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail") {
        Ok(actions) if actions.contains("errno") => full(Wall::Seccomp, "filters"),
        _ => less(Wall::Seccomp, Standing::Missing, "no seccomp filters", "use a distribution's kernel"),
    }
}

/// Settings of the whole host: suggested, never changed by us. (The driver raises the inotify ceilings at its start,
/// where it may: see `ceilings`.)
fn host_settings() -> Vec<Check> {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let mut checks = Vec::new();
    let mut suggest = |path: &str, bad: &dyn Fn(&str) -> bool, advice: &str| {
        if let Some(value) = read(path).filter(|value| bad(value)) {
            let name = path.trim_start_matches("/proc/sys/").replace('/', ".");
            checks.push(less(Wall::HostSettings, Standing::Partial, format!("{name} is {value}"), advice));
        }
    };
    let below = |limit: u64| move |value: &str| value.parse::<u64>().is_ok_and(|v| v < limit);
    suggest(
        "/proc/sys/kernel/pid_max",
        &below(100_000),
        "`sysctl kernel.pid_max=4194304` before hundreds of sandboxes run",
    );
    suggest(
        "/proc/sys/fs/inotify/max_user_instances",
        &below(1024),
        "`sysctl fs.inotify.max_user_instances=8192`: watches of all sandboxes count against it",
    );
    suggest(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        &|value| value == "1",
        "AppArmor restricts user namespaces: give the hood binary a profile with `userns,`",
    );
    if checks.is_empty() {
        checks.push(full(Wall::HostSettings, "nothing to suggest"));
    }
    checks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_sandbox_is_told_of_walls_and_not_of_the_host() {
        let checks = [
            full(Wall::Kernel, "Linux"),
            full(Wall::Memory, "cgroup v2"),
            no_disk_limit("there are no loop devices"),
            less(Wall::HostSettings, Standing::Partial, "kernel.pid_max is 1", "raise it"),
        ];
        let walls = isolation("native", Mode::Rootless, &checks).walls;
        let expected = [(Wall::Memory, Standing::Full), (Wall::Disk, Standing::Missing)];
        assert_eq!(walls, BTreeMap::from(expected));
    }
}
