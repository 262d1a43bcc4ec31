//! The pieces of a sandbox's root, as detached mounts: overlay, `/dev`, `/sys`, and the files that name it.

mod identity;
mod places;
mod statics;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use hood_driver_api::RootFs;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_fd,
    fsconfig_set_string, fsmount, fsopen, open_tree,
};

pub(crate) use identity::write_identity;
pub(crate) use places::make_place;
pub(crate) use statics::{Made, Statics, node_names};

use crate::layer::{Layer, UPPER, WORK};
use crate::sys::idmap::{Forbid, set_attributes};
use crate::templates::Owners;

/// The overlay of a template's layers under a writable one, ids mapped to the sandbox's range.
///
/// Made by the host, not inside: only then do renames of directories work and can nobody inside forge the overlay's
/// marks (reference `walls.md` 1.3). Layers go in by descriptor, so that no host path shows in `mountinfo`.
///
/// Without root the marks are `user.overlay.*`, which the overlay hides from inside as it does the others, and renames
/// of directories of the layers beneath fail with EXDEV: programs copy instead, as between two disks.
pub(crate) fn overlay(root: &RootFs, layer: &Layer, owners: &Owners) -> io::Result<Overlay> {
    let lowers = lowers(root, owners)?;
    // Upper and work must lie on one mount: map the layer's directory and open both beneath the clone.
    let writable = dressed(layer.dir.as_fd(), owners, Forbid::default())?;
    let upper = open_beneath(&writable, UPPER)?;
    let work = open_beneath(&writable, WORK)?;
    let marks = match owners {
        Owners::Mapped(_) => Marks::Trusted,
        Owners::OnDisk(_) => Marks::User,
    };
    let mount = match by_descriptor(&lowers, &upper, &work, marks) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => by_name(&lowers, &upper, &work, marks),
        other => other,
    }?;
    Ok(Overlay { mount, parts: lowers.into_iter().chain([writable, upper, work]).collect() })
}

/// A sandbox's root.
pub(crate) struct Overlay {
    pub(crate) mount: OwnedFd,
    /// What it was made of, and of no use any more. Each is a mount of its own that ends when it is closed, which waits
    /// for every processor (a third of a millisecond and more): to be done when nobody waits.
    pub(crate) parts: Vec<OwnedFd>,
}

/// Where the overlay keeps its marks.
#[derive(Debug, Clone, Copy)]
enum Marks {
    Trusted,
    User,
}

/// A template's layers alone, ids mapped to the template's own range: what its nursery lives in.
pub(crate) fn read_only(root: &RootFs, owners: &Owners) -> io::Result<OwnedFd> {
    let lowers = lowers(root, owners)?;
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

fn lowers(root: &RootFs, owners: &Owners) -> io::Result<Vec<OwnedFd>> {
    let dress = |path: &PathBuf| {
        let layer = open_layer(path)?;
        check_owner(&layer, owners)?;
        dressed(layer.as_fd(), owners, Forbid::WRITE)
    };
    root.layers.iter().rev().map(dress).collect()
}

/// A template that was built by root is of no use to a server without, and the other way round: inside, every file would
/// belong to somebody else.
fn check_owner(layer: &OwnedFd, owners: &Owners) -> io::Result<()> {
    let (expected, by) = match owners {
        Owners::Mapped(_) => (0, "root"),
        Owners::OnDisk(id) => (*id, "this user"),
    };
    if rustix::fs::fstat(layer)?.st_uid == expected {
        return Ok(());
    }
    let message = format!("they were not built by {by}: build the template with the account that serves it");
    Err(io::Error::new(io::ErrorKind::InvalidData, message))
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

fn by_descriptor(lowers: &[OwnedFd], upper: &OwnedFd, work: &OwnedFd, marks: Marks) -> io::Result<OwnedFd> {
    let context = lowers_by_descriptor(lowers)?;
    fsconfig_set_fd(context.as_fd(), "upperdir", upper.as_fd())?;
    fsconfig_set_fd(context.as_fd(), "workdir", work.as_fd())?;
    finish(context, marks)
}

fn by_name(lowers: &[OwnedFd], upper: &OwnedFd, work: &OwnedFd, marks: Marks) -> io::Result<OwnedFd> {
    let context = lowers_by_name(lowers)?;
    fsconfig_set_string(context.as_fd(), "upperdir", name(upper))?;
    fsconfig_set_string(context.as_fd(), "workdir", name(work))?;
    finish(context, marks)
}

fn finish(context: OwnedFd, marks: Marks) -> io::Result<OwnedFd> {
    match marks {
        Marks::Trusted => {
            fsconfig_set_string(context.as_fd(), "redirect_dir", "on")?;
            fsconfig_set_string(context.as_fd(), "metacopy", "on")?;
        }
        // The kernel takes neither of the two with it.
        Marks::User => rustix::mount::fsconfig_set_flag(context.as_fd(), "userxattr")?,
    }
    // A crash of the host loses the sandbox anyway: no need to sync for it.
    rustix::mount::fsconfig_set_flag(context.as_fd(), "volatile")?;
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_NODEV)?)
}

/// A volume as a sandbox sees it: with its ids, and without what could raise anybody's rights.
pub(crate) fn volume(folder: &OwnedFd, owners: &Owners) -> io::Result<OwnedFd> {
    dressed(folder.as_fd(), owners, Forbid { setuid: true, devices: true, ..Forbid::default() })
}

fn open_layer(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

fn open_beneath(dir: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(dir, name, flags, Mode::empty(), resolve)?)
}

/// A detached clone of what `at` shows, with the sandbox's ids. A clone also keeps the host's path out of `mountinfo`.
fn dressed(at: BorrowedFd<'_>, owners: &Owners, forbid: Forbid) -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(at, "", flags)?;
    let userns = match owners {
        Owners::Mapped(maps) => Some(maps.userns.as_fd()),
        Owners::OnDisk(_) => None,
    };
    set_attributes(tree.as_fd(), forbid, userns)?;
    Ok(tree)
}

impl Owners {
    /// What the server has made for root inside belongs to it.
    pub(super) fn give(&self, file: &OwnedFd) -> io::Result<()> {
        match self {
            Self::Mapped(_) => Ok(()),
            Self::OnDisk(id) => {
                let (uid, gid) = (rustix::fs::Uid::from_raw(*id), rustix::fs::Gid::from_raw(*id));
                Ok(rustix::fs::fchown(file, Some(uid), Some(gid))?)
            }
        }
    }
}
