//! Life and death of process trees, through cgroup2.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hood_driver_api::SandboxId;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};

use super::files;

/// Groups that a guest may make beneath its own, one for each command and context.
const MAX_GUEST_GROUPS: &str = "8192";

/// Names of the groups beside those of sandboxes.
const BUILDER: &str = "builder";
const NURSERY: &str = "nursery";

/// The instance's tree.
pub(crate) struct Life {
    root: PathBuf,
}

/// The groups of one template's builder.
#[derive(Debug, Clone)]
pub(crate) struct TemplateGroup {
    path: PathBuf,
}

impl Life {
    /// Beneath the cgroup2 mount at `mount`.
    pub(crate) fn new(mount: &Path, instance: &str) -> io::Result<Self> {
        let root = mount.join(format!("hood-{instance}"));
        files::make_dir(&root)?;
        Ok(Self { root })
    }

    /// Ends every process of the instance and removes all its groups. Returns how many sandboxes there were.
    pub(crate) fn sweep(mount: &Path, instance: &str, patience: Duration) -> io::Result<usize> {
        let root = mount.join(format!("hood-{instance}"));
        if !root.exists() {
            return Ok(0);
        }
        kill_and_wait(&root, patience)?;
        let mut sandboxes = 0;
        for template in files::children(&root)? {
            let ids = files::children(&template)?;
            sandboxes +=
                ids.iter().filter(|path| !path.ends_with(BUILDER) && !path.ends_with(NURSERY)).count();
        }
        files::remove_tree(&root)?;
        Ok(sandboxes)
    }

    /// A group for builder `number`, whose root is `root_id` outside: it must be able to place sandboxes.
    pub(crate) fn template(&self, number: u32, root_id: u32) -> io::Result<TemplateGroup> {
        let path = self.root.join(format!("t{number}"));
        files::make_dir(&path)?;
        files::make_dir(&path.join(BUILDER))?;
        files::make_dir(&path.join(NURSERY))?;
        // `clone3` into a group asks for the right to write its list and the nearest common ancestor's.
        for group in [path.clone(), path.join(NURSERY)] {
            chown(group.join("cgroup.procs"), Some(root_id), Some(root_id))?;
        }
        Ok(TemplateGroup { path })
    }

    /// The instance's own group.
    #[cfg(test)]
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the instance's group, once empty.
    pub(crate) fn remove(&self) -> io::Result<()> {
        files::remove_tree(&self.root)
    }
}

impl TemplateGroup {
    /// Where the builder itself lives.
    pub(crate) fn builder(&self) -> io::Result<OwnedFd> {
        open(&self.path.join(BUILDER))
    }

    /// Where the template's nursery lives.
    pub(crate) fn nursery(&self) -> io::Result<OwnedFd> {
        open(&self.path.join(NURSERY))
    }

    /// A group that the sandbox's guest has made beneath its own. The name comes from the guest: it is one of the
    /// guest's pattern or none.
    pub(crate) fn of_guest(&self, id: &SandboxId, name: &str) -> io::Result<OwnedFd> {
        let digits = name.strip_prefix("c-").unwrap_or_default();
        if digits.is_empty() || digits.len() > 20 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        open(&self.sandbox(id).join(name))
    }

    /// The directory of a sandbox's group.
    pub(crate) fn sandbox(&self, id: &SandboxId) -> PathBuf {
        self.path.join(id.as_str())
    }

    /// The directory of the template's group.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the sandbox's group, owned by its root (`root_id` outside) so that its guest can make groups beneath it.
    pub(crate) fn make(&self, id: &SandboxId, root_id: u32) -> io::Result<OwnedFd> {
        let path = self.sandbox(id);
        files::make_dir(&path)?;
        files::write_if_there(&path, "cgroup.max.descendants", MAX_GUEST_GROUPS)?;
        for file in ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"] {
            chown(path.join(file), Some(root_id), Some(root_id))?;
        }
        open_alone(&path)
    }

    /// Ends every process of the sandbox, waits until they are gone, and removes the group.
    pub(crate) fn end(&self, id: &SandboxId, patience: Duration) -> io::Result<()> {
        let path = self.sandbox(id);
        if !path.exists() {
            return Ok(());
        }
        kill_and_wait(&path, patience)?;
        files::remove_tree(&path)
    }

    /// Ends the builder, and with it whatever is left in its pid namespace.
    pub(crate) fn end_all(&self, patience: Duration) -> io::Result<()> {
        kill_and_wait(&self.path, patience)?;
        files::remove_tree(&self.path)
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// A handle that leads nowhere else: the root of a mount of its own, attached nowhere. From an ordinary descriptor `..`
/// walks up to the host's root, whoever gets hold of it.
fn open_alone(path: &Path) -> io::Result<OwnedFd> {
    use rustix::mount::OpenTreeFlags as O;
    let flags = O::OPEN_TREE_CLONE | O::OPEN_TREE_CLOEXEC;
    Ok(rustix::mount::open_tree(rustix::fs::CWD, path, flags)?)
}

/// `cgroup.kill` reaches every process at once, forks in flight included; then wait for the last to be gone.
fn kill_and_wait(group: &Path, patience: Duration) -> io::Result<()> {
    fs::write(group.join("cgroup.kill"), "1")?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let events = rustix::fs::open(group.join("cgroup.events"), flags, Mode::empty())?;
    let start = Instant::now();
    loop {
        let mut text = [0; 256];
        // Reading from the start also arms the notification.
        let n = rustix::io::pread(&events, &mut text, 0)?;
        if !String::from_utf8_lossy(&text[..n]).contains("populated 1") {
            return Ok(());
        }
        let Some(left) = patience.checked_sub(start.elapsed()) else {
            let message = format!("processes in {} do not end", group.display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        };
        let left = left.try_into().map_err(io::Error::other)?;
        poll(&mut [PollFd::from_borrowed_fd(events.as_fd(), PollFlags::PRI)], Some(&left))?;
    }
}
