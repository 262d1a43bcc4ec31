//! Messages that cross the wall between host and guest, and nothing else.
//!
//! The host writes one [`GuestConfig`] into the guest's control socket before the guest starts, and [`HostMessage`]s
//! later; the guest answers with a stream of [`GuestEvent`]s, one JSON object a line, each at most
//! [`MAX_EVENT_BYTES`]. The host treats every
//! event as hostile input: a line that is too long or does not parse is counted and dropped. Everything else (files,
//! processes, cells) goes over HTTP on the two ports below, which is why this crate is small.
//!
//! May not know: HTTP, Linux, any protocol of the outside.
#![forbid(unsafe_code)]

mod capabilities;
mod config;
mod event;
mod host;

pub use capabilities::{GUEST_CAPABILITIES, PAYLOAD_CAPABILITIES};
pub use config::{Account, GuestConfig, GuestLimits};
pub use event::{ForkRequest, GuestEvent, Level, MAX_EVENT_BYTES, decode_event, encode_event};
pub use host::HostMessage;

/// Version of the messages in this crate. A guest with another version is refused at start.
pub const PROTOCOL: u32 = 1;

/// The guest serves processes and files here: the port of E2B's envd.
pub const ENVD_PORT: u16 = 49983;

/// The guest serves contexts and cells here: the port of E2B's code interpreter.
pub const CODE_PORT: u16 = 49999;

/// Version of E2B's envd whose behaviour the guest has; clients gate features on it (reference `e2b.md` 3.5).
pub const ENVD_VERSION: &str = "0.6.13";

/// The control socket's descriptor number in the guest.
pub const CONTROL_FD: i32 = 3;

/// The descriptor number, in the guest, of the sandbox's own cgroup2 directory: per-command groups are made in it.
pub const CGROUP_FD: i32 = 4;
