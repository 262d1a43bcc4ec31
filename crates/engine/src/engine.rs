//! The engine: runs the state machine against the driver and the store.
//!
//! [`Engine`] is a handle. What must finish (building, a transition, removing) runs in tasks of its own, so a caller's
//! future may be dropped at any point; what runs for ever (deadlines, sampling, the driver's events, pruning, the
//! journal) ends with [`Engine::stop`] or with the last handle.

mod annotate;
mod apply;
mod change;
mod create;
mod destroy;
mod events;
mod link;
mod meter;
mod pause;
mod read;
mod recover;
mod snapshot;
mod stop;
mod timers;
mod volume;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hood_driver_api::{Bytes, Driver, EventSink, MilliCpu, Resources, RootMode, SandboxId};
use hood_policy::Policy;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::DropGuard;

pub use self::change::Change;
pub use self::link::Link;
pub use self::pause::Woken;
pub use self::recover::Recovered;
pub use self::snapshot::Fork;
use crate::deadline::Deadlines;
use crate::journal::Journal;
use crate::lifecycle::Event;
use crate::metrics::Metrics;
use crate::ports::{Clock, Entropy, Gate, Store, Templates};
use crate::snapshot::Snapshots;
use crate::table::Table;
use crate::tasks::Tasks;
use crate::volume::Volumes;
use crate::{AtDeadline, LookupError, Record, TeamId, Why, limits};

/// What the node's owner decides.
#[derive(Debug, Clone)]
pub struct Config {
    /// How many sandboxes may live at once.
    pub max_sandboxes: usize,
    /// How far ahead a deadline may lie.
    pub max_timeout: Duration,
    /// What one sandbox may be given.
    pub max_resources: Resources,
    /// How long an ended sandbox is remembered, with its log and samples.
    pub keep_ended: Duration,
}

/// What a caller asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSandbox {
    /// Template id or `name[:tag]`.
    pub template: String,
    /// How long it may run.
    pub timeout: Duration,
    /// Labels.
    pub metadata: BTreeMap<String, String>,
    /// Environment of every process; wins over the template's.
    pub envs: BTreeMap<String, String>,
    /// Other resources than the template's.
    pub resources: Option<ResourceAsk>,
    /// Whether the root filesystem may be written.
    pub root_mode: RootMode,
    /// Volumes in its tree.
    pub volumes: Vec<MountAsk>,
    /// What it may reach.
    pub policy: Box<Policy>,
    /// What its deadline does to it.
    pub at_deadline: AtDeadline,
    /// Whether traffic wakes it when it is paused.
    pub auto_resume: bool,
    /// What the caller said about internet access.
    pub internet: Option<bool>,
    /// The dialect's own notes, kept with the record.
    pub notes: BTreeMap<String, serde_json::Value>,
}

/// A volume to be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountAsk {
    /// Its name or id.
    pub volume: String,
    /// Where.
    pub path: String,
}

/// Resources to give instead of the template's, each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceAsk {
    /// Memory.
    pub memory: Option<Bytes>,
    /// CPU quota.
    pub cpu: Option<MilliCpu>,
    /// Writable layer.
    pub disk: Option<Bytes>,
    /// Processes and threads.
    pub pids: Option<u32>,
}

/// Everything by which an engine reaches the world.
#[derive(Clone)]
pub struct World {
    /// Builds walls.
    pub driver: Arc<dyn Driver>,
    /// Lets connections out.
    pub gate: Arc<dyn Gate>,
    /// Remembers.
    pub store: Arc<dyn Store>,
    /// Knows templates.
    pub templates: Arc<dyn Templates>,
    /// Knows the time.
    pub clock: Arc<dyn Clock>,
    /// Rolls dice.
    pub entropy: Arc<dyn Entropy>,
}

/// A handle to the engine; clones are the same engine. Must be made within a tokio runtime.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    /// Ends the daemons with the last handle; they hold only `shared`.
    _owner: Arc<DropGuard>,
}

/// What the engine's tasks share.
struct Shared {
    config: Config,
    driver: Arc<dyn Driver>,
    gate: Arc<dyn Gate>,
    store: Arc<dyn Store>,
    templates: Arc<dyn Templates>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    table: Table,
    snapshots: Snapshots,
    volumes: Volumes,
    deadlines: Deadlines,
    journal: Journal,
    metrics: Metrics,
    tasks: Tasks,
    destroys: Semaphore,
    events: EventSink,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            max_sandboxes: limits::MAX_SANDBOXES,
            max_timeout: limits::MAX_TIMEOUT,
            max_resources: Resources {
                memory: limits::MAX_MEMORY,
                cpu: limits::MAX_CPU,
                pids: limits::MAX_PIDS,
                disk: limits::MAX_DISK,
            },
            keep_ended: limits::TOMBSTONE,
        }
    }
}

// === impl NewSandbox ===

impl NewSandbox {
    /// A sandbox of this template with nothing special about it.
    pub fn of(template: impl Into<String>, timeout: Duration) -> Self {
        Self {
            template: template.into(),
            timeout,
            metadata: BTreeMap::new(),
            envs: BTreeMap::new(),
            resources: None,
            root_mode: RootMode::Writable,
            volumes: Vec::new(),
            policy: Box::default(),
            at_deadline: AtDeadline::End,
            auto_resume: false,
            internet: None,
            notes: BTreeMap::new(),
        }
    }
}

// === impl Engine ===

impl Engine {
    /// An engine with nothing in it; [`Engine::recover`] comes next.
    pub fn new(config: Config, world: World) -> Self {
        let World { driver, gate, store, templates, clock, entropy } = world;
        let (journal, writer) = Journal::new(store.clone());
        let (events, driver_events) = mpsc::channel(limits::DRIVER_EVENTS);
        let tasks = Tasks::default();
        let owner = Arc::new(tasks.stop.clone().drop_guard());
        let shared = Arc::new(Shared {
            config,
            driver,
            gate,
            store,
            templates,
            clock,
            entropy,
            table: Table::default(),
            snapshots: Snapshots::default(),
            volumes: Volumes::default(),
            deadlines: Deadlines::default(),
            journal,
            metrics: Metrics::default(),
            tasks,
            destroys: Semaphore::new(limits::DESTROYS),
            events,
        });
        let stop = &shared.tasks.stop;
        shared.tasks.daemons.spawn(writer.run(stop.clone()));
        let until_stop = |daemon: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| {
            let stop = stop.clone();
            shared.tasks.daemons.spawn(async move {
                stop.run_until_cancelled(daemon).await;
            });
        };
        until_stop(Box::pin(shared.clone().watch_deadlines()));
        until_stop(Box::pin(shared.clone().sample_all()));
        until_stop(Box::pin(shared.clone().prune_tombstones()));
        until_stop(Box::pin(shared.clone().hear_driver(driver_events)));
        Self { shared, _owner: owner }
    }

    /// Ends a sandbox: when this returns nobody sees it any more, its streams are cut, and its removal has begun.
    /// Dropping the future stops nothing.
    pub async fn kill(&self, team: &TeamId, id: &str) -> Result<(), LookupError> {
        let record = self.shared.living_of(team, id)?;
        self.shared.change(&record.id, Event::End(Why::Killed)).await.map(|_| ())
    }

    /// Moves the deadline to `timeout` from now, in whichever direction; zero ends the sandbox at once.
    pub async fn set_deadline(
        &self,
        team: &TeamId,
        id: &str,
        timeout: Duration,
    ) -> Result<Record, LookupError> {
        let (id, at) = self.shared.deadline_for(team, id, timeout)?;
        let record = self.shared.change(&id, Event::SetDeadline(at)).await?;
        if timeout.is_zero()
            && let Err(refused) = self.shared.apply(&id, Event::Expire).await
        {
            tracing::debug!(sandbox.id = %id, ?refused, "it had ended already, or is still being created");
        }
        Ok(record)
    }

    /// Moves the deadline to `timeout` from now unless it is later already.
    pub async fn extend_deadline(
        &self,
        team: &TeamId,
        id: &str,
        timeout: Duration,
    ) -> Result<Record, LookupError> {
        let (id, at) = self.shared.deadline_for(team, id, timeout)?;
        self.shared.change(&id, Event::ExtendDeadline(at)).await
    }
}

// === impl Shared ===

impl Shared {
    fn deadline_for(
        &self,
        team: &TeamId,
        id: &str,
        timeout: Duration,
    ) -> Result<(SandboxId, time::OffsetDateTime), LookupError> {
        let record = self.living_of(team, id)?;
        if timeout > self.config.max_timeout {
            return Err(LookupError::OutOfBounds {
                field: "timeout",
                bounds: format!("at most {} seconds", self.config.max_timeout.as_secs()),
                given: format!("{} seconds", timeout.as_secs_f64()),
            });
        }
        Ok((record.id.clone(), self.clock.now() + timeout))
    }
}
