//! Networks put up before anybody asks for them. Of all namespaces this is the costly one, a third of a sandbox's walls
//! (reference `walls.md` 1.2), and what is in it is the same for all.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};

use crate::network::{Network, Up};
use crate::sys::namespaces;

/// How many wait. A burst that needs more has them made as it goes.
pub(crate) const NETWORKS_AHEAD: usize = 4;

/// A network that belongs to nobody yet.
pub(super) struct Prepared {
    pub(super) netns: OwnedFd,
    pub(super) up: Up,
}

/// Those of one builder.
pub(super) struct Ahead {
    /// The builder's own.
    home: OwnedFd,
    ready: Vec<Prepared>,
    /// The last attempt failed; the next sandbox makes its own, and says why it cannot.
    failed: bool,
}

impl Ahead {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { home: own_netns()?, ready: Vec::with_capacity(NETWORKS_AHEAD), failed: false })
    }

    /// One of them.
    pub(super) fn take(&mut self) -> Option<Prepared> {
        self.failed = false;
        self.ready.pop()
    }

    /// Makes more as long as nobody asks for anything. An error means that this process is in the wrong network.
    pub(super) fn fill(&mut self, network: &Network, server: &OwnedFd) -> io::Result<()> {
        while !self.failed && self.ready.len() < NETWORKS_AHEAD && !is_asked(server)? {
            let made = prepare(network);
            namespaces::enter_network(self.home.as_fd())?;
            match made {
                Ok(prepared) => self.ready.push(prepared),
                Err(_) => self.failed = true,
            }
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
