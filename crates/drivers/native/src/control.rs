//! The host's end of a guest's control socket: lines both ways, and descriptors from the guest.
//!
//! Everything that comes in is hostile: a line that is too long or does not parse is dropped, and so are descriptors
//! that nobody asked for.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;

use hood_wire::{GuestEvent, HostMessage, MAX_EVENT_BYTES, decode_event};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Bytes of one read.
const CHUNK: usize = 16 * 1024;

/// Descriptors of one read; a guest sends three at a time.
const MAX_DESCRIPTORS: usize = 16;

/// Descriptors kept until the line that they belong to is complete. Beyond it the oldest are closed.
const MAX_KEPT: usize = 48;

/// The reading half.
pub(crate) struct Control {
    socket: Arc<UnixStream>,
    buffer: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

/// The writing half; lines are short, and a guest that does not read them only hurts itself.
#[derive(Clone)]
pub(crate) struct Writer(Arc<UnixStream>);

impl Control {
    pub(crate) fn new(socket: StdUnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let socket = Arc::new(UnixStream::from_std(socket)?);
        Ok(Self { socket, buffer: Vec::new(), descriptors: VecDeque::new() })
    }

    pub(crate) fn writer(&self) -> Writer {
        Writer(self.socket.clone())
    }

    /// Sends all of `bytes`; only for the configuration, while the guest does nothing but read it.
    pub(crate) async fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.socket.writable().await?;
            match self.socket.try_write(bytes) {
                Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The guest's next event; `None` when it is gone.
    pub(crate) async fn next(&mut self) -> io::Result<Option<GuestEvent>> {
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if let Some(event) = decode_event(line.trim_ascii_end()) {
                    return Ok(Some(event));
                }
            }
            if self.buffer.len() > MAX_EVENT_BYTES {
                // What follows up to the next newline will not parse, and is dropped like this.
                self.buffer.clear();
            }
            if self.read().await? == 0 {
                return Ok(None);
            }
        }
    }

    /// The descriptors that came with the event returned last.
    pub(crate) fn take_descriptors<const N: usize>(&mut self) -> Option<[OwnedFd; N]> {
        if self.descriptors.len() < N {
            return None;
        }
        let taken: Vec<OwnedFd> = self.descriptors.drain(..N).collect();
        taken.try_into().ok()
    }

    async fn read(&mut self) -> io::Result<usize> {
        let socket = self.socket.clone();
        let mut chunk = vec![0; CHUNK];
        let read = socket
            .async_io(Interest::READABLE, || {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
                let mut control = RecvAncillaryBuffer::new(&mut space);
                let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
                let message = recvmsg(&*socket, &mut [IoSliceMut::new(&mut chunk)], &mut control, flags)?;
                for message in control.drain() {
                    if let RecvAncillaryMessage::ScmRights(fds) = message {
                        self.descriptors.extend(fds);
                    }
                }
                Ok(message.bytes)
            })
            .await?;
        self.buffer.extend_from_slice(chunk.get(..read).unwrap_or_default());
        while self.descriptors.len() > MAX_KEPT {
            self.descriptors.pop_front();
        }
        Ok(read)
    }
}

impl Writer {
    /// Sends one message, whole or not at all.
    pub(crate) fn send(&self, message: &HostMessage) {
        let mut line = match serde_json::to_vec(message) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "a message to a guest cannot be written");
                return;
            }
        };
        line.push(b'\n');
        if let Err(error) = self.0.try_write(&line) {
            tracing::debug!(%error, "a guest does not take its messages");
        }
    }
}
