//! Where the host has its cgroup hierarchies.

use std::path::{Path, PathBuf};

/// The hierarchies, read from `/proc/self/mountinfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mounts {
    /// The cgroup2 mount.
    pub(crate) v2: Option<PathBuf>,
    /// v1 mounts with their controllers.
    pub(crate) v1: Vec<(PathBuf, Vec<String>)>,
}

impl Mounts {
    /// Of this process's mount namespace.
    pub(crate) fn read() -> std::io::Result<Self> {
        Ok(Self::parse(&std::fs::read_to_string("/proc/self/mountinfo")?))
    }

    fn parse(mountinfo: &str) -> Self {
        let mut mounts = Self::default();
        for line in mountinfo.lines() {
            let Some((left, right)) = line.split_once(" - ") else { continue };
            let left: Vec<&str> = left.split(' ').collect();
            let right: Vec<&str> = right.split(' ').collect();
            // A bind of a sub-group is not the hierarchy: its root field is not `/`.
            let (Some(&"/"), Some(at)) = (left.get(3), left.get(4)) else { continue };
            match (right.first(), right.get(2)) {
                (Some(&"cgroup2"), _) if mounts.v2.is_none() => mounts.v2 = Some(PathBuf::from(at)),
                (Some(&"cgroup"), Some(options)) => {
                    let controllers = options
                        .split(',')
                        .filter(|o| !matches!(*o, "rw" | "ro" | "xattr") && !o.contains('='))
                        .map(str::to_owned)
                        .collect::<Vec<_>>();
                    if !controllers.is_empty() {
                        mounts.v1.push((PathBuf::from(at), controllers));
                    }
                }
                _ => {}
            }
        }
        mounts
    }

    /// The v1 mount of a controller.
    pub(crate) fn v1_of(&self, controller: &str) -> Option<&Path> {
        self.v1.iter().find(|(_, has)| has.iter().any(|c| c == controller)).map(|(at, _)| at.as_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_told_apart() {
        let text = "\
30 23 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct
31 23 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
32 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate
33 23 0:27 /sub /elsewhere rw - cgroup cgroup rw,memory
34 23 0:29 / /tmp rw - tmpfs tmpfs rw
";
        let mounts = Mounts::parse(text);
        assert_eq!(mounts.v2.as_deref(), Some(Path::new("/sys/fs/cgroup/unified")));
        assert_eq!(mounts.v1_of("cpuacct"), Some(Path::new("/sys/fs/cgroup/cpu,cpuacct")));
        assert_eq!(mounts.v1_of("memory"), None);
    }
}
