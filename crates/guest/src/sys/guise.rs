//! File work with an account's own rights.
//!
//! The guest may do more than anybody in the sandbox, and the kernel must not lend that to whoever asks for a file. So
//! each piece of file work puts on the account first: the file system ids, the groups, and no capability beyond those
//! that a process of the account would have. All of these belong to the thread, not to the process, and taking them on
//! and off costs some microseconds.

use std::io;

use rustix::process::Gid;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::spawn::Identity;
use crate::limits::MAX_DOFFINGS;

impl Identity {
    /// Does `work`, of files only, as this account. Outside a sandbox (tests of an ordinary user) as oneself.
    pub(crate) fn act<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        if !rustix::process::geteuid().is_root() {
            return Ok(work());
        }
        let guise = Guise { own: rustix::thread::capabilities(None)? };
        self.put_on(guise.own)?;
        let done = work();
        drop(guise);
        Ok(done)
    }

    fn put_on(&self, own: CapabilitySets) -> io::Result<()> {
        let groups: Vec<Gid> = self.groups.iter().map(|group| Gid::from_raw(*group)).collect();
        rustix::thread::set_thread_groups(&groups)?;
        file_ids(self.uid, self.gid)?;
        // Another account than root has none; what makes the guest more than root inside is beyond root, too.
        let payload = CapabilitySet::from_bits_retain(hood_wire::PAYLOAD_CAPABILITIES);
        let effective = if self.uid == 0 { own.permitted & payload } else { CapabilitySet::empty() };
        rustix::thread::set_capabilities(None, CapabilitySets { effective, ..own })?;
        Ok(())
    }
}

/// The thread is itself again when this is dropped.
struct Guise {
    own: CapabilitySets,
}

impl Guise {
    fn take_off(&self) -> io::Result<()> {
        let effective = self.own.permitted;
        rustix::thread::set_capabilities(None, CapabilitySets { effective, ..self.own })?;
        file_ids(0, 0)?;
        rustix::thread::set_thread_groups(&[])?;
        Ok(())
    }
}

impl Drop for Guise {
    fn drop(&mut self) {
        // Only a sandbox without any memory left refuses, for a moment.
        for _ in 0..MAX_DOFFINGS {
            if self.take_off().is_ok() {
                return;
            }
            rustix::thread::sched_yield();
        }
        // Whatever this thread did next, it would do as somebody else.
        std::process::abort();
    }
}

/// Sets the ids that count for files. The calls themselves say nothing of success; to be asked for -1, which is nobody's,
/// makes them tell what holds.
fn file_ids(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: no pointers; the raw calls concern the calling thread only.
    unsafe { libc::syscall(libc::SYS_setfsgid, gid) };
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_setfsuid, uid) };
    // SAFETY: as above; changes nothing.
    let group = unsafe { libc::syscall(libc::SYS_setfsgid, u32::MAX) };
    // SAFETY: as above.
    let user = unsafe { libc::syscall(libc::SYS_setfsuid, u32::MAX) };
    if (user, group) == (i64::from(uid), i64::from(gid)) {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn files_are_the_accounts_and_others_are_closed() {
        if !rustix::process::geteuid().is_root() {
            return; // Only root can be somebody else.
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let (secret, made) = (dir.path().join("secret"), dir.path().join("made"));
        fs::write(&secret, "root's").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let somebody = Identity { uid: 1234, gid: 2345, groups: vec![2345, 3456] };
        let said = somebody.act(|| (fs::read(&secret).map_err(|e| e.kind()), fs::write(&made, "x").is_ok()));
        assert_eq!(said.unwrap(), (Err(io::ErrorKind::PermissionDenied), true));
        let found = fs::metadata(&made).unwrap();
        assert_eq!((found.uid(), found.gid()), (1234, 2345));
        assert_eq!(fs::read(&secret).unwrap(), b"root's");
    }

    #[test]
    fn root_keeps_what_payloads_have() {
        if !rustix::process::geteuid().is_root() {
            return; // Only root can be somebody else.
        }
        let root = Identity { uid: 0, gid: 0, groups: vec![0] };
        let effective = root.act(|| rustix::thread::capabilities(None).unwrap().effective).unwrap();
        assert_eq!(effective.bits() & !hood_wire::PAYLOAD_CAPABILITIES, 0);
        assert!(effective.contains(CapabilitySet::CHOWN));
    }
}
