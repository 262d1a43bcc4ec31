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

/// Where the server goes that must leave its group to hand on controllers.
const SERVER: &str = "server";

/// The instance's tree; nothing where there are no groups.
pub(crate) struct Life {
    root: Option<PathBuf>,
    /// The group that the server has left, to return to.
    left: Option<PathBuf>,
}

/// The groups of one template's builder; nothing where there are no groups.
#[derive(Debug, Clone)]
pub(crate) struct TemplateGroup {
    path: Option<PathBuf>,
}

impl Life {
    /// Beneath the group `top`: a cgroup2 mount, or a group that was handed to the user.
    pub(crate) fn new(top: Option<&Path>, instance: &str) -> io::Result<Self> {
        let root = top.map(|top| top.join(format!("hood-{instance}")));
        if let Some(root) = &root {
            files::make_dir(root)?;
        }
        Ok(Self { root, left: None })
    }

    /// Moves the server from `top`, its own group, into one beneath: a group with processes in it hands on no
    /// controllers. Before any helper is started, which must not stay behind.
    pub(crate) fn make_room(&mut self, top: &Path) -> io::Result<()> {
        if let Some(root) = &self.root {
            let server = root.join(SERVER);
            files::make_dir(&server)?;
            files::write(&server, "cgroup.procs", "0")?;
            self.left = Some(top.to_owned());
        }
        Ok(())
    }

    /// Ends every process of the instance and removes all its groups. Returns how many sandboxes there were.
    pub(crate) fn sweep(mount: &Path, instance: &str, patience: Duration) -> io::Result<usize> {
        let root = mount.join(format!("hood-{instance}"));
        if !root.exists() {
            return Ok(0);
        }
        kill_and_wait(&root, patience)?;
        let mut sandboxes = 0;
        for template in files::children(&root)?.into_iter().filter(|path| !path.ends_with(SERVER)) {
            let ids = files::children(&template)?;
            sandboxes +=
                ids.iter().filter(|path| !path.ends_with(BUILDER) && !path.ends_with(NURSERY)).count();
        }
        files::remove_tree(&root)?;
        Ok(sandboxes)
    }

    /// A group for builder `number`, whose root is `root_id` outside: it must be able to place sandboxes.
    pub(crate) fn template(&self, number: u32, root_id: u32) -> io::Result<TemplateGroup> {
        let Some(root) = &self.root else { return Ok(TemplateGroup { path: None }) };
        let path = root.join(format!("t{number}"));
        files::make_dir(&path)?;
        files::make_dir(&path.join(BUILDER))?;
        files::make_dir(&path.join(NURSERY))?;
        // `clone3` into a group asks for the right to write its list and the nearest common ancestor's.
        for group in [path.clone(), path.join(NURSERY)] {
            chown(group.join("cgroup.procs"), Some(root_id), Some(root_id))?;
        }
        Ok(TemplateGroup { path: Some(path) })
    }

    /// Removes the instance's group, once no sandbox is in it.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let Some(root) = &self.root else { return Ok(()) };
        if let Some(top) = &self.left {
            // The way back is open when nothing is handed on any more.
            for level in [root, top] {
                for controller in ["-memory", "-cpu", "-pids"] {
                    // One that was never handed on is no loss.
                    files::write(level, "cgroup.subtree_control", controller).ok();
                }
            }
            files::write(top, "cgroup.procs", "0")?;
        }
        files::remove_tree(root)
    }
}

impl TemplateGroup {
    /// Where the builder itself lives.
    pub(crate) fn builder(&self) -> io::Result<Option<OwnedFd>> {
        self.path.as_ref().map(|path| open(&path.join(BUILDER))).transpose()
    }

    /// Where the template's nursery lives. There is no nursery where there are no groups.
    pub(crate) fn nursery(&self) -> io::Result<OwnedFd> {
        open(&self.path.as_ref().ok_or(io::ErrorKind::Unsupported)?.join(NURSERY))
    }

    /// A group that the sandbox's guest has made beneath its own. The name comes from the guest: it is one of the
    /// guest's pattern or none.
    pub(crate) fn of_guest(&self, id: &SandboxId, name: &str) -> io::Result<OwnedFd> {
        let digits = name.strip_prefix("c-").unwrap_or_default();
        if digits.is_empty() || digits.len() > 20 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        open(&self.sandbox(id).ok_or(io::ErrorKind::Unsupported)?.join(name))
    }

    /// The directory of a sandbox's group.
    pub(crate) fn sandbox(&self, id: &SandboxId) -> Option<PathBuf> {
        self.path.as_ref().map(|path| path.join(id.as_str()))
    }

    /// The directory of the template's group.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Makes the sandbox's group, owned by its root (`root_id` outside) so that its guest can make groups beneath it.
    pub(crate) fn make(&self, id: &SandboxId, root_id: u32) -> io::Result<Option<OwnedFd>> {
        let Some(path) = self.sandbox(id) else { return Ok(None) };
        files::make_dir(&path)?;
        files::write_if_there(&path, "cgroup.max.descendants", MAX_GUEST_GROUPS)?;
        for file in ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"] {
            chown(path.join(file), Some(root_id), Some(root_id))?;
        }
        open_alone(&path).map(Some)
    }

    /// Stops every process of the sandbox where it is, and waits until the last one has.
    pub(crate) fn freeze(&self, id: &SandboxId, patience: Duration) -> io::Result<()> {
        let path = self.sandbox(id).ok_or(io::ErrorKind::Unsupported)?;
        fs::write(path.join("cgroup.freeze"), "1")?;
        wait_for_event(&path, patience, "do not stop", |events| events.contains("frozen 1"))
    }

    /// Lets them go on.
    pub(crate) fn thaw(&self, id: &SandboxId) -> io::Result<()> {
        let path = self.sandbox(id).ok_or(io::ErrorKind::Unsupported)?;
        fs::write(path.join("cgroup.freeze"), "0")
    }

    /// Ends every process of the sandbox, waits until they are gone, and removes the group.
    pub(crate) fn end(&self, id: &SandboxId, patience: Duration) -> io::Result<()> {
        match self.sandbox(id) {
            Some(path) if path.exists() => {
                kill_and_wait(&path, patience)?;
                files::remove_tree(&path)
            }
            _ => Ok(()),
        }
    }

    /// Ends the builder, and with it whatever is left in its pid namespace.
    pub(crate) fn end_all(&self, patience: Duration) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        kill_and_wait(path, patience)?;
        files::remove_tree(path)
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
    wait_for_event(group, patience, "do not end", |events| !events.contains("populated 1"))
}

/// Waits until `cgroup.events` says what is wanted.
fn wait_for_event(
    group: &Path,
    patience: Duration,
    otherwise: &str,
    wanted: impl Fn(&str) -> bool,
) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let events = rustix::fs::open(group.join("cgroup.events"), flags, Mode::empty())?;
    let start = Instant::now();
    loop {
        let mut text = [0; 256];
        // Reading from the start also arms the notification.
        let n = rustix::io::pread(&events, &mut text, 0)?;
        if wanted(&String::from_utf8_lossy(&text[..n])) {
            return Ok(());
        }
        let Some(left) = patience.checked_sub(start.elapsed()) else {
            let message = format!("processes in {} {otherwise}", group.display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        };
        let left = left.try_into().map_err(io::Error::other)?;
        poll(&mut [PollFd::from_borrowed_fd(events.as_fd(), PollFlags::PRI)], Some(&left))?;
    }
}
