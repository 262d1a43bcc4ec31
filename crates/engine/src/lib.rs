//! What a sandbox is: its life, its deadline, its template, its meter and its log.
//!
//! May not know: HTTP, Linux, any driver; it reaches the world through [`ports`] and `hood_driver_api::Driver`.
//! Start at [`lifecycle`] (the state machine, pure), then [`Engine`] (which runs it). Holds invariants 1, 5 and 10 of
//! `ARCHITECTURE.md`.
#![forbid(unsafe_code)]

mod deadline;
mod engine;
mod error;
mod journal;
pub mod lifecycle;
pub mod limits;
mod metrics;
pub mod ports;
mod record;
mod snapshot;
mod table;
mod tasks;
mod volume;

pub use engine::{
    Change, Config, Engine, Fork, Link, MountAsk, NewSandbox, Recovered, ResourceAsk, Woken, World,
};
pub use error::{ConnectError, CreateError, Explain, Kind, LookupError, RecoverError};
pub use hood_driver_api::{
    ByteStream, Bytes, Isolation, MilliCpu, Mount, Origin, Outlets, Resources, RootFs, RootMode, SandboxId,
    SnapshotId, VolumeId,
};
/// The files of volumes.
pub mod files {
    pub use hood_driver_api::{Entry, Files, Given, Kind, Upload};
}
pub use hood_policy::Policy;
pub use journal::{LogLine, LogQuery};
pub use metrics::{Counts, Histogram, Sample};
pub use record::{
    AtDeadline, Blueprint, End, Filter, Keep, Order, Page, Pause, Phase, Record, State, TeamId, Template,
    Token, Why,
};
pub use snapshot::{Snapshot, SnapshotFilter, SnapshotName};
pub use volume::Volume;
