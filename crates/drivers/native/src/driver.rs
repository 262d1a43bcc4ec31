//! The driver: everything built here, behind the trait.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use hood_driver_api::{
    ByteStream, Bytes, Captured, Check, DialError, Driver, DriverError, DriverEvent, Event, EventSink, Files,
    Isolation, Mode, Outlets, Resources, RootFs, SandboxId, SnapshotId, Spec, Still, Usage, VolumeId,
};
use hood_wire::{ForkRequest, GuestEvent, HostMessage};
use rustix::fs::{MemfdFlags, SealFlags};
use tokio::sync::{Semaphore, mpsc};

use crate::cgroup::{Life, Limits, Mounts};
use crate::checks;
use crate::control::{Control, Writer};
use crate::ground::Ground;
use crate::helper::{Warden, step};
use crate::ids::Ids;
use crate::instance;
use crate::layer::Layers;
use crate::netdoor::NetDoor;
use crate::network;
use crate::root::Statics;
use crate::rootless;
use crate::sandbox::{self, Ready, Sandbox};
use crate::seccomp::{self, Who};
use crate::templates::{Live, Templates};

/// A guest listens a few milliseconds after its exec; a host under load may need longer.
pub(crate) const READY_LIMIT: Duration = Duration::from_secs(20);

/// How long the processes of a sandbox may take to end after they were killed.
pub(crate) const END_PATIENCE: Duration = Duration::from_secs(20);

/// How long the processes of a sandbox may take to stop: a system call that cannot be interrupted holds one up.
pub(crate) const FREEZE_PATIENCE: Duration = Duration::from_secs(5);

/// Builds and removals at once: they are system calls on two or more cores, and more only make each slower.
pub(crate) const MAX_AT_ONCE: usize = 4;

/// What the driver needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// The server's data directory; the driver owns what it makes in it.
    pub data_dir: PathBuf,
    /// The guest's program.
    pub guest: &'static [u8],
    /// The library by which a nursery's forks step into sandboxes.
    pub joiner: &'static [u8],
    /// Most bytes that all writable layers together may take of the disk.
    pub layers: Bytes,
}

/// The driver. Cheap to clone.
#[derive(Clone)]
pub struct NativeDriver {
    host: Arc<Host>,
    sandboxes: Arc<Mutex<HashMap<SandboxId, Arc<Entry>>>>,
    turns: Arc<Semaphore>,
}

/// Everything that all sandboxes share.
pub(crate) struct Host {
    pub(crate) mode: Mode,
    pub(crate) warden: Warden,
    pub(crate) life: Life,
    pub(crate) limits: Box<dyn Limits>,
    pub(crate) layers: Layers,
    pub(crate) statics: Statics,
    pub(crate) templates: Templates,
    pub(crate) guest: OwnedFd,
    pub(crate) joiner: OwnedFd,
    pub(crate) payload_filters: seccomp::Programs,
    pub(crate) netdoor: NetDoor,
    swept: usize,
    /// What the start has found; of layers, what is really so.
    checks: Vec<Check>,
}

/// The driver's name.
const NAME: &str = "native";

struct Entry {
    sandbox: Sandbox,
    /// Its ceilings as they are.
    resources: Mutex<Resources>,
    writer: Writer,
    watch: tokio::task::AbortHandle,
    /// Holds a socket in the sandbox's network, which would live as long.
    reporter: tokio::task::AbortHandle,
}

impl NativeDriver {
    /// Ends what an earlier run left, and makes everything that sandboxes share. Blocks, for a second when it must
    /// first make the image for writable layers. Must run after [`crate::enter_private_mounts`].
    pub fn start(config: &Config) -> Result<Self, DriverError> {
        let host = |what: &str, error: &dyn std::fmt::Display| DriverError::Host(format!("{what}: {error}"));
        let instance = instance::id(&config.data_dir).map_err(|e| host("data directory", &e))?;
        let mounts = Mounts::read().map_err(|e| host("mountinfo", &e))?;
        let mode = rootless::mode();
        let ground = match mode {
            Mode::Root => Ground::of_root(config, &mounts, &instance)?,
            Mode::Rootless => Ground::of_user(config, &mounts, &instance)?,
        };
        let Ground { life, limits, layers, swept, checks } = ground;
        let swept = swept.max(layers.remove_all().map_err(|e| step("sweep", e))?);
        let statics = Statics::read(&limits.views()).map_err(|e| step("dev", e))?;
        let payload_filters = seccomp::Programs::of(Who::Payload).map_err(|e| host("filter", &e))?;
        let shared = Host {
            mode,
            warden: Warden::start(&instance).map_err(|e| step("warden", e))?,
            life,
            limits,
            layers,
            statics,
            templates: Templates::new(Ids::of(mode)),
            guest: sealed_program("hood-guest", config.guest).map_err(|e| step("guest program", e))?,
            joiner: sealed_program("hood-joiner", config.joiner).map_err(|e| step("joiner", e))?,
            payload_filters,
            netdoor: NetDoor::start().map_err(|e| step("netdoor", e))?,
            swept,
            checks,
        };
        Ok(Self {
            host: Arc::new(shared),
            sandboxes: Arc::default(),
            turns: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        })
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Host>) -> Result<T, DriverError> + Send + 'static,
    ) -> Result<T, DriverError> {
        let gone = |_| DriverError::Host("the driver is stopping".to_owned());
        let turn = self.turns.clone().acquire_owned().await.map_err(gone)?;
        let host = self.host.clone();
        let task = tokio::task::spawn_blocking(move || {
            let result = work(&host);
            drop(turn);
            result
        });
        task.await.map_err(|error| DriverError::Host(error.to_string()))?
    }

    /// Takes a sandbox down by `how`, in a task of its own, which a caller that goes away does not stop.
    async fn take_down(
        &self,
        id: &SandboxId,
        how: fn(&Sandbox, &Host) -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        let entry = lock(&self.sandboxes).remove(id).ok_or_else(|| DriverError::Unknown(id.clone()))?;
        entry.watch.abort();
        entry.reporter.abort();
        let (driver, id) = (self.clone(), id.clone());
        let end = tokio::task::spawn(async move {
            let taken = entry.clone();
            let result = driver.blocking(move |host| how(&taken.sandbox, host)).await;
            if result.is_err() {
                // Kept for another try.
                lock(&driver.sandboxes).insert(id, entry);
            }
            result
        });
        end.await.map_err(|error| DriverError::Host(error.to_string()))?
    }

    async fn build(&self, spec: Spec, events: EventSink) -> Result<Outlets, DriverError> {
        let (origin, resources) = (spec.origin.clone(), spec.resources);
        let raised = self.blocking(move |host| sandbox::raise(host, &spec)).await?;
        match raised.wait_until_ready().await {
            Ok(Ready { sandbox, listeners, control, parts }) => {
                let (id, writer) = (sandbox.id.clone(), control.writer());
                let watch =
                    tokio::task::spawn(watch(self.host.clone(), self.clone(), id.clone(), control, events));
                let (tell, refused) = mpsc::channel(network::REPORTS_WAITING);
                let reporter = tokio::task::spawn(network::report(listeners.refused, tell));
                let outlets = Outlets { refused: Some(refused), ..listeners.outlets };
                let (watch, reporter) = (watch.abort_handle(), reporter.abort_handle());
                let entry =
                    Arc::new(Entry { sandbox, resources: Mutex::new(resources), writer, watch, reporter });
                lock(&self.sandboxes).insert(id, entry.clone());
                let host = self.host.clone();
                tokio::task::spawn_blocking(move || {
                    drop(parts);
                    if let Err(error) = entry.sandbox.make_ahead(&host) {
                        tracing::debug!(%error, "nothing made ahead");
                    }
                });
                Ok(outlets)
            }
            Err((sandbox, error)) => {
                self.blocking(move |host| sandbox.undo(host, &origin)).await?;
                Err(error)
            }
        }
    }

    /// Off the reader's path: opening groups takes system calls, and the answer goes straight to the guest.
    fn fork(&self, id: &SandboxId, request: ForkRequest, ends: Option<[OwnedFd; 3]>, writer: Writer) {
        let (entry, host) = (self.entry(id), self.host.clone());
        tokio::task::spawn_blocking(move || {
            let forked = match (entry, ends) {
                (Some(entry), Some(ends)) => entry.sandbox.fork(&host, &request, &ends, &writer),
                (None, _) => Err("the sandbox is not up yet".to_owned()),
                (_, None) => Err("the request came without its descriptors".to_owned()),
            };
            if let Err(reason) = forked {
                writer.send(&HostMessage::Refused { request: request.request, reason });
            }
        });
    }

    fn entry(&self, id: &SandboxId) -> Option<Arc<Entry>> {
        lock(&self.sandboxes).get(id).cloned()
    }
}

/// Passes a guest's events on, and says when it is gone.
async fn watch(
    host: Arc<Host>,
    driver: NativeDriver,
    id: SandboxId,
    mut control: Control,
    events: EventSink,
) {
    let writer = control.writer();
    while let Ok(Some(event)) = control.next().await {
        match event {
            GuestEvent::Ready { .. } => continue,
            GuestEvent::Fork(request) => {
                let ends = control.take_descriptors();
                driver.fork(&id, request, ends, writer.clone());
                continue;
            }
            GuestEvent::Failed { .. } | GuestEvent::Log { .. } => {}
        }
        if events.send(DriverEvent { id: id.clone(), event: Event::Guest(event) }).await.is_err() {
            return;
        }
    }
    let usage = driver.entry(&id).and_then(|entry| entry.sandbox.usage(&host).ok());
    let out_of_memory = usage.is_some_and(|usage| usage.oom_kills > 0);
    if events.send(DriverEvent { id, event: Event::Died { out_of_memory } }).await.is_err() {
        tracing::debug!("nobody listens for ends any more");
    }
}

#[async_trait]
impl Driver for NativeDriver {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn prepare(&self, root: &RootFs) {
        let root = root.clone();
        if let Err(error) = self.blocking(move |host| sandbox::prepare(host, &root)).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "a template could not be prepared; its first sandbox will try again");
        }
    }

    async fn close(&self) {
        let host = self.host.clone();
        if tokio::task::spawn_blocking(move || host.close()).await.is_err() {
            tracing::warn!("the driver could not close");
        }
    }

    async fn create(&self, spec: Spec, events: EventSink) -> Result<Outlets, DriverError> {
        // A task of its own: a caller that goes away must not leave half a sandbox.
        let driver = self.clone();
        let build = tokio::task::spawn(async move { driver.build(spec, events).await });
        build.await.map_err(|error| DriverError::Host(error.to_string()))?
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), DriverError> {
        if lock(&self.sandboxes).contains_key(id) {
            return self.take_down(id, sandbox::Sandbox::take_away).await;
        }
        // At rest there is nothing of it but its layer.
        let id = id.clone();
        self.blocking(move |host| host.layers.remove(&id).map_err(|e| step("removal of the layer", e))).await
    }

    async fn rest(&self, id: &SandboxId) -> Result<(), DriverError> {
        self.take_down(id, sandbox::Sandbox::rest).await
    }

    async fn capture(&self, id: &SandboxId, to: &SnapshotId, still: Still) -> Result<Captured, DriverError> {
        let (entry, id, to) = (self.entry(id), id.clone(), to.clone());
        // Once begun it comes to its end: processes that were stopped go on, whoever waits for it.
        self.blocking(move |host| match (still, entry) {
            (Still::AtRest { inherited }, _) => sandbox::capture_at_rest(host, &id, &to, inherited),
            (_, None) => Err(DriverError::Unknown(id)),
            (_, Some(entry)) => entry.sandbox.capture(host, &to, still == Still::Frozen),
        })
        .await
    }

    async fn restore(&self, id: &SandboxId, from: &SnapshotId) -> Result<(), DriverError> {
        let (id, from) = (id.clone(), from.clone());
        self.blocking(move |host| {
            host.layers.restore(&id, &from).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => DriverError::NoSnapshot(from),
                _ => step("restore", error),
            })
        })
        .await
    }

    async fn discard(&self, snapshot: &SnapshotId) -> Result<(), DriverError> {
        let snapshot = snapshot.clone();
        self.blocking(move |host| {
            host.layers.discard(&snapshot).map_err(|e| step("removal of a snapshot", e))
        })
        .await
    }

    async fn snapshots(&self) -> Result<Vec<SnapshotId>, DriverError> {
        self.blocking(|host| host.layers.snapshots().map_err(|e| step("list of snapshots", e))).await
    }

    async fn make_volume(&self, id: &VolumeId, size: Bytes) -> Result<(), DriverError> {
        if self.host.mode == Mode::Rootless {
            // Without maps their files would belong to other ids in each sandbox.
            return Err(DriverError::Absent("volumes; they need a server that runs as root"));
        }
        let id = id.clone();
        self.blocking(move |host| {
            host.layers.make_volume(&id, size).map_err(|error| {
                if let Err(undo) = host.layers.remove_volume(&id) {
                    tracing::warn!(volume = %id, error = %undo, "a failed creation left something behind");
                }
                step("volume", error)
            })
        })
        .await
    }

    async fn remove_volume(&self, id: &VolumeId) -> Result<(), DriverError> {
        let id = id.clone();
        self.blocking(move |host| host.layers.remove_volume(&id).map_err(|e| step("removal of a volume", e)))
            .await
    }

    async fn open_volume(&self, id: &VolumeId) -> Result<Arc<dyn Files>, DriverError> {
        let (host, id) = (self.host.clone(), id.clone());
        let open = tokio::task::spawn_blocking(move || {
            let opened = host.layers.open_volume(&id);
            let files = opened.map(|top| Arc::new(hood_beneath::Folder::new(top)) as Arc<dyn Files>);
            files.map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => DriverError::NoVolume(id),
                _ => step("volume", error),
            })
        });
        open.await.map_err(|error| DriverError::Host(error.to_string()))?
    }

    async fn volumes(&self) -> Result<Vec<VolumeId>, DriverError> {
        self.blocking(|host| host.layers.volumes().map_err(|e| step("list of volumes", e))).await
    }

    async fn freeze(&self, id: &SandboxId) -> Result<(), DriverError> {
        let entry = self.entry(id).ok_or_else(|| DriverError::Unknown(id.clone()))?;
        self.blocking(move |_| entry.sandbox.freeze()).await
    }

    async fn resize(&self, id: &SandboxId, to: &Resources) -> Result<(), DriverError> {
        let entry = self.entry(id).ok_or_else(|| DriverError::Unknown(id.clone()))?;
        let to = *to;
        self.blocking(move |host| {
            let before = *lock(&entry.resources);
            entry.sandbox.resize(host, &to).inspect_err(|_| {
                if let Err(error) = entry.sandbox.resize(host, &before) {
                    tracing::warn!(%error, "the ceilings of before could not be set again");
                }
            })?;
            *lock(&entry.resources) = to;
            entry.writer.send(&HostMessage::Limits { memory_bytes: to.memory.0 });
            Ok(())
        })
        .await
    }

    async fn thaw(&self, id: &SandboxId) -> Result<(), DriverError> {
        let entry = self.entry(id).ok_or_else(|| DriverError::Unknown(id.clone()))?;
        self.blocking(move |_| entry.sandbox.thaw()).await
    }

    async fn connect(&self, id: &SandboxId, port: u16) -> Result<Box<dyn ByteStream>, DialError> {
        let entry = self.entry(id).ok_or(DialError::Unknown)?;
        Ok(Box::new(self.host.netdoor.dial(&entry.sandbox.netns, port).await?))
    }

    async fn usage(&self, id: &SandboxId) -> Result<Usage, DriverError> {
        let entry = self.entry(id).ok_or_else(|| DriverError::Unknown(id.clone()))?;
        let host = self.host.clone();
        let read = tokio::task::spawn_blocking(move || entry.sandbox.usage(&host));
        read.await.map_err(|error| DriverError::Host(error.to_string()))?
    }

    async fn sweep(&self) -> Result<usize, DriverError> {
        // Done at the start, before anything could be made.
        Ok(self.host.swept)
    }

    fn checks(&self) -> Vec<Check> {
        self.host.checks.clone()
    }

    fn isolation(&self) -> Isolation {
        checks::isolation(NAME, self.host.mode, &self.host.checks)
    }
}

impl Host {
    /// Sees to it that the template has a nursery, or soon will have one. Without root there is none: its forks would
    /// enter their sandboxes by groups.
    pub(crate) fn tend(self: &Arc<Self>, live: &Arc<Live>, root: &RootFs) {
        if self.mode == Mode::Root {
            live.cradle.tend(self, live, root);
        }
    }

    /// Builders end, and the instance's groups go.
    fn close(&self) {
        self.templates.end_all();
        let limits = self.limits.remove_all();
        if let Err(error) = limits.map(drop).and(self.life.remove()) {
            tracing::warn!(%error, "control groups were left behind; the next start sweeps them");
        }
    }
}

/// The guest's program as a sealed file without a name: nobody inside can overwrite it (CVE-2019-5736).
fn sealed_program(name: &str, program: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(name, flags)?;
    let mut rest = program;
    while !rest.is_empty() {
        let n = rustix::io::write(file.as_fd(), rest)?;
        rest = rest.get(n..).unwrap_or_default();
    }
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
