//! The sandbox's mounts: everything attached by handle beneath `/new`, `/proc` masked, then made the root.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountAttrFlags, MountPropagationFlags, UnmountFlags};

use super::init::Handed;
use super::masks::Masks;
use super::messages::Build;
use super::mounts::{Set, attach, clone_of, cover, detached, target, target_here};
use crate::limits;
use crate::root::node_names;
use crate::sys::idmap::{Forbid, set_attributes};

/// Builds the whole tree on `/new` and makes it the root. Returns a handle on `/proc/sys/user` from before it became
/// read-only.
pub(super) fn build(build: &Build, masks: &Masks, handed: &Handed) -> io::Result<OwnedFd> {
    use MountAttrFlags as A;
    let quiet = A::MOUNT_ATTR_NOSUID | A::MOUNT_ATTR_NODEV | A::MOUNT_ATTR_NOEXEC;
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let slash = rustix::fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    attach(handed.root.as_fd(), target(&slash, "new")?.as_fd())?;
    let new = rustix::fs::open("/new", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;

    attach(handed.dev.as_fd(), target(&new, "dev")?.as_fd())?;
    for (name, node) in node_names().zip(&handed.nodes) {
        attach(node.as_fd(), target(&new, &format!("dev/{name}"))?.as_fd())?;
    }
    let id = build.root;
    let owner = [Set::Text("uid", id.to_string()), Set::Text("gid", id.to_string())];
    let devpts = [
        Set::Flag("newinstance"),
        Set::Text("ptmxmode", "0666".to_owned()),
        Set::Text("mode", "0620".to_owned()),
        Set::Text("gid", (id + 5).to_string()),
        Set::Text("max", "64".to_owned()),
    ];
    put("devpts", &devpts, A::MOUNT_ATTR_NOSUID | A::MOUNT_ATTR_NOEXEC, &new, "dev/pts")?;
    put("tmpfs", &tmpfs(&owner, build.shm_bytes, "1777"), quiet, &new, "dev/shm")?;
    put("mqueue", &[], quiet, &new, "dev/mqueue")?;
    put(
        "tmpfs",
        &tmpfs(&owner, limits::RUN, "755"),
        A::MOUNT_ATTR_NOSUID | A::MOUNT_ATTR_NODEV,
        &new,
        "run",
    )?;
    put("proc", &[], quiet, &new, "proc")?;

    attach(handed.sys.as_fd(), target(&new, "sys")?.as_fd())?;
    for view in &build.views {
        let options: Vec<_> = view.controllers.iter().map(|c| Set::Flag(c)).collect();
        let at = format!("sys/fs/cgroup/{}", view.dir);
        put(&view.fs, &options, quiet | A::MOUNT_ATTR_RDONLY, &new, at.trim_end_matches('/'))?;
    }
    let user_limits = mask_proc(build, masks, &new)?;
    if let Some(writable) = &build.writable {
        read_only_root(&new, writable, &owner)?;
    }

    // Last: nothing of ours may come to lie in a volume.
    for (path, volume) in build.volumes.iter().zip(&handed.volumes) {
        attach(volume.as_fd(), target(&new, path.trim_start_matches('/'))?.as_fd())?;
    }

    rustix::process::fchdir(&new)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    Ok(user_limits)
}

fn tmpfs<'a>(owner: &'a [Set<'a>; 2], bytes: u64, mode: &str) -> Vec<Set<'a>> {
    let copy = |set: &'a Set<'a>| match set {
        Set::Flag(key) => Set::Flag(key),
        Set::Text(key, value) => Set::Text(key, value.clone()),
    };
    let mut options: Vec<_> = owner.iter().map(copy).collect();
    options.push(Set::Text("size", bytes.to_string()));
    // One inode for every 4 KiB, as many as fit anyway.
    options.push(Set::Text("nr_inodes", (bytes / 4096).max(16).to_string()));
    options.push(Set::Text("mode", mode.to_owned()));
    options
}

fn put(
    fs: &str,
    options: &[Set<'_>],
    attributes: MountAttrFlags,
    root: &OwnedFd,
    at: &str,
) -> io::Result<()> {
    let at = target(root, at)?;
    attach(detached(fs, options, attributes)?.as_fd(), at.as_fd())
}

fn mask_proc(build: &Build, masks: &Masks, new: &OwnedFd) -> io::Result<OwnedFd> {
    let proc = target(new, "proc")?;
    let exists = |path: &str| match target_here(&proc, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    };
    let null = target(new, "dev/null")?;
    check_is_null(null.as_fd())?;
    for path in &masks.null {
        if let Some(at) = exists(path)? {
            cover(at.as_fd(), null.as_fd(), Forbid { write: false, ..Forbid::ALL_BUT_DEVICES })?;
        }
    }
    let quiet = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let nothing = [Set::Text("size", "0".to_owned()), Set::Text("nr_inodes", "2".to_owned())];
    let mut empty: Option<OwnedFd> = None;
    for path in &masks.empty {
        let Some(at) = exists(path)? else { continue };
        // One file system for all of them.
        let cover = match &empty {
            None => detached("tmpfs", &nothing, quiet)?,
            Some(first) => clone_of(first.as_fd())?,
        };
        attach(cover.as_fd(), at.as_fd())?;
        empty.get_or_insert(cover);
    }
    let user_limits = target_here(&proc, "sys/user")?;
    hide_boot_id(build, new, &proc)?;
    for path in &masks.readonly {
        let at = target_here(&proc, path)?;
        let tree = with_mounts_beneath(at.as_fd())?;
        // The mounts beneath (the boot id's) are read-only already.
        set_attributes(tree.as_fd(), Forbid::ALL, None)?;
        attach(tree.as_fd(), at.as_fd())?;
    }
    Ok(user_limits)
}

/// A boot id of the sandbox's own: the host's would tell which sandboxes share a machine.
fn hide_boot_id(build: &Build, new: &OwnedFd, proc: &OwnedFd) -> io::Result<()> {
    const NAME: &str = ".boot_id";
    let run = target(new, "run")?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&run, NAME, flags, Mode::from_raw_mode(0o444))?;
    rustix::io::write(&file, format!("{}\n", build.boot_id).as_bytes())?;
    let at = target_here(proc, "sys/kernel/random/boot_id")?;
    cover(at.as_fd(), target(&run, NAME)?.as_fd(), Forbid::ALL)?;
    // The mount keeps the file; by name it must not be there to be changed.
    Ok(rustix::fs::unlinkat(&run, NAME, rustix::fs::AtFlags::empty())?)
}

/// A second view of what `at` shows and of everything mounted beneath it, detached.
fn with_mounts_beneath(at: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    use rustix::mount::OpenTreeFlags as O;
    let flags = O::OPEN_TREE_CLONE | O::OPEN_TREE_CLOEXEC | O::AT_EMPTY_PATH | O::AT_RECURSIVE;
    Ok(rustix::mount::open_tree(at, "", flags)?)
}

/// Turns the root read-only but for one directory and `/tmp`.
fn read_only_root(new: &OwnedFd, writable: &str, owner: &[Set<'_>; 2]) -> io::Result<()> {
    let at = target(new, writable.trim_start_matches('/'))?;
    let island = clone_of(at.as_fd())?;
    attach(island.as_fd(), at.as_fd())?;
    // Elsewhere `/tmp` lies in the writable layer.
    let tmp = tmpfs(owner, limits::TMP_OF_READ_ONLY_ROOT, "1777");
    put("tmpfs", &tmp, MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV, new, "tmp")?;
    set_attributes(new.as_fd(), Forbid::WRITE, None)
}

/// `/dev` is ours, but a mask made of anything else than the null device would be a hole (CVE-2025-31133).
fn check_is_null(fd: BorrowedFd<'_>) -> io::Result<()> {
    let stat = rustix::fs::fstat(fd)?;
    let null = rustix::fs::makedev(1, 3);
    if stat.st_rdev == null { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
