//! Starting a template's nursery: a warm interpreter, root in U, in the template's own files.
//!
//! It lives in U's pid namespace, because that is the ancestor of its sandboxes' from which forks can step into them,
//! and sees the template read-only under the same paths as its forks will, because a fork's `/proc` files name the
//! paths that its program was started under.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountAttrFlags, MountPropagationFlags, UnmountFlags};

use super::builder::Failure;
use super::messages::Nurse;
use super::mounts::{Set, attach, detached, target};
use crate::sys::clone::{Side, clone_process, exit_now};
use crate::sys::{fork, namespaces};

/// What the nursery may write: nothing but scratch files of imports.
const SCRATCH: &str = "16m";

/// Starts it; it says on its socket when it is warm.
pub(super) fn start(nurse: &Nurse, fds: Vec<OwnedFd>) -> Result<(), Failure> {
    let fail = |error: io::Error| ("nursery".to_owned(), error);
    let fds: [OwnedFd; 6] = fds.try_into().map_err(|_| fail(io::ErrorKind::InvalidInput.into()))?;
    let [root, dev, group, socket, joiner, settings] = &fds;
    match clone_process(libc::CLONE_NEWNS, Some(group.as_fd())).map_err(fail)? {
        Side::Parent { .. } => Ok(()),
        Side::Child => {
            let prepared = namespaces::notice_children()
                .and_then(|()| enter(root, dev))
                .and_then(|()| place(socket, joiner, settings));
            if prepared.is_ok() {
                // Returns only on failure; the server sees the socket close.
                drop(become_program(nurse));
            }
            exit_now(1)
        }
    }
}

fn enter(root: &OwnedFd, dev: &OwnedFd) -> io::Result<()> {
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let slash = open_dir("/")?;
    attach(root.as_fd(), target(&slash, "new")?.as_fd())?;
    let new = open_dir("/new")?;
    attach(dev.as_fd(), target(&new, "dev")?.as_fd())?;
    attach(detached("proc", &[], quiet)?.as_fd(), target(&new, "proc")?.as_fd())?;
    let scratch = [Set::Text("size", SCRATCH.to_owned()), Set::Text("mode", "1777".to_owned())];
    attach(detached("tmpfs", &scratch, quiet)?.as_fd(), target(&new, "tmp")?.as_fd())?;
    rustix::process::fchdir(&new)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    Ok(())
}

fn place(socket: &OwnedFd, joiner: &OwnedFd, settings: &OwnedFd) -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let null = null.as_fd();
    fork::place_descriptors(&[null, null, null, socket.as_fd(), joiner.as_fd(), settings.as_fd()])
}

fn become_program(nurse: &Nurse) -> io::Error {
    let Some((program, arguments)) = nurse.argv.split_first() else {
        return io::ErrorKind::InvalidInput.into();
    };
    let env = nurse.env.iter().map(|(key, value)| (key, value));
    Command::new(program).args(arguments).env_clear().envs(env).exec()
}

fn open_dir(path: &str) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}
