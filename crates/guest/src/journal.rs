//! What the guest tells the host: events over the control socket, never waiting for a slow host.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use hood_wire::{GuestEvent, Level, encode_event};

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

    /// A line for the sandbox's log.
    pub(crate) fn log(&self, level: Level, logger: &str, message: impl Into<String>) {
        self.send(&GuestEvent::Log { level, logger: logger.to_owned(), message: message.into() });
    }
}
