//! What a guest tells its host.

use serde::{Deserialize, Serialize};

/// Longest event line in bytes, newline included. A longer one is dropped and counted by the host.
pub const MAX_EVENT_BYTES: usize = 64 * 1024;

/// One line from a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum GuestEvent {
    /// Both ports are listening. Always the first event.
    Ready {
        /// [`crate::PROTOCOL`] of the guest.
        protocol: u32,
    },
    /// The guest could not start; it exits after this.
    Failed {
        /// What it was doing, and the error.
        message: String,
    },
    /// The guest asks for a context's kernel, forked from the template's nursery. Comes with three descriptors: the
    /// kernel's socket, its stdout and its stderr. Answered by [`crate::HostMessage`]s that carry `request`.
    Fork(ForkRequest),
    /// Something a user may want to read in the sandbox's log.
    Log {
        /// How bad it is.
        level: Level,
        /// Which part of the guest speaks: `process`, `context`, `files`, `guest`.
        logger: String,
        /// One line of text.
        message: String,
    },
}

/// A kernel as the guest wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkRequest {
    /// The guest's number for it.
    pub request: u64,
    /// Name of the cgroup that it shall live in, beneath the sandbox's own.
    pub group: String,
    /// Its whole environment.
    pub env: std::collections::BTreeMap<String, String>,
    /// Where it starts.
    pub cwd: String,
    /// Who it runs as.
    pub uid: u32,
    /// With which group.
    pub gid: u32,
    /// And which supplementary ones.
    pub groups: Vec<u32>,
}

/// Severity of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Detail for a developer of the sandboxed program.
    Debug,
    /// A life began or ended.
    Info,
    /// Coped with, but somebody may care.
    Warn,
    /// The sandboxed program lost something.
    Error,
}

/// An event as one line with its newline.
pub fn encode_event(event: &GuestEvent) -> Vec<u8> {
    let mut line = serde_json::to_vec(event).expect("events hold only strings and integers");
    line.push(b'\n');
    line
}

/// The event in `line`, or `None` when it is too long or is not one: hostile input, so no error detail.
pub fn decode_event(line: &[u8]) -> Option<GuestEvent> {
    if line.len() > MAX_EVENT_BYTES {
        return None;
    }
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_the_wire() {
        let event = GuestEvent::Log { level: Level::Warn, logger: "context".into(), message: "a\nb".into() };
        let line = encode_event(&event);
        assert_eq!(line.iter().position(|b| *b == b'\n'), Some(line.len() - 1));
        assert_eq!(decode_event(line.trim_ascii_end()), Some(event));
    }

    #[test]
    fn a_line_that_is_too_long_is_not_an_event() {
        let long = GuestEvent::Failed { message: "x".repeat(MAX_EVENT_BYTES) };
        assert_eq!(decode_event(&encode_event(&long)), None);
    }
}
