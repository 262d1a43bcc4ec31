//! The server's ends of its helper processes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hood_driver_api::DriverError;

use crate::sys::{fork, socket};
use crate::warden::messages::{Answer, Build, IdLine, Nurse, ToBuilder, ToWarden};

/// A helper that has not answered by then is stuck.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Name of the hidden subcommand that becomes the warden; the binary must map it to [`crate::warden::run`].
pub const WARDEN_COMMAND: &str = "internal-warden";

/// The warden. Requests are answered one at a time.
pub(crate) struct Warden {
    socket: Mutex<OwnedFd>,
    process: Mutex<Child>,
}

impl Warden {
    /// Starts this same program as the warden. The instance is for its command line, and that of its builders: by it
    /// they are found when nothing else is left to tell them by.
    pub(crate) fn start(instance: &str) -> io::Result<Self> {
        let (ours, theirs) = socket::pair()?;
        socket::set_receive_timeout(&ours, ANSWER_LIMIT)?;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg(WARDEN_COMMAND)
            .arg(instance)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        fork::pass_as_three(&mut command, theirs);
        let process = command.spawn()?;
        Ok(Self { socket: Mutex::new(ours), process: Mutex::new(process) })
    }

    /// A user namespace with these maps.
    pub(crate) fn user_namespace(&self, lines: Vec<IdLine>) -> Result<OwnedFd, DriverError> {
        let fds = self.ask(&ToWarden::UserNamespace { lines }, &[])?;
        fds.into_iter().next().ok_or_else(|| protocol("user namespace"))
    }

    /// A builder over `count` ids from `base`, living in `group` where there are groups.
    pub(crate) fn builder(
        &self,
        base: u32,
        count: u32,
        group: Option<&OwnedFd>,
    ) -> Result<Builder, DriverError> {
        let (ours, theirs) = socket::pair().map_err(|e| step("builder", e))?;
        socket::set_receive_timeout(&ours, ANSWER_LIMIT).map_err(|e| step("builder", e))?;
        let fds: Vec<_> = [Some(&theirs), group].into_iter().flatten().map(AsFd::as_fd).collect();
        self.ask(&ToWarden::Builder { base, count }, &fds)?;
        drop(theirs);
        // Its first word is a handle on itself.
        let process = answer(&ours)?.into_iter().next().ok_or_else(|| protocol("builder"))?;
        Ok(Builder { socket: Mutex::new(ours), process })
    }

    fn ask(&self, request: &ToWarden, fds: &[BorrowedFd<'_>]) -> Result<Vec<OwnedFd>, DriverError> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        socket::send(&*socket, request, fds).map_err(|e| step("warden", e))?;
        answer(&socket)
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        // It ends by itself when the socket closes; killing it saves waiting for that. Either way it is reaped.
        if process.kill().and_then(|()| process.wait()).is_err() {
            tracing::debug!("the warden was gone already");
        }
    }
}

/// A template's builder.
pub(crate) struct Builder {
    socket: Mutex<OwnedFd>,
    /// PID 1 of the template's pid namespace.
    process: OwnedFd,
}

impl Builder {
    /// Ends it, and with it everything in its pid namespace; waits until all of it is gone.
    pub(crate) fn end(&self, patience: Duration) -> io::Result<()> {
        crate::rootless::end(&self.process, patience)
    }

    /// Puts up the walls of one sandbox: the guest's pidfd and its network namespace.
    pub(crate) fn build(
        &self,
        build: Build,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(OwnedFd, OwnedFd), DriverError> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let request = ToBuilder::Build(build);
        socket::send(&*socket, &request, fds).map_err(|e| step("builder", e))?;
        let fds = answer(&socket)?;
        let [pidfd, netns] = <[OwnedFd; 2]>::try_from(fds).map_err(|_| protocol("builder"))?;
        Ok((pidfd, netns))
    }
}

impl Builder {
    /// Starts the template's nursery; see [`ToBuilder::Nurse`] for the descriptors.
    pub(crate) fn nurse(&self, nurse: Nurse, fds: &[BorrowedFd<'_>]) -> Result<(), DriverError> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        socket::send(&*socket, &ToBuilder::Nurse(nurse), fds).map_err(|e| step("builder", e))?;
        answer(&socket).map(drop)
    }
}

fn answer(socket: &OwnedFd) -> Result<Vec<OwnedFd>, DriverError> {
    match socket::receive::<Answer>(socket).map_err(|e| step("helper", e))? {
        Some((Answer::Done, fds)) => Ok(fds),
        Some((Answer::Failed { step: name, errno }, _)) if is_without_rules(&name, errno) => {
            Err(DriverError::Host(NO_RULES.to_owned()))
        }
        Some((Answer::Failed { step: name, errno }, _)) => {
            let source = io::Error::from_raw_os_error(errno);
            Err(step("walls", io::Error::new(source.kind(), format!("{name}: {source}"))))
        }
        None => Err(protocol("helper")),
    }
}

/// Said where the rules of a sandbox's network cannot be loaded.
pub(crate) const NO_RULES: &str = "the kernel lacks a part of nf_tables: it needs nft_ct, nft_connlimit, nft_limit, nft_log, \
    nft_chain_nat, nft_reject_inet and nfnetlink_log (`modprobe` them once to see which is missing)";

/// An expression that the kernel does not know, or no `nf_tables` at all.
fn is_without_rules(step: &str, errno: i32) -> bool {
    use crate::network::{RULES_STEP, SETTINGS_STEP};
    let unknown = matches!(errno, libc::ENOENT | libc::EOPNOTSUPP | libc::EPROTONOSUPPORT);
    unknown && [RULES_STEP, SETTINGS_STEP].contains(&step)
}

pub(crate) fn step(step: &'static str, source: io::Error) -> DriverError {
    DriverError::Step { step, source }
}

fn protocol(name: &'static str) -> DriverError {
    step(name, io::Error::new(io::ErrorKind::BrokenPipe, "the helper process is gone"))
}
