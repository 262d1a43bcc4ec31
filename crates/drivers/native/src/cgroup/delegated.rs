//! The process's own cgroup2 group, where it was handed to the user, as `systemd-run --user --scope -p Delegate=yes`
//! does.
//!
//! v1 hierarchies are not looked at: there a process is moved by the id of whoever opened the file, and the user is not
//! whom its sandboxes' processes run as.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::Mounts;

/// What the driver can use.
const WANTED: [&str; 3] = ["memory", "cpu", "pids"];

/// A group that this process may make others in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delegated {
    pub(crate) dir: PathBuf,
    /// Controllers that it can hand on to sandboxes.
    pub(crate) controllers: Vec<&'static str>,
}

impl Delegated {
    /// The process's own group, if it is the user's.
    pub(crate) fn find(mounts: &Mounts) -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let dir = own(mounts.v2.as_deref()?, &groups)?;
        let writable = |path: &Path| access(path, Access::WRITE_OK).is_ok();
        if !writable(&dir) || !writable(&dir.join("cgroup.procs")) {
            return None;
        }
        // The kernel hands controllers on from a group without processes only: the server can leave, others cannot be
        // sent away.
        let procs = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        let alone = is_alone(&procs, rustix::process::getpid().as_raw_nonzero().get());
        let has = fs::read_to_string(dir.join("cgroup.controllers")).unwrap_or_default();
        let controllers = if alone { wanted(&has) } else { Vec::new() };
        Some(Self { dir, controllers })
    }
}

fn own(mount: &Path, groups: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // Outside what this process may see.
    (!path.split('/').any(|part| part == "..")).then(|| mount.join(path))
}

fn is_alone(procs: &str, me: i32) -> bool {
    procs.lines().all(|line| line.trim().parse() == Ok(me))
}

fn wanted(has: &str) -> Vec<&'static str> {
    WANTED.into_iter().filter(|name| has.split_whitespace().any(|h| h == *name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_beneath_the_mount() {
        let mount = Path::new("/sys/fs/cgroup");
        let groups = "5:pids:/x\n0::/user.slice/run-1.scope\n";
        assert_eq!(own(mount, groups), Some(mount.join("user.slice/run-1.scope")));
        assert_eq!(own(mount, "0::/\n"), Some(mount.to_owned()));
        assert_eq!(own(mount, "0::/../other\n"), None);
        assert_eq!(own(mount, "5:pids:/x\n"), None);
    }

    #[test]
    fn controllers_are_handed_on_only_by_a_group_of_our_own() {
        assert!(is_alone("12\n", 12) && is_alone("", 12) && !is_alone("12\n13\n", 12));
        assert_eq!(wanted("cpuset io memory pids"), ["memory", "pids"]);
    }
}
