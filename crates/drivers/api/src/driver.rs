//! The trait.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hood_wire::GuestEvent;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::{
    Bytes, Check, Files, Isolation, Outlets, Resources, RootFs, SandboxId, SnapshotId, Spec, VolumeId,
};

/// A byte stream to a port inside a sandbox.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// Where a driver reports what happens in its sandboxes. Bounded; a driver waits when it is full.
pub type EventSink = mpsc::Sender<DriverEvent>;

/// Something happened in a sandbox that nobody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverEvent {
    /// Where.
    pub id: SandboxId,
    /// What.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The guest said something. Never `Ready`: `create` waits for that.
    Guest(GuestEvent),
    /// The guest is gone without `destroy` having been called. The sandbox's remains are still there until then.
    Died {
        /// The kernel's OOM killer struck in this sandbox.
        out_of_memory: bool,
    },
}

/// One way to build walls. Every method may be called from many tasks at once.
///
/// Dropping the future of `create` or `destroy` must not leave half a sandbox: implementations finish or undo in a
/// task of their own.
#[async_trait]
pub trait Driver: Send + Sync {
    /// The driver's name in configuration, logs and answers.
    fn name(&self) -> &'static str;

    /// Makes ready what sandboxes of this template share, so that the first need not wait for it. Best effort.
    async fn prepare(&self, root: &RootFs);

    /// Builds the sandbox and returns when its guest listens on both ports. On an error nothing is left.
    async fn create(&self, spec: Spec, events: EventSink) -> Result<Outlets, DriverError>;

    /// Ends every process of the sandbox and removes every trace. Succeeds on what was never made, and twice.
    async fn destroy(&self, id: &SandboxId) -> Result<(), DriverError>;

    /// Gives the sandbox other ceilings of memory and processor time; it runs on, or stays stopped. On an error it has
    /// those of before.
    async fn resize(&self, id: &SandboxId, to: &Resources) -> Result<(), DriverError>;

    /// Stops every process of the sandbox where it is, until [`Driver::thaw`]: memory, open files and listeners stay as
    /// they are. On an error they run on. Succeeds on what is stopped already.
    async fn freeze(&self, id: &SandboxId) -> Result<(), DriverError>;

    /// Lets the processes go on. Succeeds on what runs.
    async fn thaw(&self, id: &SandboxId) -> Result<(), DriverError>;

    /// Ends every process of the sandbox and removes every trace but what it has written, which a `create` with
    /// [`crate::Origin::Kept`] takes up and `destroy` removes. After an error its processes may be gone.
    async fn rest(&self, id: &SandboxId) -> Result<(), DriverError>;

    /// Keeps what the sandbox has written, as of one moment, under a new name; it survives the sandbox and the server.
    /// On an error nothing is kept.
    async fn capture(&self, id: &SandboxId, to: &SnapshotId, still: Still) -> Result<Captured, DriverError>;

    /// Replaces what a sandbox at rest had written by a copy of a snapshot. On an error it is as it was.
    async fn restore(&self, id: &SandboxId, from: &SnapshotId) -> Result<(), DriverError>;

    /// Forgets a snapshot. Succeeds on what was never made, and twice.
    async fn discard(&self, snapshot: &SnapshotId) -> Result<(), DriverError>;

    /// Every snapshot that there is, those included that nobody remembers.
    async fn snapshots(&self) -> Result<Vec<SnapshotId>, DriverError>;

    /// Makes an empty volume of at most this size. On an error nothing is left.
    async fn make_volume(&self, id: &VolumeId, size: Bytes) -> Result<(), DriverError>;

    /// Removes a volume with all that is in it. Succeeds on what was never made, and twice.
    async fn remove_volume(&self, id: &VolumeId) -> Result<(), DriverError>;

    /// The files of a volume. Their ids are those that sandboxes see.
    async fn open_volume(&self, id: &VolumeId) -> Result<Arc<dyn Files>, DriverError>;

    /// Every volume that there is, those included that nobody remembers.
    async fn volumes(&self) -> Result<Vec<VolumeId>, DriverError>;

    /// Opens a stream to a port inside. Does not check any token.
    async fn connect(&self, id: &SandboxId, port: u16) -> Result<Box<dyn ByteStream>, DialError>;

    /// What the sandbox uses now.
    async fn usage(&self, id: &SandboxId) -> Result<Usage, DriverError>;

    /// Removes every sandbox of an earlier run of the server and returns how many there were.
    async fn sweep(&self) -> Result<usize, DriverError>;

    /// Which walls this host allows, as found at the start.
    fn checks(&self) -> Vec<Check>;

    /// Removes what all sandboxes shared, once they have ended: nothing of the server stays on the host. Best effort.
    async fn close(&self);

    /// Which walls stand around its sandboxes.
    fn isolation(&self) -> Isolation;
}

/// What keeps a sandbox's processes from writing while it is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Still {
    /// They run: they are stopped meanwhile.
    Meanwhile,
    /// They are stopped ([`Driver::freeze`]).
    Frozen,
    /// There are none ([`Driver::rest`]).
    AtRest {
        /// Of what it has written so much came from a snapshot.
        inherited: Bytes,
    },
}

/// What was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Captured {
    /// Its size on disk, what it shares with others included.
    pub bytes: Bytes,
    /// How long processes were stopped for it.
    pub stopped: Duration,
}

/// A driver could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// No such sandbox.
    #[error("no sandbox `{0}` here")]
    Unknown(SandboxId),
    /// No such snapshot.
    #[error("no snapshot `{0}` here")]
    NoSnapshot(SnapshotId),
    /// No such volume.
    #[error("no volume `{0}` here")]
    NoVolume(VolumeId),
    /// A volume cannot lie there.
    #[error("a volume cannot be mounted at `{path}`: {why}")]
    Mount {
        /// Where.
        path: String,
        /// Why not.
        why: String,
    },
    /// It uses more memory than it is to have.
    #[error("it uses {used} of memory now")]
    InUse {
        /// So much that cannot be taken back.
        used: Bytes,
    },
    /// This driver has not what was asked for.
    #[error("this server has no {0}")]
    Absent(&'static str),
    /// A ceiling of the host or of the configuration was met.
    #[error("{what}: {limit} reached")]
    Exhausted {
        /// What there is no more of.
        what: &'static str,
        /// How many there may be.
        limit: u64,
    },
    /// The template's files cannot be used.
    #[error("the template's files cannot be used: {0}")]
    Template(String),
    /// The host lacks something that a wall needs.
    #[error("this host cannot build sandboxes: {0}")]
    Host(String),
    /// A step failed; `step` is the name from the driver's table of steps.
    #[error("step `{step}` failed")]
    Step {
        /// Which step.
        step: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The guest did not come up in time, or said why it could not.
    #[error("the guest did not start: {0}")]
    Guest(String),
}

/// A stream into a sandbox could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// No such sandbox.
    #[error("no such sandbox here")]
    Unknown,
    /// Nothing listens on the port.
    #[error("port {0} is not open")]
    Refused(u16),
    /// Anything else.
    #[error("cannot connect to port {port}")]
    Io {
        /// Which port.
        port: u16,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What a sandbox uses at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time since creation.
    pub cpu: Duration,
    /// Memory charged, page cache included.
    pub memory: Bytes,
    /// Of which page cache.
    pub cache: Bytes,
    /// The writable layer.
    pub disk: Bytes,
    /// Processes and threads.
    pub pids: u32,
    /// How often the OOM killer struck.
    pub oom_kills: u64,
    /// How often a fork was refused by the process ceiling.
    pub pids_refused: u64,
}
