//! A template's builder: from the host's root to PID 1 of a namespace of its own, then one sandbox per request.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, pidfd_open};
use rustix::thread::{Gid, Uid};

use super::idle::Idle;
use super::init;
use super::messages::{Answer, Build, IdLine, ToBuilder};
use super::nursery;
use super::serve::write_maps;
use crate::helper::ANSWER_LIMIT;
use crate::sys::clone::{Side, clone_process, exit_now};
use crate::sys::{namespaces, socket};

const NAMESPACES: libc::c_int =
    libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// Starts a builder; returns when its user namespace has its maps.
pub(super) fn start(
    base: u32,
    count: u32,
    server: OwnedFd,
    group: Option<&OwnedFd>,
    warden_socket: &OwnedFd,
) -> io::Result<()> {
    let (entered_read, entered) = pipe_with(PipeFlags::CLOEXEC)?;
    let (mapped, mapped_write) = pipe_with(PipeFlags::CLOEXEC)?;
    match clone_process(0, group.map(AsFd::as_fd))? {
        Side::Child => {
            drop((entered_read, mapped_write));
            let result = become_builder(base, warden_socket, &entered, &mapped).and_then(|()| {
                drop((entered, mapped));
                serve(&server)
            });
            exit_now(i32::from(result.is_err()))
        }
        Side::Parent { pid, .. } => {
            drop((entered, mapped));
            expect_byte(&entered_read)?;
            write_maps(pid, &[IdLine { inside: 0, outside: base, count }])?;
            rustix::io::write(&mapped_write, &[1])?;
            // The second byte says that the builder proper is up.
            expect_byte(&entered_read)
        }
    }
}

/// U is made with the effective id of its own block: namespaces made by one id share one account of kernel objects, and
/// a template that exhausts its own must not exhaust the host's (reference `walls.md` F7).
fn become_builder(base: u32, warden_socket: &OwnedFd, entered: &OwnedFd, mapped: &OwnedFd) -> io::Result<()> {
    close(warden_socket);
    rustix::thread::set_thread_groups(&[])?;
    crate::ceilings::lift_frozen_limits();
    become_id(base)?;
    namespaces::unshare(libc::CLONE_NEWUSER)?;
    rustix::io::write(entered, &[1])?;
    expect_byte(mapped)?;
    become_id(0)?;
    namespaces::unshare(NAMESPACES | libc::CLONE_NEWNET)?;
    // The pid namespace takes effect for children: the next process is its PID 1.
    match clone_process(0, None)? {
        Side::Parent { .. } => exit_now(0),
        Side::Child => {}
    }
    lean_root()?;
    rustix::io::write(entered, &[1])?;
    Ok(())
}

/// Replaces the copy of the host's mounts by two of our own: a small table makes each sandbox's namespace cheap to
/// copy, and a fresh, fully visible `/proc` is what the kernel asks for before a sandbox may mount its own.
fn lean_root() -> io::Result<()> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    rustix::mount::mount(
        "hood",
        "/tmp",
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        c"size=64k,mode=755",
    )?;
    for dir in ["/tmp/proc", "/tmp/new"] {
        rustix::fs::mkdir(dir, Mode::from_raw_mode(0o755))?;
    }
    rustix::mount::mount("proc", "/tmp/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV, None)?;
    rustix::process::chdir("/tmp")?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    Ok(())
}

fn serve(server: &OwnedFd) -> io::Result<()> {
    // PID 1 of U's pid namespace also inherits every orphan between a guest's end and its namespace's.
    namespaces::ignore_children()?;
    let data = init::Data::load()?;
    let myself = pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
    socket::send(server, &Answer::Done, &[myself.as_fd()])?;
    drop(myself);
    let mut idle = Idle::new()?;
    loop {
        idle.work(data.network(), server)?;
        let Some((request, fds)) = socket::receive::<ToBuilder>(server)? else { return Ok(()) };
        let done = match request {
            ToBuilder::Build(request) => build(&data, &request, fds, &mut idle).map(Vec::from),
            ToBuilder::Nurse(request) => nursery::start(&request, fds).map(|()| Vec::new()),
        };
        match done {
            Ok(fds) => {
                let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
                socket::send(server, &Answer::Done, &fds)?;
            }
            Err((step, error)) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                socket::send(server, &Answer::Failed { step, errno }, &[])?;
            }
        }
    }
}

pub(super) type Failure = (String, io::Error);

fn build(
    data: &init::Data,
    request: &Build,
    fds: Vec<OwnedFd>,
    idle: &mut Idle,
) -> Result<[OwnedFd; 2], Failure> {
    let fail = |step: &str| {
        let step = step.to_owned();
        move |error: io::Error| (step, error)
    };
    let (report, report_write) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| fail("pipe")(e.into()))?;
    let (go, go_write) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| fail("pipe")(e.into()))?;
    let handed = init::Handed::sort(&request.roles, fds).map_err(fail("descriptors"))?;
    // Once, and before there is a process that would copy it for itself alone.
    data.guest(&handed).map_err(fail("guest program"))?;
    let group = handed.group.as_ref().map(AsFd::as_fd);
    let network = idle.network();
    let new_network = if network.is_some() { 0 } else { libc::CLONE_NEWNET };
    match clone_process(NAMESPACES | new_network, group).map_err(fail("clone"))? {
        Side::Child => {
            drop((report, go_write));
            init::run(data, request, &handed, network, &report_write, &go)
        }
        Side::Parent { pid, pidfd } => {
            drop((report_write, go));
            idle.dismantle(pid);
            let finished = finish(request, pid, &report, &go_write);
            if finished.is_err() {
                // Its namespaces die with it. Waited for: without a group the server has no other way to know.
                crate::rootless::end(&pidfd, ANSWER_LIMIT).map_err(fail("kill"))?;
            }
            finished.map(|netns| [pidfd, netns])
        }
    }
}

/// Follows the new PID 1 to its exec: it asks for its maps once, then says nothing more unless it fails.
fn finish(request: &Build, pid: Pid, report: &OwnedFd, go: &OwnedFd) -> Result<OwnedFd, Failure> {
    let fail = |step: &str| {
        let step = step.to_owned();
        move |error: io::Error| (step, error)
    };
    init::read_report(report)?;
    let netns = open_netns(pid).map_err(fail("network namespace"))?;
    write_maps(pid, &request.lines).map_err(fail("id maps"))?;
    rustix::io::write(go, &[1]).map_err(|e| fail("go")(e.into()))?;
    match init::read_report(report) {
        // The pipe closed at exec.
        Err((step, error)) if step.is_empty() && error.kind() == io::ErrorKind::UnexpectedEof => Ok(netns),
        Err(failure) => Err(failure),
        Ok(()) => Err(fail("protocol")(io::ErrorKind::InvalidData.into())),
    }
}

fn open_netns(pid: Pid) -> io::Result<OwnedFd> {
    let path = format!("/proc/{}/ns/net", pid.as_raw_nonzero());
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Real, effective and saved ids. The change makes the process undumpable, and then its `/proc` files, the id maps
/// among them, belong to the host's root; so it is made dumpable again.
pub(crate) fn become_id(id: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    Ok(())
}

pub(crate) fn expect_byte(from: &OwnedFd) -> io::Result<()> {
    let mut byte = [0];
    match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut byte))? {
        1 => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Closes the copy of a descriptor that the parent still owns in its own memory.
fn close(fd: &OwnedFd) {
    crate::sys::fork::close_copy(fd.as_fd());
}
