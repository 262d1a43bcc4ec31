//! One sandbox: what is built for it, in which order, and how all of it is taken away again.
//!
//! | step | made | taken away |
//! |---|---|---|
//! | slot | a range of ids | given back |
//! | life group | cgroup2 group, owned by the sandbox's root | every process killed, group removed |
//! | limits | groups of the other controllers | removed |
//! | layer | writable layer with its size | deleted |
//! | mounts | overlay, `/dev`, `/sys`: detached | with their last descriptor and the namespace |
//! | walls | namespaces and the guest, by the builder | with the processes |
//! | listeners | the gate's, in the sandbox's network | by whoever was given them |
//! | guest | configuration sent, `Ready` read | with the processes |
//!
//! Without root there may be no groups, and there are no maps: see [`crate::rootless`].
//!
//! Taking away derives every name from the id, runs in reverse, goes on after an error, and may run twice.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use hood_driver_api::{
    Bytes, Captured, DriverError, Mode, Mount, Origin, Resources, RootFs, RootMode, SandboxId, SnapshotId,
    Spec, Usage,
};
use hood_wire::{ForkRequest, GuestConfig, GuestEvent, PROTOCOL};

use crate::control::{Control, Writer};
use crate::driver::{END_PATIENCE, FREEZE_PATIENCE, Host, READY_LIMIT};
use crate::helper::step;
use crate::layer::Kind;
use crate::network::Listeners;
use crate::nursery::Place;
use crate::random;
use crate::root::{self, Made, Overlay};
use crate::rootless;
use crate::stopwatch::Stopwatch;
use crate::templates::{Live, Owners, Slot};
use crate::warden::messages::{Build, Role};

/// Share of the memory ceiling that `/dev/shm` may take.
pub(crate) const SHM_SHARE: u64 = 2;

/// How far behind the pids controller's limit the user namespace's stands: were it met first, nobody would count the
/// refusals, and the end of a fork bomb would have no reason.
pub(crate) const SECOND_FENCE: u64 = 2;

/// A built sandbox. Dropping it takes nothing away: `unmake` does.
pub(crate) struct Sandbox {
    pub(crate) id: SandboxId,
    pub(crate) netns: Arc<OwnedFd>,
    pidfd: OwnedFd,
    live: Arc<Live>,
    /// What of its layer is not counted as its own.
    inherited: Bytes,
    _slot: Slot,
}

/// What is there before the guest has answered.
pub(crate) struct Raised {
    pub(crate) sandbox: Sandbox,
    listeners: Listeners,
    control: StdUnixStream,
    config: GuestConfig,
    parts: Vec<OwnedFd>,
    watch: Stopwatch,
}

/// What is there when it has.
pub(crate) struct Ready {
    pub(crate) sandbox: Sandbox,
    pub(crate) listeners: Listeners,
    pub(crate) control: Control,
    /// To be dropped when nobody waits ([`Overlay::parts`]).
    pub(crate) parts: Vec<OwnedFd>,
}

/// Starts the template's builder and its nursery.
pub(crate) fn prepare(host: &Arc<Host>, root: &RootFs) -> Result<(), DriverError> {
    let live = host.templates.open(root, &host.warden, &host.life)?;
    host.tend(&live, root);
    Ok(())
}

/// Puts everything up but the guest's answer. Blocks for some milliseconds. On an error nothing is left.
pub(crate) fn raise(host: &Arc<Host>, spec: &Spec) -> Result<Raised, DriverError> {
    match attempt(host, spec) {
        // The builder had died since the last sandbox; the next attempt starts another.
        Err(error) if is_helper_dead(&error) => attempt(host, spec),
        result => result,
    }
}

fn attempt(host: &Arc<Host>, spec: &Spec) -> Result<Raised, DriverError> {
    let live = host.templates.open(&spec.root, &host.warden, &host.life)?;
    host.tend(&live, &spec.root);
    let slot = live.slot()?;
    let mut watch = Stopwatch::start();
    let raised = raise_in(host, spec, &live, &slot, &mut watch);
    match raised {
        Ok(Up { pidfd, netns, control, parts }) => {
            let inherited = host.layers.inherited(&spec.origin);
            let (id, netns) = (spec.id.clone(), Arc::new(netns));
            let sandbox = Sandbox { id, netns, pidfd, live, inherited, _slot: slot };
            // Before the guest is told who it is, and so before any program inside runs.
            match host.netdoor.listen(&sandbox.netns) {
                Ok(listeners) => {
                    watch.lap("listeners");
                    let config = config(host, spec);
                    Ok(Raised { sandbox, listeners, control, config, parts, watch })
                }
                Err(error) => {
                    if let Err(undo) = sandbox.undo(host, &spec.origin) {
                        tracing::warn!(sandbox.id = %spec.id, error = %undo, "a failed creation left something behind");
                    }
                    Err(step("listeners", error))
                }
            }
        }
        Err(error) => {
            if is_helper_gone(&error) {
                host.templates.forget(&spec.root);
            }
            if let Err(undo) = undo(host, &live, &spec.id, &spec.origin) {
                tracing::warn!(sandbox.id = %spec.id, error = %undo, "a failed creation left something behind");
            }
            Err(error)
        }
    }
}

/// What the builder has put up.
struct Up {
    pidfd: OwnedFd,
    netns: OwnedFd,
    control: StdUnixStream,
    parts: Vec<OwnedFd>,
}

fn raise_in(
    host: &Host,
    spec: &Spec,
    live: &Arc<Live>,
    slot: &Slot,
    watch: &mut Stopwatch,
) -> Result<Up, DriverError> {
    let id = &spec.id;
    let owners = host.templates.owners(slot, &host.warden)?;
    watch.lap("maps");
    let tasks = host.limits.make(id, &live.group, &spec.resources).map_err(|e| step("limits", e))?;
    watch.lap("limits");
    let group = live.group.make(id, slot.root_outside()).map_err(|e| step("life group", e))?;
    watch.lap("life group");
    let layer = host.layers.make(id, spec.resources.disk, &spec.origin).map_err(|e| layer_error(spec, e))?;
    watch.lap("layer");
    root::write_identity(&layer, &owners, id, &spec.origin).map_err(|e| step("identity", e))?;
    watch.lap("identity");
    let Overlay { mount: overlay, parts } =
        root::overlay(&spec.root, &layer, &owners).map_err(|e| overlay_error(spec, e))?;
    watch.lap("overlay");
    let volumes = volumes(host, spec, &owners, &overlay, slot.root_outside())?;
    let Made { dev, sys, nodes } = host.statics.make(&owners).map_err(|e| step("dev", e))?;
    watch.lap("dev");
    let (ours, theirs) = StdUnixStream::pair().map_err(|e| step("control socket", e))?;

    let mut roles = vec![Role::Root, Role::Dev, Role::Sys, Role::Guest, Role::Control];
    let mut fds = vec![overlay.as_fd(), dev.as_fd(), sys.as_fd(), host.guest.as_fd(), theirs.as_fd()];
    let groups = group.iter().map(|fd| (Role::Group, fd));
    let nodes = nodes.iter().map(|fd| (Role::Node, fd));
    for (role, fd) in groups.chain(nodes).chain(tasks.iter().map(|fd| (Role::Tasks, fd))) {
        roles.push(role);
        fds.push(fd.as_fd());
    }
    for volume in &volumes {
        roles.push(Role::Volume);
        fds.push(volume.as_fd());
    }
    let ids = slot.ids();
    // Behind a controller it is a second fence; without one it is the only.
    let fence = if host.limits.holds_pids() { SECOND_FENCE } else { 1 };
    let build = Build {
        roles,
        hostname: id.as_str().to_owned(),
        root: ids.root,
        account: ids.account,
        lines: ids.lines,
        max_processes: u64::from(spec.resources.pids) * fence,
        shm_bytes: spec.resources.memory.0 / SHM_SHARE,
        boot_id: random::uuid(),
        writable: match &spec.root_mode {
            RootMode::Writable => None,
            RootMode::ReadOnlyExcept(dir) => Some(dir.clone()),
        },
        volumes: spec.mounts.iter().map(|mount| mount.path.clone()).collect(),
        views: host.limits.views(),
        nested_user_namespaces: spec.root.nested_user_namespaces,
    };
    let (pidfd, netns) = live.builder.build(build, &fds)?;
    watch.lap("walls");
    Ok(Up { pidfd, netns, control: ours, parts })
}

/// The volumes of a sandbox, each with a place to lie in.
fn volumes(
    host: &Host,
    spec: &Spec,
    owners: &Owners,
    overlay: &OwnedFd,
    root_outside: u32,
) -> Result<Vec<OwnedFd>, DriverError> {
    let view = |mount: &Mount| {
        let folder = host.layers.open_volume(&mount.volume).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => DriverError::NoVolume(mount.volume.clone()),
            _ => step("volume", error),
        })?;
        root::make_place(overlay, &mount.path, root_outside).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => {
                DriverError::Mount { path: mount.path.clone(), why: error.to_string() }
            }
            _ => step("place of a volume", error),
        })?;
        root::volume(&folder, owners).map_err(|e| step("volume", e))
    };
    spec.mounts.iter().map(view).collect()
}

/// What only the driver knows of a guest's configuration.
fn config(host: &Host, spec: &Spec) -> GuestConfig {
    let mut config = spec.guest.clone();
    config.nursery = match host.mode {
        Mode::Root => spec.root.nursery.as_ref().map(|nursery| nursery.language.clone()),
        // The guest would ask for forks that nobody makes.
        Mode::Rootless => None,
    };
    let filter = host.payload_filters.bytes(spec.root.nested_user_namespaces);
    config.filter = base64::engine::general_purpose::STANDARD.encode(filter);
    if host.layers.kind() == Kind::Plain {
        config.limits.disk_bytes = 0;
    }
    config
}

impl Raised {
    /// Tells the guest who it is and waits until it listens.
    pub(crate) async fn wait_until_ready(self) -> Result<Ready, (Sandbox, DriverError)> {
        let Self { sandbox, listeners, control, config, parts, mut watch } = self;
        watch.lap("hand over");
        match tokio::time::timeout(READY_LIMIT, greet(control, &config)).await {
            Ok(Ok(control)) => {
                watch.lap("guest");
                tracing::debug!(sandbox.id = %sandbox.id, %watch, "raised");
                Ok(Ready { sandbox, listeners, control, parts })
            }
            Ok(Err(error)) => Err((sandbox, error)),
            Err(_) => Err((sandbox, DriverError::Guest(format!("no answer within {READY_LIMIT:?}")))),
        }
    }
}

async fn greet(control: StdUnixStream, config: &GuestConfig) -> Result<Control, DriverError> {
    let guest = |error: io::Error| DriverError::Guest(error.to_string());
    let mut control = Control::new(control).map_err(guest)?;
    let mut line = serde_json::to_vec(config).map_err(|e| guest(io::Error::other(e)))?;
    line.push(b'\n');
    control.send(&line).await.map_err(guest)?;
    match control.next().await.map_err(guest)? {
        Some(GuestEvent::Ready { protocol: PROTOCOL }) => Ok(control),
        Some(GuestEvent::Ready { protocol }) => {
            Err(DriverError::Guest(format!("it speaks protocol {protocol}, this server {PROTOCOL}")))
        }
        Some(GuestEvent::Failed { message } | GuestEvent::Log { message, .. }) => {
            Err(DriverError::Guest(message))
        }
        Some(GuestEvent::Fork(_)) => {
            Err(DriverError::Guest("it asks for forks before it is ready".to_owned()))
        }
        None => Err(DriverError::Guest("it ended before it was ready".to_owned())),
    }
}

impl Sandbox {
    /// What the next sandbox of the same template will need and can be made before it.
    pub(crate) fn make_ahead(&self, host: &Host) -> Result<(), DriverError> {
        host.templates.make_ahead(&self.live, &host.warden)
    }

    /// Ends every process and removes everything. Blocks until the last process is gone.
    pub(crate) fn take_away(&self, host: &Host) -> Result<(), DriverError> {
        take_away(host, &self.live, &self.id, Some(&self.pidfd), Layer::Goes)
    }

    /// The same, but for what it has written.
    pub(crate) fn rest(&self, host: &Host) -> Result<(), DriverError> {
        take_away(host, &self.live, &self.id, Some(&self.pidfd), Layer::Stays)
    }

    /// Removes what a creation that failed has made, and no more.
    pub(crate) fn undo(&self, host: &Host, origin: &Origin) -> Result<(), DriverError> {
        take_away(host, &self.live, &self.id, Some(&self.pidfd), Layer::made_by(origin))
    }

    /// The time for which every process stood still, and the size of what was captured.
    pub(crate) fn capture(
        &self,
        host: &Host,
        to: &SnapshotId,
        is_frozen: bool,
    ) -> Result<Captured, DriverError> {
        let failed = |error| step("capture", error);
        let mut stopped = Duration::ZERO;
        if is_frozen {
            host.layers.capture(&self.id, to).map_err(failed)?;
        } else {
            host.layers.settle(&self.id).map_err(failed)?;
            let start = Instant::now();
            self.freeze()?;
            let captured = host.layers.capture(&self.id, to);
            let thawed = self.thaw();
            stopped = start.elapsed();
            captured.map_err(failed)?;
            thawed?;
        }
        let own = host.layers.usage(&self.id).unwrap_or_default();
        Ok(Captured { bytes: Bytes(own.0 + self.inherited.0), stopped })
    }

    /// Sets other ceilings of memory and processor time, and tells the guest.
    pub(crate) fn resize(&self, host: &Host, to: &Resources) -> Result<(), DriverError> {
        let meter = host.limits.meter(&self.id, &self.live.group).map_err(|e| step("meter", e))?;
        let used = meter.map_or(Bytes(0), |meter| Bytes(meter.memory.0.saturating_sub(meter.cache.0)));
        // The kernel would end processes to make it true.
        if used > to.memory {
            return Err(DriverError::InUse { used });
        }
        host.limits.set(&self.id, &self.live.group, to).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => DriverError::InUse { used },
            _ => step("limits", error),
        })
    }

    /// Stops every process where it is. Where one does not stop in time, all go on.
    pub(crate) fn freeze(&self) -> Result<(), DriverError> {
        let frozen = self.live.group.freeze(&self.id, FREEZE_PATIENCE);
        frozen.or_else(|error| {
            self.thaw()?;
            Err(step("freeze", error))
        })
    }

    /// Lets them go on.
    pub(crate) fn thaw(&self) -> Result<(), DriverError> {
        self.live.group.thaw(&self.id).map_err(|e| step("thaw", e))
    }

    /// Asks the template's nursery for a kernel inside. The answer goes to the guest.
    pub(crate) fn fork(
        &self,
        host: &Host,
        request: &ForkRequest,
        ends: &[OwnedFd; 3],
        writer: &Writer,
    ) -> Result<(), String> {
        let told = |error: io::Error| error.to_string();
        let group = self.live.group.of_guest(&self.id, &request.group).map_err(told)?;
        let tasks = host.limits.tasks(&self.id).map_err(told)?;
        let place = Place { pidfd: self.pidfd.as_fd(), group: &group, tasks: &tasks, ends };
        self.live.cradle.fork(request, &place, writer)
    }

    /// What it uses.
    pub(crate) fn usage(&self, host: &Host) -> Result<Usage, DriverError> {
        let counted = host.limits.meter(&self.id, &self.live.group).map_err(|e| step("meter", e))?;
        let meter = match counted {
            Some(meter) => meter,
            None => rootless::count(&self.pidfd).map_err(|e| step("meter", e))?,
        };
        // A layer whose quota item is not written yet has used next to nothing.
        let own = host.layers.usage(&self.id).unwrap_or_default();
        let disk = Bytes(own.0 + self.inherited.0);
        Ok(Usage {
            cpu: meter.cpu,
            memory: meter.memory,
            cache: meter.cache,
            disk,
            pids: meter.pids,
            oom_kills: meter.oom_kills,
            pids_refused: meter.pids_refused,
        })
    }
}

/// Captures what a sandbox without processes had written.
pub(crate) fn capture_at_rest(
    host: &Host,
    id: &SandboxId,
    to: &SnapshotId,
    inherited: Bytes,
) -> Result<Captured, DriverError> {
    host.layers.capture(id, to).map_err(|e| step("capture", e))?;
    let own = host.layers.usage(id).unwrap_or_default();
    let inherited = host.layers.inherited(&Origin::Kept { inherited });
    Ok(Captured { bytes: Bytes(own.0 + inherited.0), stopped: Duration::ZERO })
}

/// What becomes of the writable layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Goes,
    Stays,
}

impl Layer {
    /// A creation that took up a layer gives it back; one that made it removes it.
    fn made_by(origin: &Origin) -> Self {
        match origin {
            Origin::Kept { .. } => Self::Stays,
            Origin::Empty | Origin::Snapshot { .. } => Self::Goes,
        }
    }
}

/// What the builder had begun it has ended itself.
fn undo(host: &Host, live: &Live, id: &SandboxId, origin: &Origin) -> Result<(), DriverError> {
    take_away(host, live, id, None, Layer::made_by(origin))
}

fn take_away(
    host: &Host,
    live: &Live,
    id: &SandboxId,
    guest: Option<&OwnedFd>,
    its_layer: Layer,
) -> Result<(), DriverError> {
    // All are tried, the first error is told: what one step leaves, the next sweep finds.
    let group = live.group.end(id, END_PATIENCE);
    // Where there are no groups: with the guest, PID 1, everything in its pid namespace ends.
    let guest = guest.map_or(Ok(()), |guest| rootless::end(guest, END_PATIENCE));
    let life = group.and(guest).map_err(|e| step("end of the processes", e));
    let limits = host.limits.remove(id).map_err(|e| step("removal of limits", e));
    let layer = match its_layer {
        Layer::Goes => host.layers.remove(id).map_err(|e| step("removal of the layer", e)),
        Layer::Stays => Ok(()),
    };
    life.and(limits).and(layer)
}

fn layer_error(spec: &Spec, error: io::Error) -> DriverError {
    match &spec.origin {
        Origin::Snapshot { id, .. } if error.kind() == io::ErrorKind::NotFound => {
            DriverError::NoSnapshot(id.clone())
        }
        _ => step("layer", error),
    }
}

fn overlay_error(spec: &Spec, error: io::Error) -> DriverError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidData => {
            let dirs: Vec<_> = spec.root.layers.iter().map(|p| p.display().to_string()).collect();
            DriverError::Template(format!("{error} ({})", dirs.join(", ")))
        }
        _ => step("overlay", error),
    }
}

/// Its socket is closed, so nothing is being built there any more.
fn is_helper_dead(error: &DriverError) -> bool {
    matches!(error, DriverError::Step { source, .. }
        if matches!(source.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset))
}

fn is_helper_gone(error: &DriverError) -> bool {
    matches!(error, DriverError::Step { source, .. }
        if matches!(source.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionReset))
}
