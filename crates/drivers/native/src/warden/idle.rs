//! What a builder does while nobody asks it for anything: networks for the sandboxes to come, and the ends of mounts
//! that nobody needs any more.
//!
//! A network is the costly one of the namespaces, a third of a sandbox's walls (reference `walls.md` 1.2), and what is
//! in it is the same for all. A mount's end waits for every processor of the host.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

use crate::network::{Network, Up};
use crate::sys::namespaces;

/// How many networks wait. A burst that needs more has them made as it goes.
pub(crate) const NETWORKS_AHEAD: usize = 4;

/// How many namespaces wait for their end before somebody has to.
const SCAFFOLDS: usize = 64;

/// A network that belongs to nobody yet.
pub(super) struct Prepared {
    pub(super) netns: OwnedFd,
    pub(super) up: Up,
}

/// The work of one builder.
pub(super) struct Idle {
    /// The builder's own network.
    home: OwnedFd,
    networks: Vec<Prepared>,
    /// The last attempt failed; the next sandbox makes its own, and says why it cannot.
    failed: bool,
    scaffolds: Vec<OwnedFd>,
}

impl Idle {
    pub(super) fn new() -> io::Result<Self> {
        let home = own_netns()?;
        Ok(Self { home, networks: Vec::with_capacity(NETWORKS_AHEAD), failed: false, scaffolds: Vec::new() })
    }

    /// A network.
    pub(super) fn network(&mut self) -> Option<Prepared> {
        self.failed = false;
        self.networks.pop()
    }

    /// Keeps the mounts among which a sandbox's first process begins. It leaves them for copies of its own, locked ones,
    /// and would have to take them down then and there if it were the last that holds them.
    pub(super) fn dismantle(&mut self, guest: Pid) {
        let path = format!("/proc/{}/ns/mnt", guest.as_raw_nonzero());
        // Without the handle the guest does it itself.
        self.scaffolds.extend(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()));
        if self.scaffolds.len() > SCAFFOLDS {
            self.scaffolds.clear();
        }
    }

    /// Goes on as long as nobody asks for anything. An error means that this process is in the wrong network.
    pub(super) fn work(&mut self, network: &Network, server: &OwnedFd) -> io::Result<()> {
        while !self.failed && self.networks.len() < NETWORKS_AHEAD && !is_asked(server)? {
            let made = prepare(network);
            namespaces::enter_network(self.home.as_fd())?;
            match made {
                Ok(prepared) => self.networks.push(prepared),
                Err(_) => self.failed = true,
            }
        }
        while !self.scaffolds.is_empty() && !is_asked(server)? {
            self.scaffolds.pop();
        }
        Ok(())
    }
}

fn prepare(network: &Network) -> io::Result<Prepared> {
    namespaces::unshare(libc::CLONE_NEWNET)?;
    let netns = own_netns()?;
    let up = network.raise().map_err(|(_, error)| error)?;
    Ok(Prepared { netns, up })
}

fn own_netns() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/proc/self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Whether the server has said something, or has gone.
fn is_asked(server: &OwnedFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(server, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(rustix::io::retry_on_intr(|| poll(&mut fds, Some(&now)))? > 0)
}
