//! The warden's loop.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitOptions};

use super::builder;
use super::messages::{Answer, IdLine, ToWarden};
use crate::sys::clone::{Side, clone_process, exit_now};
use crate::sys::{fork, socket};

/// Nice value of the helpers and of guests.
const AHEAD_OF_PAYLOADS: i32 = -10;

/// Entry point of the hidden subcommand: serves the socket at descriptor 3 until it closes.
pub fn run() -> ExitCode {
    // Inherited by builders and guests, so that a guest answers while its payload spins on every processor; payloads
    // go back to 0. A host that forbids it only makes guests slower under such load.
    rustix::process::setpriority_process(None, AHEAD_OF_PAYLOADS).ok();
    match fork::inherited_socket().and_then(|socket| serve(&socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(server: &OwnedFd) -> io::Result<()> {
    while let Some((request, fds)) = socket::receive::<ToWarden>(server)? {
        reap();
        match answer(&request, fds, server) {
            Ok(fd) => {
                let fds: Vec<_> = fd.iter().map(AsFd::as_fd).collect();
                socket::send(server, &Answer::Done, &fds)?;
            }
            Err(error) => {
                let step = match request {
                    ToWarden::UserNamespace { .. } => "user namespace",
                    ToWarden::Builder { .. } => "builder",
                };
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                socket::send(server, &Answer::Failed { step: step.to_owned(), errno }, &[])?;
            }
        }
    }
    Ok(())
}

fn answer(request: &ToWarden, fds: Vec<OwnedFd>, server: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    match request {
        ToWarden::UserNamespace { lines } => user_namespace(lines).map(Some),
        ToWarden::Builder { base, count } => {
            let mut fds = fds.into_iter();
            let socket = fds.next().ok_or(io::ErrorKind::InvalidInput)?;
            builder::start(*base, *count, socket, fds.next().as_ref(), server)?;
            Ok(None)
        }
    }
}

/// A user namespace needs a process to be made; once a descriptor of it is open, the process may go.
fn user_namespace(lines: &[IdLine]) -> io::Result<OwnedFd> {
    let (hold, held) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    match clone_process(libc::CLONE_NEWUSER, None)? {
        Side::Child => {
            drop(held);
            let mut byte = [0];
            // Ends when the parent drops its end; what it reads does not matter.
            exit_now(i32::from(rustix::io::read(&hold, &mut byte).is_err()))
        }
        Side::Parent { pid, pidfd } => {
            let made = write_maps(pid, lines).and_then(|()| {
                let path = format!("/proc/{}/ns/user", pid.as_raw_nonzero());
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                Ok(rustix::fs::open(path, flags, Mode::empty())?)
            });
            rustix::process::pidfd_send_signal(&pidfd, Signal::KILL)?;
            rustix::process::waitpid(Some(pid), WaitOptions::empty())?;
            made
        }
    }
}

/// Writes both maps of a process that has just entered a user namespace of its own.
pub(super) fn write_maps(pid: Pid, lines: &[IdLine]) -> io::Result<()> {
    let lines: Vec<_> = lines.iter().map(|l| format!("{} {} {}\n", l.inside, l.outside, l.count)).collect();
    let text = lines.concat();
    for file in ["uid_map", "gid_map"] {
        // One write per map: the kernel takes no second one.
        let path = format!("/proc/{}/{file}", pid.as_raw_nonzero());
        std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn reap() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}
