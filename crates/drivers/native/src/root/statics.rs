//! `/dev` and `/sys`: made once, cloned read-only into every sandbox.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen, move_mount,
};

use super::mapped;
use crate::sys::idmap::Forbid;
use crate::templates::Maps;
use crate::warden::messages::View;

/// (name, major, minor). Nothing that reaches hardware, the host's memory, a hypervisor or another mount.
const NODES: &[(&str, u32, u32)] =
    &[("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];

const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

const CPU_FILES: [&str; 3] = ["online", "possible", "present"];

/// The two file systems, attached where only this process and its helpers see them.
pub(crate) struct Statics {
    dev: OwnedFd,
    sys: OwnedFd,
}

impl Statics {
    /// Attached beneath `anchors`, in the server's own mount namespace.
    pub(crate) fn make(anchors: &Path, views: &[View]) -> io::Result<Self> {
        let dev = tmpfs("64k", &anchors.join("dev"))?;
        for (name, major, minor) in NODES {
            let device = rustix::fs::makedev(*major, *minor);
            rustix::fs::mknodat(&dev, *name, FileType::CharacterDevice, Mode::from_raw_mode(0o666), device)?;
            // mknod obeys the umask.
            rustix::fs::chmodat(&dev, *name, Mode::from_raw_mode(0o666), rustix::fs::AtFlags::empty())?;
        }
        for (name, to) in LINKS {
            rustix::fs::symlinkat(*to, &dev, *name)?;
        }
        for dir in ["pts", "shm", "mqueue"] {
            rustix::fs::mkdirat(&dev, dir, Mode::from_raw_mode(0o755))?;
        }
        Ok(Self { dev, sys: sys(&anchors.join("sys"), views)? })
    }

    /// A sandbox's own view of both.
    pub(crate) fn clone_for(&self, maps: &Maps) -> io::Result<(OwnedFd, OwnedFd)> {
        let dev = mapped(self.dev.as_fd(), maps.upper.as_fd(), Forbid::ALL_BUT_DEVICES)?;
        let sys = mapped(self.sys.as_fd(), maps.upper.as_fd(), Forbid::ALL)?;
        Ok((dev, sys))
    }
}

/// The little of `/sys` that run-times look for: CPUs, and their own limits.
fn sys(anchor: &Path, views: &[View]) -> io::Result<OwnedFd> {
    let sys = tmpfs("256k", anchor)?;
    let mut made = Vec::new();
    let mut dirs: Vec<String> = vec!["devices/system/cpu".to_owned(), "fs/cgroup".to_owned()];
    dirs.extend(views.iter().map(|view| format!("fs/cgroup/{}", view.dir)));
    for dir in dirs {
        let mut path = String::new();
        for part in dir.split('/').filter(|part| !part.is_empty()) {
            path = if path.is_empty() { part.to_owned() } else { format!("{path}/{part}") };
            if !made.contains(&path) {
                rustix::fs::mkdirat(&sys, path.as_str(), Mode::from_raw_mode(0o755))?;
                made.push(path.clone());
            }
        }
    }
    // Where controllers share a hierarchy, software looks for each under its own name.
    for view in views.iter().filter(|view| view.controllers.len() > 1) {
        for controller in &view.controllers {
            rustix::fs::symlinkat(view.dir.as_str(), &sys, format!("fs/cgroup/{controller}"))?;
        }
    }
    for name in CPU_FILES {
        let path = format!("devices/system/cpu/{name}");
        let text = std::fs::read(format!("/sys/{path}"))?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&sys, path, flags, Mode::from_raw_mode(0o444))?;
        rustix::io::write(&file, &text)?;
    }
    Ok(sys)
}

/// A small file system, attached at `anchor`: before Linux 6.15 only an attached mount can be cloned.
fn tmpfs(size: &str, anchor: &Path) -> io::Result<OwnedFd> {
    std::fs::create_dir_all(anchor)?;
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "size", size)?;
    fsconfig_set_string(context.as_fd(), "mode", "755")?;
    fsconfig_create(context.as_fd())?;
    let mount = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    move_mount(mount.as_fd(), "", rustix::fs::CWD, anchor, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(rustix::fs::open(anchor, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}
