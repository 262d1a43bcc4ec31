//! Errors that a caller can act on. Dialects translate [`Kind`], never text.

use hood_driver_api::{Bytes, DialError, DriverError, SandboxId, SnapshotId};

use crate::ports::StoreError;

/// What an error means for the one who asked. Short and closed; each dialect maps it exhaustively.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request itself is wrong.
    Invalid,
    /// The thing named does not exist (any more).
    NotFound,
    /// The thing is in a state that forbids it.
    Conflict,
    /// A ceiling was met; later may work.
    Exhausted,
    /// The host has no room left.
    NoSpace,
    /// Nothing listens there.
    Unreachable,
    /// Our fault.
    Internal,
}

/// What every error of a public operation offers to a dialect.
pub trait Explain: std::error::Error {
    /// What it means.
    fn kind(&self) -> Kind;

    /// What the user can do, as a sentence fragment without full stop.
    fn next_step(&self) -> Option<String>;
}

/// A sandbox could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// No such template.
    #[error("template `{0}` not found")]
    UnknownTemplate(String),
    /// The node is full.
    #[error("{running} of {limit} sandboxes are running on this node")]
    NodeFull {
        /// How many run.
        running: usize,
        /// How many may.
        limit: usize,
    },
    /// Ended sandboxes are still being removed, too many of them.
    #[error("{waiting} ended sandboxes are still being removed")]
    Removing {
        /// How many.
        waiting: usize,
    },
    /// A value is outside its bounds.
    #[error("`{field}` must be {bounds}, not {given}")]
    OutOfBounds {
        /// Which value.
        field: &'static str,
        /// What is allowed.
        bounds: String,
        /// What was asked.
        given: String,
    },
    /// What it may reach cannot be used.
    #[error("the network policy cannot be used: {0}")]
    Policy(String),
    /// No such volume.
    #[error("volume `{0}` not found")]
    UnknownVolume(String),
    /// Volumes cannot lie where they were asked for.
    #[error("the volumes cannot be mounted: {0}")]
    Mounts(String),
    /// It was killed while it was being created.
    #[error("sandbox `{0}` was killed while it was being created")]
    Killed(SandboxId),
    /// The driver failed.
    #[error("sandbox `{id}` could not be built")]
    Driver {
        /// Which sandbox.
        id: SandboxId,
        /// Why.
        #[source]
        source: DriverError,
    },
    /// The store failed.
    #[error("sandbox could not be recorded")]
    Store(#[source] StoreError),
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
}

/// An operation on an existing sandbox failed.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// Unknown, or ended: then it says why.
    #[error("sandbox `{id}` not found{}", ended.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    NotFound {
        /// Which.
        id: String,
        /// The reason of its end, when it is still remembered.
        ended: Option<String>,
    },
    /// A value is outside its bounds.
    #[error("`{field}` must be {bounds}, not {given}")]
    OutOfBounds {
        /// Which value.
        field: &'static str,
        /// What is allowed.
        bounds: String,
        /// What was asked.
        given: String,
    },
    /// What it may reach cannot be used.
    #[error("the network policy cannot be used: {0}")]
    Policy(String),
    /// It is paused, and the call needs a running one.
    #[error("sandbox `{0}` is paused")]
    Paused(SandboxId),
    /// It runs, and the call needs a paused one.
    #[error("sandbox `{0}` is running")]
    NotPaused(SandboxId),
    /// It is still being created.
    #[error("sandbox `{0}` does not run yet")]
    NotRunning(SandboxId),
    /// It cannot have so little memory.
    #[error("sandbox `{id}` uses {used} of memory now")]
    MemoryInUse {
        /// Which.
        id: SandboxId,
        /// How much cannot be taken back.
        used: Bytes,
    },
    /// No such snapshot.
    #[error("snapshot `{0}` not found")]
    UnknownSnapshot(String),
    /// No such volume.
    #[error("volume `{0}` not found")]
    UnknownVolume(String),
    /// A volume of this name is there.
    #[error("there is a volume `{0}` already")]
    VolumeExists(String),
    /// A living sandbox has the volume.
    #[error("the volume `{name}` is mounted in sandbox `{by}`")]
    VolumeInUse {
        /// Which volume.
        name: String,
        /// Whose.
        by: SandboxId,
    },
    /// There are as many as there may be.
    #[error("{limit} volumes are kept on this node, as many as there may be")]
    TooManyVolumes {
        /// How many may.
        limit: usize,
    },
    /// It was made of a sandbox of another template.
    #[error("snapshot `{0}` belongs to another template, or to another build of it")]
    OtherTemplate(SnapshotId),
    /// No snapshot may be called like a template.
    #[error("`{0}` is the name of a template")]
    NameTaken(String),
    /// There are as many as there may be.
    #[error("{limit} snapshots are kept on this node, as many as there may be")]
    TooManySnapshots {
        /// How many may.
        limit: usize,
    },
    /// The store failed.
    #[error("sandbox could not be recorded")]
    Store(#[source] StoreError),
    /// The driver failed.
    #[error("the driver failed")]
    Driver(#[source] DriverError),
}

/// A stream into a sandbox could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Unknown, ended or not yet running.
    #[error("sandbox not found")]
    NotRunning {
        /// The reason of its end, when it is still remembered.
        ended: Option<String>,
    },
    /// It runs, but nothing listens on the port.
    #[error("port {0} is not open")]
    PortClosed(u16),
    /// Anything else.
    #[error("could not reach the sandbox")]
    Dial(#[source] DialError),
}

/// The records and remains of an earlier run could not be dealt with at start.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The store failed.
    #[error("the records of the last run could not be read or written")]
    Store(#[source] StoreError),
    /// The driver failed.
    #[error("the sandboxes of the last run could not be removed")]
    Sweep(#[source] DriverError),
}

// === impl CreateError ===

impl CreateError {
    /// A short constant name, for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::UnknownTemplate(_) => "unknown_template",
            Self::NodeFull { .. } => "node_full",
            Self::Removing { .. } => "removing",
            Self::OutOfBounds { .. } => "out_of_bounds",
            Self::Policy(_) => "policy",
            Self::UnknownVolume(_) => "unknown_volume",
            Self::Mounts(_) => "mounts",
            Self::Killed(_) => "killed",
            Self::Driver { .. } => "driver",
            Self::Store(_) => "store",
            Self::Stopping => "stopping",
        }
    }
}

impl Explain for CreateError {
    fn kind(&self) -> Kind {
        match self {
            Self::UnknownTemplate(_) => Kind::NotFound,
            Self::NodeFull { .. } | Self::Removing { .. } | Self::Stopping => Kind::Exhausted,
            // An unknown volume is not "not found": to clients that would be the template.
            Self::OutOfBounds { .. } | Self::Policy(_) | Self::UnknownVolume(_) | Self::Mounts(_) => {
                Kind::Invalid
            }
            Self::Killed(_) => Kind::Conflict,
            Self::Driver { source, .. } => driver_kind(source),
            Self::Store(source) => store_kind(source),
        }
    }

    fn next_step(&self) -> Option<String> {
        match self {
            Self::UnknownTemplate(name) => Some(format!(
                "`hood template list` shows what there is, `hood template build {name}` builds one we have a recipe for"
            )),
            Self::NodeFull { .. } => {
                Some("end one with `hood sandbox kill ID`, or raise `max_sandboxes`".into())
            }
            Self::Removing { .. } => {
                Some("try again in a moment; the server's log says what is in the way".into())
            }
            Self::UnknownVolume(_) => Some("`hood volume list` shows what there is".into()),
            Self::OutOfBounds { .. } | Self::Policy(_) | Self::Mounts(_) | Self::Killed(_) => None,
            Self::Driver { source, .. } => driver_step(source),
            Self::Store(source) => store_step(source),
            Self::Stopping => Some("try again when it has started".into()),
        }
    }
}

// === impl LookupError ===

impl Explain for LookupError {
    fn kind(&self) -> Kind {
        match self {
            Self::NotFound { .. } | Self::UnknownSnapshot(_) | Self::UnknownVolume(_) => Kind::NotFound,
            Self::OutOfBounds { .. } | Self::Policy(_) => Kind::Invalid,
            Self::Paused(_)
            | Self::NotPaused(_)
            | Self::NotRunning(_)
            | Self::OtherTemplate(_)
            | Self::NameTaken(_)
            | Self::VolumeExists(_)
            | Self::VolumeInUse { .. }
            | Self::MemoryInUse { .. } => Kind::Conflict,
            Self::TooManySnapshots { .. } | Self::TooManyVolumes { .. } => Kind::Exhausted,
            Self::Store(source) => store_kind(source),
            Self::Driver(source) => driver_kind(source),
        }
    }

    fn next_step(&self) -> Option<String> {
        match self {
            Self::NotFound { ended, .. } => {
                ended.is_none().then(|| "`hood sandbox list` shows the running ones".into())
            }
            Self::OutOfBounds { .. } | Self::Policy(_) => None,
            Self::Paused(_) => Some("`connect` to it, which resumes it".into()),
            Self::NotPaused(_) => Some("`connect` to it".into()),
            Self::NotRunning(_) => Some("wait until its create call has returned".into()),
            Self::MemoryInUse { .. } => Some("end processes in it, or leave it more".into()),
            Self::UnknownSnapshot(_) => Some("`hood snapshot list` shows what there is".into()),
            Self::OtherTemplate(snapshot) => {
                Some(format!("create a sandbox from it: `hood sandbox create {snapshot}`"))
            }
            Self::UnknownVolume(_) => Some("`hood volume list` shows what there is".into()),
            Self::VolumeExists(_) => Some("use it, or choose another name".into()),
            Self::VolumeInUse { by, .. } => Some(format!("end that sandbox first: `hood sandbox kill {by}`")),
            Self::TooManyVolumes { .. } => Some("delete one with `hood volume delete NAME`".into()),
            Self::NameTaken(_) => Some("choose another name".into()),
            Self::TooManySnapshots { .. } => Some("delete one with `hood snapshot delete ID`".into()),
            Self::Store(source) => store_step(source),
            Self::Driver(source) => driver_step(source),
        }
    }
}

// === impl ConnectError ===

impl Explain for ConnectError {
    fn kind(&self) -> Kind {
        match self {
            Self::NotRunning { .. } => Kind::NotFound,
            Self::PortClosed(_) | Self::Dial(_) => Kind::Unreachable,
        }
    }

    fn next_step(&self) -> Option<String> {
        match self {
            Self::NotRunning { .. } | Self::Dial(_) => None,
            Self::PortClosed(port) => {
                Some(format!("start something in the sandbox that listens on port {port}"))
            }
        }
    }
}

fn driver_kind(error: &DriverError) -> Kind {
    match error {
        DriverError::Unknown(_) | DriverError::NoSnapshot(_) | DriverError::NoVolume(_) => Kind::NotFound,
        DriverError::Mount { .. } | DriverError::Absent(_) => Kind::Invalid,
        DriverError::InUse { .. } => Kind::Conflict,
        DriverError::Exhausted { .. } => Kind::Exhausted,
        DriverError::Step { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => Kind::NoSpace,
        DriverError::Template(_)
        | DriverError::Host(_)
        | DriverError::Step { .. }
        | DriverError::Guest(_) => Kind::Internal,
    }
}

fn driver_step(error: &DriverError) -> Option<String> {
    match error {
        DriverError::Host(_) => Some("`hood doctor` says what this host lacks".into()),
        DriverError::Template(_) => Some("build the template again with `hood template build`".into()),
        DriverError::Step { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
            Some("free space in the data directory".into())
        }
        DriverError::InUse { .. }
        | DriverError::Unknown(_)
        | DriverError::NoSnapshot(_)
        | DriverError::NoVolume(_)
        | DriverError::Mount { .. }
        | DriverError::Absent(_)
        | DriverError::Exhausted { .. }
        | DriverError::Step { .. }
        | DriverError::Guest(_) => None,
    }
}

fn store_kind(error: &StoreError) -> Kind {
    match error {
        StoreError::Conflict(_) => Kind::Conflict,
        StoreError::Full => Kind::NoSpace,
        StoreError::Exists(_) | StoreError::Failed { .. } => Kind::Internal,
    }
}

fn store_step(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Full => Some("free space in the data directory".into()),
        StoreError::Conflict(_) | StoreError::Exists(_) | StoreError::Failed { .. } => None,
    }
}
