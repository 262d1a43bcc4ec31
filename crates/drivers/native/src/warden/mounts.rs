//! Mounting by handle: every target is opened first, beneath a directory handle and without following a link, and
//! mounted on as that handle. Nothing that an image or a race puts in the way can send a mount elsewhere.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use crate::sys::idmap::{Forbid, set_attributes};

/// Most retries when `openat2` reports a race with a rename.
const RACES: usize = 32;

/// One option of a new file system.
pub(crate) enum Set<'a> {
    Flag(&'a str),
    Text(&'a str, String),
}

/// A new, detached file system.
pub(crate) fn detached(fs: &str, options: &[Set<'_>], attributes: MountAttrFlags) -> io::Result<OwnedFd> {
    let context = fsopen(fs, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for option in options {
        match option {
            Set::Flag(key) => fsconfig_set_flag(context.as_fd(), *key)?,
            Set::Text(key, value) => fsconfig_set_string(context.as_fd(), *key, value.as_str())?,
        }
    }
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Opens `path` beneath `root` as a mount target: no links, nothing above `root`.
pub(crate) fn target(root: impl AsFd, path: &str) -> io::Result<OwnedFd> {
    open_beneath(root, path, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// The same, refusing to cross into another mount: for paths in a `/proc` that must be the real one.
pub(crate) fn target_here(root: impl AsFd, path: &str) -> io::Result<OwnedFd> {
    open_beneath(root, path, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV)
}

fn open_beneath(root: impl AsFd, path: &str, resolve: ResolveFlags) -> io::Result<OwnedFd> {
    for _ in 0..RACES {
        match rustix::fs::openat2(&root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Err(rustix::io::Errno::AGAIN) => {}
            other => return Ok(other?),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Attaches a detached mount on an opened target.
pub(crate) fn attach(tree: BorrowedFd<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", target, "", flags)?)
}

/// A second view of what `at` shows, detached.
pub(crate) fn clone_of(at: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(at, "", flags)?)
}

/// Covers `target` with a clone of `cover` that forbids what is said.
pub(crate) fn cover(target: BorrowedFd<'_>, cover: BorrowedFd<'_>, forbid: Forbid) -> io::Result<()> {
    let tree = clone_of(cover)?;
    set_attributes(tree.as_fd(), forbid, None)?;
    attach(tree.as_fd(), target)
}
