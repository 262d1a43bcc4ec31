//! What the guest tells the host: events over the control socket, never waiting for a slow host.

use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use hood_wire::{GuestEvent, Level, MAX_EVENT_BYTES, encode_event};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// The sending half of the control socket. Non-blocking: a log line that does not fit is dropped, since a stalled host
/// must not stall the sandbox.
pub(crate) struct Journal(Mutex<Option<UnixStream>>);

impl Journal {
    /// Over the control socket, or into nothing (tests).
    pub(crate) fn new(control: Option<UnixStream>) -> Self {
        Self(Mutex::new(control))
    }

    /// Sends one event.
    pub(crate) fn send(&self, event: &GuestEvent) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = guard.as_mut()
            && let Err(error) = stream.write_all(&encode_event(event))
            && error.kind() != std::io::ErrorKind::WouldBlock
        {
            *guard = None;
        }
    }

    /// Sends one event with descriptors, whole or not at all.
    pub(crate) fn send_with(&self, event: &GuestEvent, fds: &[BorrowedFd<'_>; 3]) -> io::Result<()> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = guard.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let line = encode_event(event);
        if line.len() > MAX_EVENT_BYTES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let sent = sendmsg(stream, &[IoSlice::new(&line)], &mut control, flags)?;
        if sent == line.len() {
            return Ok(());
        }
        // The descriptors have gone with the first byte: what is left must follow, or the host waits for ever.
        let rest = line.get(sent..).unwrap_or_default();
        (&mut &*stream).write_all(rest)
    }

    /// A line for the sandbox's log.
    pub(crate) fn log(&self, level: Level, logger: &str, message: impl Into<String>) {
        self.send(&GuestEvent::Log { level, logger: logger.to_owned(), message: message.into() });
    }
}
