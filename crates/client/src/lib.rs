//! A small client of the E2B protocol, for our own command line and the agent's workbench.
//!
//! Control calls go to the server's API; everything inside a sandbox goes to the same address with routing headers.
//! Bodies stream: neither an upload, a download nor a program's output is ever held whole.
//!
//! May not know: where the server's address and key come from, terminals, the engine. Start at [`Client`], then
//! [`Sandbox`].
#![forbid(unsafe_code)]

mod audit;
mod cells; // one cell of a context, as it runs
mod client; // the address, the key, and how an answer becomes an error
mod control; // sandboxes and templates
mod error;
mod files;
mod frames; // how streams are cut into messages
pub mod limits;
mod process;
mod sandbox; // the way into one sandbox
mod secrets;
mod snapshots;
mod volumes;

pub use audit::{AuditPage, AuditQuery};
pub use cells::{CellEvent, Cells};
pub use client::Client;
pub use control::{
    Ceilings, Change, Hood, Isolation, ListedSandbox, LogEntry, Metric, NewSandbox, ShownSandbox, Template,
    VolumeMount,
};
pub use error::{ClientError, Code};
pub use files::{Download, Entry, EntryKind};
pub use process::{Command, End, Event, Input, Process, Signal, Size, Stdio};
pub use sandbox::Sandbox;
pub use secrets::Secret;
pub use snapshots::{Child, ChildError, ChildSandbox, Snapshot};
pub use volumes::Volume;
