//! System calls of the guest: safe in and out. The only module of this crate with `unsafe` in it.
#![expect(unsafe_code, reason = "starting a process between clone and exec takes raw system calls")]

mod child;
mod guise;
mod identity;
mod kin;
pub(crate) mod pty;
mod readiness;
pub(crate) mod spawn;
pub(crate) mod tree;

pub(crate) use identity::{harden_self, inherited};
pub(crate) use readiness::watch;
