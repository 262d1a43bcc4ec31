//! `/dev` and `/sys`: small, made for each sandbox, read-only inside.
//!
//! One file system for all sandboxes would be cheaper, and would join them: a lease on a shared file makes every other
//! sandbox that opens it wait, a lock on a shared inode is seen by all, and inotify tells what the others open.
//!
//! Without root nobody can make a device node: then `/dev` shows the host's own, one mount each, and the latter two hold
//! for those six.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen, open_tree,
};

use crate::sys::idmap::{Forbid, set_attributes};
use crate::templates::Owners;
use crate::warden::messages::View;

/// Name, major, minor.
type Node = (&'static str, u32, u32);

/// Nothing that reaches hardware, the host's memory, a hypervisor or another mount.
const NODES: &[Node] =
    &[("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];

const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

const CPU_FILES: [&str; 3] = ["online", "possible", "present"];

/// What goes into the two file systems of every sandbox.
pub(crate) struct Statics {
    /// Paths in `/sys`, parents first.
    dirs: Vec<String>,
    /// (target, path) in `/sys`.
    links: Vec<(String, String)>,
    /// (path, text) in `/sys`.
    files: Vec<(String, Vec<u8>)>,
}

/// The two file systems of one sandbox.
pub(crate) struct Made {
    pub(crate) dev: OwnedFd,
    pub(crate) sys: OwnedFd,
    /// The host's nodes, to be mounted in `/dev`, in the order of [`node_names`]; none where `/dev` has its own.
    pub(crate) nodes: Vec<OwnedFd>,
}

/// What the device nodes are called.
pub(crate) fn node_names() -> impl Iterator<Item = &'static str> {
    NODES.iter().map(|(name, ..)| *name)
}

impl Statics {
    /// The little of `/sys` that run-times look for: CPUs, and their own limits.
    pub(crate) fn read(views: &[View]) -> io::Result<Self> {
        let mut dirs: Vec<String> = Vec::new();
        let wanted = ["devices/system/cpu".to_owned(), "fs/cgroup".to_owned()].into_iter();
        for dir in wanted.chain(views.iter().map(|view| format!("fs/cgroup/{}", view.dir))) {
            let mut path = String::new();
            for part in dir.split('/').filter(|part| !part.is_empty()) {
                path = if path.is_empty() { part.to_owned() } else { format!("{path}/{part}") };
                if !dirs.contains(&path) {
                    dirs.push(path.clone());
                }
            }
        }
        // Where controllers share a hierarchy, software looks for each under its own name.
        let links = views
            .iter()
            .filter(|view| view.controllers.len() > 1)
            .flat_map(|view| view.controllers.iter().map(|c| (view.dir.clone(), format!("fs/cgroup/{c}"))))
            .collect();
        let files = CPU_FILES
            .iter()
            .map(|name| {
                let path = format!("devices/system/cpu/{name}");
                Ok((path.clone(), std::fs::read(format!("/sys/{path}"))?))
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { dirs, links, files })
    }

    /// All for one sandbox, detached.
    pub(crate) fn make(&self, owners: &Owners) -> io::Result<Made> {
        let (dev, nodes) = match owners {
            Owners::Mapped(_) => (dev(make_node, owners)?, Vec::new()),
            Owners::OnDisk(_) => (dev(make_place, owners)?, host_nodes()?),
        };
        let sys = self.sys(owners)?;
        close_up(&dev, Forbid::ALL_BUT_DEVICES, owners)?;
        close_up(&sys, Forbid::ALL, owners)?;
        Ok(Made { dev, sys, nodes })
    }

    fn sys(&self, owners: &Owners) -> io::Result<OwnedFd> {
        let sys = tmpfs("256k", owners)?;
        for dir in &self.dirs {
            rustix::fs::mkdirat(&sys, dir.as_str(), Mode::from_raw_mode(0o755))?;
        }
        for (target, path) in &self.links {
            rustix::fs::symlinkat(target.as_str(), &sys, path.as_str())?;
        }
        for (path, text) in &self.files {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&sys, path.as_str(), flags, Mode::from_raw_mode(0o444))?;
            rustix::io::write(&file, text)?;
        }
        Ok(sys)
    }
}

/// Read-only, and root inside owns it. Before Linux 6.3 a tmpfs cannot be mapped: then it belongs to nobody there,
/// which its modes allow for. So it does without root.
fn close_up(tree: &OwnedFd, forbid: Forbid, owners: &Owners) -> io::Result<()> {
    let Owners::Mapped(maps) = owners else { return set_attributes(tree.as_fd(), forbid, None) };
    match set_attributes(tree.as_fd(), forbid, Some(maps.userns.as_fd())) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            set_attributes(tree.as_fd(), forbid, None)
        }
        other => other,
    }
}

fn dev(make: impl Fn(&OwnedFd, &Node) -> io::Result<()>, owners: &Owners) -> io::Result<OwnedFd> {
    let dev = tmpfs("64k", owners)?;
    for node in NODES {
        make(&dev, node)?;
    }
    for (name, to) in LINKS {
        rustix::fs::symlinkat(*to, &dev, *name)?;
    }
    for dir in ["pts", "shm", "mqueue"] {
        rustix::fs::mkdirat(&dev, dir, Mode::from_raw_mode(0o755))?;
    }
    Ok(dev)
}

fn make_node(dev: &OwnedFd, (name, major, minor): &Node) -> io::Result<()> {
    let device = rustix::fs::makedev(*major, *minor);
    rustix::fs::mknodat(dev, *name, FileType::CharacterDevice, Mode::from_raw_mode(0o666), device)?;
    // mknod obeys the umask.
    rustix::fs::chmodat(dev, *name, Mode::from_raw_mode(0o666), rustix::fs::AtFlags::empty())?;
    Ok(())
}

/// An empty file that the host's node is mounted on.
fn make_place(dev: &OwnedFd, (name, ..): &Node) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(dev, *name, flags, Mode::from_raw_mode(0o444))?;
    Ok(())
}

/// A view of each of the host's nodes, if it is what its name says.
fn host_nodes() -> io::Result<Vec<OwnedFd>> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    NODES
        .iter()
        .map(|(name, major, minor)| {
            let node = open_tree(rustix::fs::CWD, format!("/dev/{name}"), flags)?;
            if rustix::fs::fstat(&node)?.st_rdev != rustix::fs::makedev(*major, *minor) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            set_attributes(node.as_fd(), Forbid::ALL_BUT_DEVICES, None)?;
            Ok(node)
        })
        .collect()
}

/// A small file system, attached nowhere. Made by the host's root: only then do its device nodes work.
fn tmpfs(size: &str, owners: &Owners) -> io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "size", size)?;
    fsconfig_set_string(context.as_fd(), "mode", "755")?;
    if let Owners::OnDisk(id) = owners {
        // Else the list of mounts inside would show the number of the user who runs the server.
        fsconfig_set_string(context.as_fd(), "uid", id.to_string())?;
        fsconfig_set_string(context.as_fd(), "gid", id.to_string())?;
    }
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}
