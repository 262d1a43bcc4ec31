//! The first half of a sandbox's PID 1: from the clone to the guest's exec.
//!
//! Runs in the namespaces that belong to U, puts up every wall there, and enters the sandbox's own user namespace S
//! last. The order is what makes the walls hold (reference `walls.md` 1.2, 1.3): mounts attached before S exists are
//! locked for root in S, and the network belongs to U, so that root in S cannot touch it.

use std::cell::OnceCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use super::builder::{become_id, expect_byte};
use super::idle::Prepared;
use super::masks::Masks;
use super::messages::{Build, Role};
use super::{program, tree};
use crate::limits;
use crate::network::Network;
use crate::seccomp::{Programs, Who};
use crate::sys::clone::{exec_fd, exit_now};
use crate::sys::{filter, fork, namespaces};

/// What the data files say, read once by the builder: every sandbox's first process inherits it with the memory.
pub(super) struct Data {
    filters: Programs,
    masks: Masks,
    network: Network,
    /// What its sandboxes run as PID 1, copied when the first of them is built.
    guest: OnceCell<OwnedFd>,
}

impl Data {
    pub(super) fn load() -> io::Result<Self> {
        let filters = Programs::of(Who::Guest).map_err(io::Error::other)?;
        Ok(Self { filters, masks: Masks::shipped()?, network: Network::shipped()?, guest: OnceCell::new() })
    }

    /// What goes into every network.
    pub(super) fn network(&self) -> &Network {
        &self.network
    }

    /// The guest's program of this builder, from the server's.
    pub(super) fn guest(&self, handed: &Handed) -> io::Result<&OwnedFd> {
        if let Some(guest) = self.guest.get() {
            return Ok(guest);
        }
        let copy = program::closed_copy(handed.guest.as_fd())?;
        Ok(self.guest.get_or_init(|| copy))
    }
}

/// The descriptors of one build, by role.
pub(super) struct Handed {
    pub(super) root: OwnedFd,
    pub(super) dev: OwnedFd,
    pub(super) sys: OwnedFd,
    guest: OwnedFd,
    control: OwnedFd,
    /// None where there are no groups.
    pub(super) group: Option<OwnedFd>,
    /// The host's device nodes, where `/dev` has none of its own.
    pub(super) nodes: Vec<OwnedFd>,
    pub(super) volumes: Vec<OwnedFd>,
    tasks: Vec<OwnedFd>,
}

/// Namespaces that a template can open to programs inside, written as `user.max_*_namespaces` in S. Not the cgroup kind:
/// its owner may mount the hierarchies, and those of the sandbox's groups that its guest has made belong to root in S.
const NESTABLE: [&str; 6] = ["user", "mnt", "net", "pid", "ipc", "uts"];

/// Other kernel objects of one sandbox, written as `user.max_*` in S.
const USER_LIMITS: &[(&str, u32)] = &[
    ("max_cgroup_namespaces", limits::NAMESPACES),
    ("max_time_namespaces", limits::NAMESPACES),
    ("max_inotify_instances", limits::INOTIFY_INSTANCES),
    ("max_inotify_watches", limits::INOTIFY_WATCHES),
    ("max_fanotify_groups", limits::FANOTIFY),
    ("max_fanotify_marks", limits::FANOTIFY),
];

impl Handed {
    /// Takes each descriptor to its place.
    pub(super) fn sort(roles: &[Role], fds: Vec<OwnedFd>) -> io::Result<Self> {
        let bad = || io::Error::from(io::ErrorKind::InvalidInput);
        if roles.len() != fds.len() {
            return Err(bad());
        }
        let (mut tasks, mut nodes, mut volumes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut root, mut dev, mut sys, mut guest, mut control, mut group) =
            (None, None, None, None, None, None);
        for (role, fd) in roles.iter().zip(fds) {
            match role {
                Role::Root => root = Some(fd),
                Role::Dev => dev = Some(fd),
                Role::Sys => sys = Some(fd),
                Role::Guest => guest = Some(fd),
                Role::Control => control = Some(fd),
                Role::Group => group = Some(fd),
                Role::Node => nodes.push(fd),
                Role::Tasks => tasks.push(fd),
                Role::Volume => volumes.push(fd),
            }
        }
        Ok(Self {
            root: root.ok_or_else(bad)?,
            dev: dev.ok_or_else(bad)?,
            sys: sys.ok_or_else(bad)?,
            guest: guest.ok_or_else(bad)?,
            control: control.ok_or_else(bad)?,
            group,
            nodes,
            volumes,
            tasks,
        })
    }
}

type Failure = (&'static str, io::Error);

fn step<T, E: Into<io::Error>>(name: &'static str, result: Result<T, E>) -> Result<T, Failure> {
    result.map_err(|error| (name, error.into()))
}

/// Never returns: the process becomes the guest, or reports where it failed and ends.
pub(super) fn run(
    data: &Data,
    build: &Build,
    handed: &Handed,
    network: Option<Prepared>,
    report: &OwnedFd,
    go: &OwnedFd,
) -> ! {
    // Out of the way of the guest's fixed descriptors; it closes at exec, which is how the builder learns of that.
    let Ok(report) = fork::lift(report.as_fd()) else { exit_now(2) };
    let (step, error) = match raise(data, build, handed, network, &report, go) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    let message = format!("{} {step}", error.raw_os_error().unwrap_or(libc::EIO));
    // If even this fails, the builder sees the pipe close early and says so.
    let written = rustix::io::write(&report, message.as_bytes());
    exit_now(if written.is_ok() { 1 } else { 2 })
}

/// The report of the process above: `Ok` when it asks for its maps, else what failed. An empty step with
/// `UnexpectedEof` means that the pipe closed, as it does at exec.
pub(super) fn read_report(report: &OwnedFd) -> Result<(), (String, io::Error)> {
    let mut message = [0; 128];
    let n = rustix::io::retry_on_intr(|| rustix::io::read(report, &mut message))
        .map_err(|error| ("report".to_owned(), error.into()))?;
    match message.get(..n).unwrap_or_default() {
        [] => Err((String::new(), io::ErrorKind::UnexpectedEof.into())),
        [b'?'] => Ok(()),
        text => {
            let text = String::from_utf8_lossy(text);
            let (errno, step) = text.split_once(' ').unwrap_or(("5", &text));
            Err((step.to_owned(), io::Error::from_raw_os_error(errno.parse().unwrap_or(libc::EIO))))
        }
    }
}

fn raise(
    data: &Data,
    build: &Build,
    handed: &Handed,
    network: Option<Prepared>,
    report: &OwnedFd,
    go: &OwnedFd,
) -> Result<std::convert::Infallible, Failure> {
    for tasks in &handed.tasks {
        // `0` is the writer itself: no migration by pid, no stall (reference `walls.md` F6).
        step("cgroup", rustix::io::write(tasks, b"0"))?;
    }
    // After the placement, so that the own group is the root of what is visible.
    step("cgroup namespace", namespaces::unshare(libc::CLONE_NEWCGROUP))?;
    let network = match network {
        Some(Prepared { netns, up }) => {
            step("network namespace", namespaces::enter_network(netns.as_fd()))?;
            up
        }
        None => data.network.raise()?,
    };
    let user_limits = step("mounts", tree::build(build, &data.masks, handed))?;
    step("host name", rustix::system::sethostname(build.hostname.as_bytes()))?;
    step("frozen limits", frozen_limits(build))?;
    step("ids", rustix::thread::set_thread_groups(&[]))?;
    step("ids", become_id(build.account))?;
    step("user namespace", namespaces::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS))?;
    step("maps", rustix::io::write(report, b"?"))?;
    step("maps", expect_byte(go))?;
    step("root inside", become_id(0))?;
    let namespaces_each =
        if build.nested_user_namespaces { limits::NESTED_NAMESPACES } else { limits::NAMESPACES };
    for kind in NESTABLE {
        let name = format!("max_{kind}_namespaces");
        step("user limits", write_beneath(user_limits.as_fd(), &name, &namespaces_each.to_string()))?;
    }
    for (name, value) in USER_LIMITS {
        step("user limits", write_beneath(user_limits.as_fd(), name, &value.to_string()))?;
    }
    step("signals", namespaces::notice_children())?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    step("keyring", namespaces::join_new_keyring())?;
    step("capabilities", namespaces::bound_capabilities(hood_wire::GUEST_CAPABILITIES))?;
    step("file limit", namespaces::clamp_limit(libc::RLIMIT_NOFILE, limits::MAX_FILES))?;
    step("locked memory limit", namespaces::clamp_limit(libc::RLIMIT_MEMLOCK, limits::LOCKED))?;
    step("core limit", namespaces::clamp_limit(libc::RLIMIT_CORE, limits::CORE))?;
    let null = step("null", rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()))?;
    let null = null.as_fd();
    // A group that is not there is a descriptor that is no directory.
    let fds = [null, null, null, handed.control.as_fd(), handed.group.as_ref().map_or(null, AsFd::as_fd)];
    let guest = step("descriptors", data.guest(handed).and_then(|guest| fork::lift(guest.as_fd())))?;
    step("descriptors", fork::place_descriptors(&fds))?;
    step("addresses", network.settle())?;
    step("filter", filter::install(data.filters.get(build.nested_user_namespaces)))?;
    Err(("exec", exec_fd(guest.as_fd(), c"hood-guest")))
}

/// Limits that the kernel freezes into a user namespace when it is made: a ceiling behind the controllers'.
fn frozen_limits(build: &Build) -> io::Result<()> {
    namespaces::clamp_limit(libc::RLIMIT_NPROC, build.max_processes)?;
    namespaces::clamp_limit(libc::RLIMIT_SIGPENDING, limits::PENDING_SIGNALS)?;
    namespaces::clamp_limit(libc::RLIMIT_MSGQUEUE, limits::QUEUE)
}

fn write_beneath(dir: BorrowedFd<'_>, name: &str, value: &str) -> io::Result<()> {
    let file = match rustix::fs::openat(dir, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        // Older kernels know fewer of them.
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        other => other?,
    };
    rustix::io::write(&file, value.as_bytes())?;
    Ok(())
}
