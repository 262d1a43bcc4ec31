//! Mount attributes of detached mounts.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

const MOUNT_ATTR_RDONLY: u64 = 0x1;
const MOUNT_ATTR_NOSUID: u64 = 0x2;
const MOUNT_ATTR_NODEV: u64 = 0x4;
const MOUNT_ATTR_NOEXEC: u64 = 0x8;
const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;

/// `struct mount_attr`.
#[repr(C)]
#[derive(Default)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

/// What a mount forbids.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Forbid {
    pub(crate) write: bool,
    pub(crate) setuid: bool,
    pub(crate) devices: bool,
    pub(crate) exec: bool,
}

impl Forbid {
    /// Reading only.
    pub(crate) const WRITE: Self = Self { write: true, setuid: false, devices: false, exec: false };
    /// Everything but device nodes.
    pub(crate) const ALL_BUT_DEVICES: Self = Self { write: true, setuid: true, devices: false, exec: true };
    /// Everything.
    pub(crate) const ALL: Self = Self { write: true, setuid: true, devices: true, exec: true };

    fn bits(self) -> u64 {
        let bit = |on, bit| if on { bit } else { 0 };
        bit(self.write, MOUNT_ATTR_RDONLY)
            | bit(self.setuid, MOUNT_ATTR_NOSUID)
            | bit(self.devices, MOUNT_ATTR_NODEV)
            | bit(self.exec, MOUNT_ATTR_NOEXEC)
    }
}

/// Sets attributes on the mount `tree` and, where a user namespace is given, maps its ids: `mount_setattr(2)`.
pub(crate) fn set_attributes(
    tree: BorrowedFd<'_>,
    forbid: Forbid,
    userns: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut attr = MountAttr { attr_set: forbid.bits(), ..MountAttr::default() };
    if let Some(userns) = userns {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = userns.as_raw_fd() as u64;
    }
    // SAFETY: the kernel reads `size_of::<MountAttr>()` bytes at `&attr`, which outlives the call; the empty path is
    // NUL-terminated; both descriptors are borrowed, hence open. No memory of ours is written.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
