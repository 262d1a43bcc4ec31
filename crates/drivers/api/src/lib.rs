//! The one trait that every way of building walls implements, and the types it speaks.
//!
//! A driver makes a sandbox from a [`Spec`], ends it, opens byte streams into it and says what it uses. It knows no
//! deadline, no owner, no protocol; the engine knows those and no Linux. Start at [`Driver`].
#![forbid(unsafe_code)]

mod driver;
mod files;
mod ids;
mod isolation;
mod outlets;
mod spec;
mod units;

pub use driver::{
    ByteStream, Captured, DialError, Driver, DriverError, DriverEvent, Event, EventSink, Still, Usage,
};
pub use files::{Entry, Files, Given, Kind, Upload};
pub use ids::{ParseIdError, ParseSnapshotIdError, ParseVolumeIdError, SandboxId, SnapshotId, VolumeId};
pub use isolation::{Check, Isolation, Mode, Need, Network, ParseWallError, Standing, Wall};
pub use outlets::{Outlets, Refused};
pub use spec::{Mount, Nursery, Origin, RootFs, RootMode, Spec};
pub use units::{Bytes, MilliCpu, Resources};
