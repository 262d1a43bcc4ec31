//! The btrfs ioctls for writable layers: one each to make, limit, measure and delete a subvolume.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::namespaces::check;

const BTRFS_PATH_NAME_MAX: usize = 4087;
const SUBVOL_CREATE: libc::c_ulong = 0x5000_940e;
const SNAP_DESTROY: libc::c_ulong = 0x5000_940f;
const SNAP_CREATE_V2: libc::c_ulong = 0x5000_9417;
const INO_LOOKUP: libc::c_ulong = 0xd000_9412;
const QUOTA_CTL: libc::c_ulong = 0xc010_9428;
const QGROUP_LIMIT: libc::c_ulong = 0x8030_942b;
const TREE_SEARCH: libc::c_ulong = 0xd000_9411;

const QUOTA_ENABLE: u64 = 1;
const QUOTA_ENABLE_SIMPLE: u64 = 4;
const LIMIT_MAX_REFERENCED: u64 = 1;
const QUOTA_TREE: u64 = 8;
const QGROUP_INFO_KEY: u32 = 242;
const FIRST_FREE_INODE: u64 = 256;
/// Of a found qgroup: a 32-byte header, then generation, referenced bytes, …, little endian.
const REFERENCED: usize = 32 + 8;

/// `struct btrfs_ioctl_vol_args`.
#[repr(C)]
struct VolumeArgs {
    fd: i64,
    name: [u8; BTRFS_PATH_NAME_MAX + 1],
}

const NEW_NAME_MAX: usize = 4039;
const SUBVOL_RDONLY: u64 = 1 << 1;

/// `struct btrfs_ioctl_vol_args_v2`.
#[repr(C)]
struct SnapshotArgs {
    source: i64,
    transaction: u64,
    flags: u64,
    unused: [u64; 4],
    name: [u8; NEW_NAME_MAX + 1],
}

#[repr(C)]
struct QuotaCtl {
    command: u64,
    status: u64,
}

/// `struct btrfs_ioctl_qgroup_limit_args`.
#[repr(C)]
#[derive(Default)]
struct QgroupLimit {
    qgroup: u64,
    flags: u64,
    max_referenced: u64,
    max_exclusive: u64,
    reserved_referenced: u64,
    reserved_exclusive: u64,
}

/// `struct btrfs_ioctl_ino_lookup_args`.
#[repr(C)]
struct InodeLookup {
    tree: u64,
    object: u64,
    name: [u8; 4080],
}

/// `struct btrfs_ioctl_search_args`.
#[repr(C)]
struct Search {
    tree: u64,
    min_object: u64,
    max_object: u64,
    min_offset: u64,
    max_offset: u64,
    min_transaction: u64,
    max_transaction: u64,
    min_type: u32,
    max_type: u32,
    items: u32,
    unused: u32,
    unused64: [u64; 4],
    buffer: [u8; 3992],
}

/// Makes the subvolume `name` in `parent`.
pub(crate) fn create_subvolume(parent: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    volume_ioctl(parent, SUBVOL_CREATE, name)
}

/// Whether a snapshot can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    Writable,
}

/// Makes the subvolume `name` in `parent` with the contents of `source`, a subvolume's own directory. Blocks that
/// neither changes are shared. Data that `source` has in memory alone is written first.
pub(crate) fn snapshot(
    source: BorrowedFd<'_>,
    parent: BorrowedFd<'_>,
    name: &str,
    access: Access,
) -> io::Result<()> {
    if name.len() > NEW_NAME_MAX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = if access == Access::ReadOnly { SUBVOL_RDONLY } else { 0 };
    let mut args = SnapshotArgs {
        source: source.as_raw_fd().into(),
        transaction: 0,
        flags,
        unused: [0; 4],
        name: [0; NEW_NAME_MAX + 1],
    };
    args.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the kernel reads one live struct of the size in the request's number, with a NUL-terminated name.
    check(i64::from(unsafe { libc::ioctl(parent.as_raw_fd(), SNAP_CREATE_V2, &raw const args) }))
}

/// Unlinks the subvolume `name` from `parent` at once; the file system frees its blocks in the background.
pub(crate) fn delete_subvolume(parent: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    volume_ioctl(parent, SNAP_DESTROY, name)
}

/// Turns on quotas: simple ones where the kernel has them (6.7), because their cost does not grow with the number of
/// subvolumes, else qgroups. Returns whether they are simple.
pub(crate) fn enable_quota(root: BorrowedFd<'_>) -> io::Result<bool> {
    let enable = |command| {
        let mut args = QuotaCtl { command, status: 0 };
        // SAFETY: the kernel reads and writes one live struct of the size in the request's number.
        check(i64::from(unsafe { libc::ioctl(root.as_raw_fd(), QUOTA_CTL, &raw mut args) }))
    };
    match enable(QUOTA_ENABLE_SIMPLE) {
        Ok(()) => Ok(true),
        Err(_) => enable(QUOTA_ENABLE).map(|()| false),
    }
}

/// No more than `bytes`, data and metadata, may be written into the subvolume that `dir` lies in.
pub(crate) fn limit(dir: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    let args = QgroupLimit { flags: LIMIT_MAX_REFERENCED, max_referenced: bytes, ..QgroupLimit::default() };
    // SAFETY: the kernel reads one live struct of the size in the request's number; qgroup 0 means `dir`'s own.
    check(i64::from(unsafe { libc::ioctl(dir.as_raw_fd(), QGROUP_LIMIT, &raw const args) }))
}

/// Bytes referenced by the subvolume that `dir` lies in.
pub(crate) fn usage(dir: BorrowedFd<'_>) -> io::Result<u64> {
    let subvolume = subvolume_id(dir)?;
    // SAFETY: all-zero is a valid search.
    let mut search: Search = unsafe { std::mem::zeroed() };
    search.tree = QUOTA_TREE;
    // A qgroup's items have object 0 and the qgroup's id as offset.
    (search.min_offset, search.max_offset) = (subvolume, subvolume);
    (search.max_transaction, search.items) = (u64::MAX, 1);
    (search.min_type, search.max_type) = (QGROUP_INFO_KEY, QGROUP_INFO_KEY);
    // SAFETY: the kernel reads and writes one live struct of the size in the request's number.
    check(i64::from(unsafe { libc::ioctl(dir.as_raw_fd(), TREE_SEARCH, &raw mut search) }))?;
    let bytes = search.buffer.get(REFERENCED..REFERENCED + 8).and_then(|b| b.first_chunk::<8>());
    match bytes {
        Some(bytes) if search.items == 1 => Ok(u64::from_le_bytes(*bytes)),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Whether `dir` lies on btrfs.
pub(crate) fn is_btrfs(dir: BorrowedFd<'_>) -> io::Result<bool> {
    const BTRFS_SUPER_MAGIC: i64 = 0x9123_683e;
    Ok(rustix::fs::fstatfs(dir)?.f_type == BTRFS_SUPER_MAGIC)
}

/// Opens a directory beneath `parent` without following links.
pub(crate) fn open_dir(parent: BorrowedFd<'_>, name: &str) -> io::Result<std::os::fd::OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve)?)
}

fn subvolume_id(dir: BorrowedFd<'_>) -> io::Result<u64> {
    let mut args = InodeLookup { tree: 0, object: FIRST_FREE_INODE, name: [0; 4080] };
    // SAFETY: the kernel reads and writes one live struct of the size in the request's number.
    check(i64::from(unsafe { libc::ioctl(dir.as_raw_fd(), INO_LOOKUP, &raw mut args) }))?;
    Ok(args.tree)
}

fn volume_ioctl(parent: BorrowedFd<'_>, request: libc::c_ulong, name: &str) -> io::Result<()> {
    let mut args = VolumeArgs { fd: 0, name: [0; BTRFS_PATH_NAME_MAX + 1] };
    if name.len() > BTRFS_PATH_NAME_MAX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    args.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the kernel reads one live struct of the size in the request's number, with a NUL-terminated name.
    check(i64::from(unsafe { libc::ioctl(parent.as_raw_fd(), request, &raw const args) }))
}
