//! The pieces of a sandbox's root, as detached mounts: overlay, `/dev`, `/sys`, and the files that name it.

mod statics;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use hood_driver_api::RootFs;
use rustix::fs::{Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_fd,
    fsconfig_set_string, fsmount, fsopen, open_tree,
};

pub(crate) use statics::Statics;

use crate::layer::{Layer, UPPER, WORK};
use crate::sys::idmap::{Forbid, set_attributes};
use crate::templates::Maps;

/// The overlay of a template's layers under a writable one, ids mapped to the sandbox's range.
///
/// Made by the host, not inside: only then do renames of directories work and can nobody inside forge the overlay's
/// marks (reference `walls.md` 1.3). Layers go in by descriptor, so that no host path shows in `mountinfo`.
pub(crate) fn overlay(root: &RootFs, layer: &Layer, maps: &Maps) -> io::Result<OwnedFd> {
    let lowers = lowers(root, maps)?;
    // Upper and work must lie on one mount: map the layer's directory and open both beneath the clone.
    let writable = mapped(layer.dir.as_fd(), maps.userns.as_fd(), Forbid::default())?;
    let upper = open_beneath(&writable, UPPER)?;
    let work = open_beneath(&writable, WORK)?;
    match by_descriptor(&lowers, &upper, &work) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => by_name(&lowers, &upper, &work),
        other => other,
    }
}

/// A template's layers alone, ids mapped to the template's own range: what its nursery lives in.
pub(crate) fn read_only(root: &RootFs, maps: &Maps) -> io::Result<OwnedFd> {
    let lowers = lowers(root, maps)?;
    // An overlay needs two layers; one is its own view.
    let [_, _, ..] = lowers.as_slice() else {
        return lowers.into_iter().next().ok_or_else(|| io::ErrorKind::NotFound.into());
    };
    let context = match lowers_by_descriptor(&lowers) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => lowers_by_name(&lowers)?,
        other => other?,
    };
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_RDONLY;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

fn lowers(root: &RootFs, maps: &Maps) -> io::Result<Vec<OwnedFd>> {
    let map = |path: &PathBuf| mapped(open_layer(path)?.as_fd(), maps.userns.as_fd(), Forbid::WRITE);
    root.layers.iter().rev().map(map).collect()
}

/// An overlay in the making, with its lower layers.
fn lowers_by_descriptor(lowers: &[OwnedFd]) -> io::Result<OwnedFd> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for lower in lowers {
        fsconfig_set_fd(context.as_fd(), "lowerdir+", lower.as_fd())?;
    }
    Ok(context)
}

/// The same for kernels before 6.13, which know no descriptors here.
fn lowers_by_name(lowers: &[OwnedFd]) -> io::Result<OwnedFd> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let names: Vec<String> = lowers.iter().map(name).collect();
    fsconfig_set_string(context.as_fd(), "lowerdir", names.join(":"))?;
    Ok(context)
}

fn name(layer: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", layer.as_raw_fd())
}

fn by_descriptor(lowers: &[OwnedFd], upper: &OwnedFd, work: &OwnedFd) -> io::Result<OwnedFd> {
    let context = lowers_by_descriptor(lowers)?;
    fsconfig_set_fd(context.as_fd(), "upperdir", upper.as_fd())?;
    fsconfig_set_fd(context.as_fd(), "workdir", work.as_fd())?;
    finish(context)
}

fn by_name(lowers: &[OwnedFd], upper: &OwnedFd, work: &OwnedFd) -> io::Result<OwnedFd> {
    let context = lowers_by_name(lowers)?;
    fsconfig_set_string(context.as_fd(), "upperdir", name(upper))?;
    fsconfig_set_string(context.as_fd(), "workdir", name(work))?;
    finish(context)
}

fn finish(context: OwnedFd) -> io::Result<OwnedFd> {
    fsconfig_set_string(context.as_fd(), "redirect_dir", "on")?;
    fsconfig_set_string(context.as_fd(), "metacopy", "on")?;
    // A crash of the host loses the sandbox anyway: no need to sync for it.
    rustix::mount::fsconfig_set_flag(context.as_fd(), "volatile")?;
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_NODEV)?)
}

fn open_layer(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

fn open_beneath(dir: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(dir, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// A detached clone of what `at` shows, with mapped ids.
fn mapped(at: BorrowedFd<'_>, userns: BorrowedFd<'_>, forbid: Forbid) -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(at, "", flags)?;
    set_attributes(tree.as_fd(), forbid, Some(userns))?;
    Ok(tree)
}

/// Writes what names the sandbox into its writable layer: its own to change, and nothing relies on it.
pub(crate) fn write_identity(layer: &Layer, hostname: &str, machine_id: &str) -> io::Result<()> {
    rustix::fs::mkdirat(&layer.upper, "etc", Mode::from_raw_mode(0o755))?;
    let etc = crate::sys::btrfs::open_dir(layer.upper.as_fd(), "etc")?;
    let hosts = format!("127.0.0.1 localhost {hostname}\n::1 localhost ip6-localhost ip6-loopback\n");
    for (name, text) in [
        ("hostname", format!("{hostname}\n")),
        ("hosts", hosts),
        ("machine-id", format!("{machine_id}\n")),
        // Nobody answers: a name look-up fails at once instead of waiting for a server.
        ("resolv.conf", "options timeout:1 attempts:1\n".to_owned()),
    ] {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&etc, name, flags, Mode::from_raw_mode(0o644))?;
        rustix::io::write(&file, text.as_bytes())?;
    }
    Ok(())
}
