//! The guest's program as a file that sandboxes may run and not read.
//!
//! The kernel gives the memory of a program that its user cannot read to the nearest user namespace above in which the
//! file's owner is known: here U, whose root the builder is. PID 1 then is not dumpable, and what it has below `/proc`
//! belongs to an id that S does not know. Root inside may so neither read nor write any of it, `oom_score_adj` included,
//! which asks for nothing but the file's owner; and a nursery, root in U, may still join its sandboxes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, Mode, SealFlags};

/// Everybody may run it; only its owner may read it.
const RUN_ONLY: Mode = Mode::RWXU.union(Mode::XGRP).union(Mode::XOTH);

/// A sealed copy of `program` that belongs to this process's account.
pub(super) fn closed_copy(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let copy = rustix::fs::memfd_create("hood-guest", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let size = u64::try_from(rustix::fs::fstat(program)?.st_size).map_err(io::Error::other)?;
    let mut offset = 0;
    while offset < size {
        // With an offset of our own: others copy from the same open file.
        let rest = usize::try_from(size - offset).map_err(io::Error::other)?;
        if rustix::fs::sendfile(copy.as_fd(), program, Some(&mut offset), rest)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    rustix::fs::fchmod(&copy, RUN_ONLY)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&copy, seals)?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_whole_sealed_and_not_for_others_to_read() {
        let program = std::fs::File::open("/bin/true").unwrap();
        for _ in 0..2 {
            let copy = std::fs::File::from(closed_copy(program.as_fd()).unwrap());
            assert_eq!(copy.metadata().unwrap().len(), program.metadata().unwrap().len());
            assert_eq!(rustix::fs::fstat(&copy).unwrap().st_mode & 0o777, 0o711);
            assert!(rustix::io::write(&copy, b"x").is_err());
        }
    }
}
