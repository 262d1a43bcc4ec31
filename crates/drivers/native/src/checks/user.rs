//! The walls of a server without root: what an ordinary user gets from the kernel, and what not.

use std::fs;

use hood_driver_api::{Check, Standing, Wall};

use super::{full, less};
use crate::cgroup::{Delegated, Mounts};
use crate::ids::SUB_IDS;
use crate::rootless::{REFUSED_ADVICE, RootlessError, find_tool, is_allowed, own_range};

/// How systemd hands a group to a command.
const DELEGATE: &str = "start it with `systemd-run --user --scope -p Delegate=yes hood serve`";

/// Who runs these checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// A server that has entered its user namespace.
    Inside,
    /// The host's root, who asks for others.
    Root,
    /// An ordinary user.
    User,
}

/// All but those that both modes share.
pub(super) fn run(mounts: &Mounts, namespaces: Check) -> Vec<Check> {
    let who = who();
    // Root may write everywhere, which says nothing of a user.
    let own = if who == Who::Root { None } else { Delegated::find(mounts) };
    let mut checks = vec![privilege(who), allowed(who, namespaces)];
    checks.extend(limits(mounts, own.as_ref()));
    checks.push(match &own {
        Some(own) => full(Wall::TreeKill, format!("cgroup.kill at {}", own.dir.display())),
        None => less(
            Wall::TreeKill,
            Standing::Partial,
            "by process group, session and parent: a program may slip away until its sandbox ends",
            DELEGATE,
        ),
    });
    let found = "writable layers have no size limit: quotas are root's to set";
    checks.push(less(Wall::Disk, Standing::Missing, found, "serve as root"));
    let found = "all sandboxes share one range of ids";
    checks.push(less(Wall::Idmap, Standing::Missing, found, "serve as root"));
    checks
}

fn who() -> Who {
    match (rustix::process::geteuid().is_root(), crate::rootless::mode()) {
        (false, _) => Who::User,
        (true, hood_driver_api::Mode::Root) => Who::Root,
        (true, hood_driver_api::Mode::Rootless) => Who::Inside,
    }
}

fn privilege(who: Who) -> Check {
    let missing = |error: &RootlessError| {
        less(Wall::Privilege, Standing::Missing, error.to_string(), error.next_step().unwrap_or_default())
    };
    for tool in ["newuidmap", "newgidmap"] {
        if find_tool(tool).is_none() {
            return missing(&RootlessError::NoTool(tool));
        }
    }
    match who {
        Who::Inside => full(Wall::Privilege, format!("root of the user's own ids and {SUB_IDS} sub-ids")),
        Who::Root => {
            full(Wall::Privilege, format!("for users with {SUB_IDS} sub-ids in /etc/subuid and /etc/subgid"))
        }
        Who::User => match own_range() {
            Ok(ranges) => full(Wall::Privilege, format!("{SUB_IDS} sub-ids from {}", ranges.uids)),
            Err(none) => missing(&none.into()),
        },
    }
}

fn allowed(who: Who, namespaces: Check) -> Check {
    let is_open = match who {
        Who::Inside => true,
        Who::User => is_allowed(),
        Who::Root => is_open_to_users(&|path| fs::read_to_string(path).ok()),
    };
    if is_open || namespaces.standing != Standing::Full {
        return namespaces;
    }
    less(Wall::Namespaces, Standing::Missing, "closed to ordinary users", REFUSED_ADVICE)
}

/// By the host's settings: root cannot try it as somebody else.
fn is_open_to_users(read: &dyn Fn(&str) -> Option<String>) -> bool {
    let is = |path: &str, value: &str| read(path).is_some_and(|text| text.trim() == value);
    !is("/proc/sys/user/max_user_namespaces", "0")
        && !is("/proc/sys/kernel/unprivileged_userns_clone", "0")
        && !is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")
}

fn limits(mounts: &Mounts, own: Option<&Delegated>) -> Vec<Check> {
    let has = |name: &str| own.is_some_and(|own| own.controllers.contains(&name));
    let advice = if has_memory(mounts) {
        DELEGATE
    } else {
        "the controllers are of cgroup v1, which hands none to a user: serve as root"
    };
    let check = |(wall, name): (Wall, &str)| {
        if has(name) {
            return full(wall, "cgroup v2, handed to the user");
        }
        if wall == Wall::Pids {
            let found = "by the user namespace alone, which does not count whom it refuses";
            return less(wall, Standing::Partial, found, advice);
        }
        less(wall, Standing::Missing, format!("no `{name}` controller was handed to the user"), advice)
    };
    [(Wall::Memory, "memory"), (Wall::Cpu, "cpu"), (Wall::Pids, "pids")].map(check).to_vec()
}

/// Whether the host's controllers are of cgroup v2.
fn has_memory(mounts: &Mounts) -> bool {
    let read = |at: &std::path::PathBuf| fs::read_to_string(at.join("cgroup.controllers")).ok();
    mounts.v2.as_ref().and_then(read).is_some_and(|all| all.split_whitespace().any(|name| name == "memory"))
}

#[cfg(test)]
mod tests {
    use hood_driver_api::Standing::{Full, Missing, Partial};

    use super::*;

    #[test]
    fn a_closed_switch_closes_the_mode() {
        let host = |path: &'static str, value: &'static str| {
            is_open_to_users(&move |asked| (asked == path).then(|| value.to_owned()))
        };
        assert!(host("/proc/sys/user/max_user_namespaces", "15000\n"));
        assert!(!host("/proc/sys/user/max_user_namespaces", "0\n"));
        assert!(!host("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"));
    }

    #[test]
    fn without_groups_only_processes_are_bounded() {
        let standings = |own: Option<&Delegated>| {
            limits(&Mounts::default(), own).iter().map(|c| c.standing).collect::<Vec<_>>()
        };
        assert_eq!(standings(None), [Missing, Missing, Partial]);
        let own = Delegated { dir: "/x".into(), controllers: vec!["memory", "pids"] };
        assert_eq!(standings(Some(&own)), [Full, Missing, Full]);
    }
}
