//! The server's sockets in a sandbox: the one way for bytes into it, and the gate's listeners for those out of it.
//!
//! A network namespace is entered by a thread, and only that thread changes. So one thread of our own does nothing but
//! enter and open sockets (7 µs each, reference `walls.md` 1.2), and hands them to whoever asked.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use hood_driver_api::DialError;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio::sync::oneshot;

use crate::network::{self, Listeners};
use crate::sys::namespaces;

/// Connections waiting for the thread; beyond it, dialling is refused.
pub(crate) const MAX_WAITING: usize = 4096;

/// How long a connection may take. Both ends are in one kernel.
const CONNECT_LIMIT: std::time::Duration = std::time::Duration::from_secs(5);

/// A handle on the thread; it ends when the last handle is dropped.
pub(crate) struct NetDoor {
    requests: SyncSender<Request>,
}

enum Request {
    Dial { netns: Arc<OwnedFd>, address: SocketAddr, reply: oneshot::Sender<io::Result<TcpStream>> },
    Listen { netns: Arc<OwnedFd>, reply: oneshot::Sender<io::Result<Listeners>> },
}

impl NetDoor {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (requests, queue) = sync_channel(MAX_WAITING);
        std::thread::Builder::new().name("netdoor".to_owned()).spawn(move || serve(&queue))?;
        Ok(Self { requests })
    }

    /// A connection to `port` on the sandbox's loopback: IPv4, else IPv6, since servers inside listen on either.
    pub(crate) async fn dial(
        &self,
        netns: &Arc<OwnedFd>,
        port: u16,
    ) -> Result<tokio::net::TcpStream, DialError> {
        let v4 = self.try_dial(netns, (Ipv4Addr::LOCALHOST, port).into()).await;
        let result = match v4 {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.try_dial(netns, (Ipv6Addr::LOCALHOST, port).into()).await
            }
            other => other,
        };
        result.map_err(|source| match source.kind() {
            io::ErrorKind::ConnectionRefused
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::NetworkUnreachable => DialError::Refused(port),
            _ => DialError::Io { port, source },
        })
    }

    /// The gate's listeners in a new sandbox's network. Blocks.
    pub(crate) fn listen(&self, netns: &Arc<OwnedFd>) -> io::Result<Listeners> {
        let (reply, answer) = oneshot::channel();
        let request = Request::Listen { netns: netns.clone(), reply };
        // Unlike a dial, a creation has waited for its turn: it may wait here.
        self.requests.send(request).map_err(|_| io::ErrorKind::BrokenPipe)?;
        answer.blocking_recv().map_err(|_| io::ErrorKind::BrokenPipe)?
    }

    async fn try_dial(&self, netns: &Arc<OwnedFd>, address: SocketAddr) -> io::Result<tokio::net::TcpStream> {
        let (reply, answer) = oneshot::channel();
        let request = Request::Dial { netns: netns.clone(), address, reply };
        self.requests.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => {
                io::Error::new(io::ErrorKind::WouldBlock, "too many connections are waiting")
            }
            TrySendError::Disconnected(_) => io::ErrorKind::BrokenPipe.into(),
        })?;
        let socket = answer.await.map_err(|_| io::ErrorKind::BrokenPipe)??;
        let stream = tokio::net::TcpStream::from_std(socket)?;
        tokio::time::timeout(CONNECT_LIMIT, stream.writable()).await??;
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        stream.peer_addr()?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

fn serve(queue: &Receiver<Request>) {
    while let Ok(request) = queue.recv() {
        // Whoever asked may have left.
        match request {
            Request::Dial { netns, address, reply } => drop(reply.send(dial(&netns, &address))),
            Request::Listen { netns, reply } => drop(reply.send(listen(&netns))),
        }
    }
}

fn listen(netns: &OwnedFd) -> io::Result<Listeners> {
    namespaces::enter_network(netns.as_fd())?;
    network::listen()
}

fn dial(netns: &OwnedFd, address: &SocketAddr) -> io::Result<TcpStream> {
    namespaces::enter_network(netns.as_fd())?;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}
