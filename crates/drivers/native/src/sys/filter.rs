//! Installing a seccomp filter into this process.

use std::io;

use super::namespaces::check;
use crate::seccomp::Instruction;

/// From now on, and in everything started from here. Needs CAP_SYS_ADMIN in the own user namespace, so that it does
/// not need `no_new_privs`, which would break `sudo` (reference `walls.md` F13).
pub(crate) fn install(program: &[Instruction]) -> io::Result<()> {
    const SECCOMP_SET_MODE_FILTER: libc::c_ulong = 1;
    let fprog = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: program.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    // SAFETY: `Instruction` has the layout of sock_filter (repr(C), same fields); the kernel only reads the array,
    // whose length is given.
    check(unsafe { libc::syscall(libc::SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &raw const fprog) })
}
