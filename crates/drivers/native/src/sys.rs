//! System calls that rustix lacks: safe in and out. The only module of this crate with `unsafe` in it.
#![expect(
    unsafe_code,
    reason = "mount_setattr, clone3, seccomp, ioctls of btrfs and loop have no safe wrapper"
)]

pub(crate) mod btrfs;
pub(crate) mod clone;
pub(crate) mod filter;
pub(crate) mod fork;
pub(crate) mod idmap;
pub(crate) mod loopdev;
pub(crate) mod namespaces;
pub(crate) mod socket;
