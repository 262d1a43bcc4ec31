//! A process tree that can be killed whole: one cgroup2 group for each command or context.
//!
//! Killing by process group or by session misses whoever called `setsid`; the parent link is lost at the first double
//! fork. A group cannot be left, because nothing in the sandbox but the guest can reach the cgroup file system.
//!
//! Where the host has no groups for us (a server without root), process group, session and parent are what there is:
//! see [`kin`].

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::process::{Pid, Signal};

use super::kin;

/// Makes trees beneath the sandbox's own group.
#[derive(Clone)]
pub(crate) struct Forest {
    /// `None` where there are no groups: trees are then kin.
    root: Option<Arc<OwnedFd>>,
    next: Arc<AtomicU64>,
}

/// One process and all its descendants.
pub(crate) struct Tree {
    group: Option<Group>,
}

struct Group {
    parent: Arc<OwnedFd>,
    name: CString,
    dir: OwnedFd,
}

impl Forest {
    /// Over the sandbox's own cgroup2 directory.
    pub(crate) fn new(root: Option<OwnedFd>) -> Self {
        Self { root: root.map(Arc::new), next: Arc::new(AtomicU64::new(1)) }
    }

    /// A new, empty tree.
    pub(crate) fn plant(&self) -> io::Result<Tree> {
        let Some(parent) = &self.root else { return Ok(Tree { group: None }) };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("c-{number}")).expect("digits hold no NUL");
        rustix::fs::mkdirat(parent, &name, Mode::from_raw_mode(0o755))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(parent, &name, flags, Mode::empty())?;
        Ok(Tree { group: Some(Group { parent: parent.clone(), name, dir }) })
    }
}

impl Tree {
    /// The group that `clone3` puts the first process into.
    pub(super) fn group(&self) -> Option<BorrowedFd<'_>> {
        self.group.as_ref().map(|g| g.dir.as_fd())
    }

    /// SIGKILL to every process of the tree at once; no fork can escape it. `leader` is the first process. Without a
    /// group: to all of its kin that are found.
    pub(crate) fn kill(&self, leader: Pid) -> io::Result<()> {
        match &self.group {
            Some(_) => self.kill_group(),
            None => kin::kill(leader),
        }
    }

    /// The same for a tree whose first process is not known by number. Without a group there is nothing to kill.
    pub(crate) fn kill_group(&self) -> io::Result<()> {
        self.group.as_ref().map_or(Ok(()), |group| write_in(group.dir.as_fd(), "cgroup.kill", b"1"))
    }

    /// Name of its group beneath the sandbox's, where there are groups.
    pub(crate) fn name(&self) -> Option<&str> {
        self.group.as_ref().and_then(|group| group.name.to_str().ok())
    }

    /// Whether any process of the tree lives.
    pub(crate) fn is_populated(&self, leader: Pid) -> bool {
        let Some(group) = &self.group else { return kin::has_any(leader) };
        read_in(group.dir.as_fd(), "cgroup.events").is_ok_and(|text| text.contains("populated 1"))
    }

    /// Removes the group if it is empty; false when processes still live in it.
    pub(crate) fn try_remove(&self, leader: Pid) -> bool {
        if self.group.is_none() { !kin::has_any(leader) } else { self.remove() }
    }

    /// The same for a tree whose first process was never there or is not known by number.
    pub(crate) fn remove(&self) -> bool {
        let Some(group) = &self.group else { return true };
        rustix::fs::unlinkat(&group.parent, &group.name, AtFlags::REMOVEDIR).is_ok()
    }
}

/// A signal to a process group that may be gone already.
pub(crate) fn signal_group(leader: Pid, signal: Signal) -> io::Result<()> {
    ignore_gone(rustix::process::kill_process_group(leader, signal))
}

fn ignore_gone(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => other.map_err(Into::into),
    }
}

fn write_in(dir: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let file = rustix::fs::openat(dir, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes)?;
    Ok(())
}

fn read_in(dir: BorrowedFd<'_>, name: &str) -> io::Result<String> {
    let file = rustix::fs::openat(dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut buffer = [0u8; 512];
    let n = rustix::io::read(&file, &mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..n]).into_owned())
}
