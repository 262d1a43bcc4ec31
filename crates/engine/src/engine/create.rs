//! Creating: check, take a place, write it down, build.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use hood_driver_api::{DriverError, Origin, Resources, SandboxId, Spec};
use hood_wire::{GuestConfig, GuestLimits, Level, PROTOCOL};
use tokio::sync::OwnedMutexGuard;

use super::apply::ApplyError;
use super::{Engine, NewSandbox, ResourceAsk, Shared};
use crate::lifecycle::Event;
use crate::ports::Entropy;
use crate::tasks::{Panicked, within};
use crate::{
    Blueprint, Bytes, CreateError, LookupError, Record, State, TeamId, Template, Token, Why, limits,
};

impl Engine {
    /// Makes a sandbox and returns its record once its guest answers.
    ///
    /// Dropping the future stops nothing: the sandbox is built to its end and lives until its deadline.
    pub async fn create(&self, team: &TeamId, new: NewSandbox) -> Result<Record, CreateError> {
        let started = self.shared.clock.now();
        let created = self.shared.create(team, new).await;
        match &created {
            Ok(record) => {
                let took = self.shared.clock.now() - started;
                self.shared.metrics.created(took.try_into().unwrap_or_default());
                tracing::info!(sandbox.id = %record.id, template = record.template_id, "sandbox running");
            }
            Err(error) => self.shared.metrics.create_failed(error),
        }
        created
    }
}

impl Shared {
    async fn create(self: &Arc<Self>, team: &TeamId, new: NewSandbox) -> Result<Record, CreateError> {
        let template = self
            .template(team, &new.template)
            .await
            .ok_or_else(|| CreateError::UnknownTemplate(new.template.clone()))?;
        self.create_of(team, template, new).await
    }

    /// A snapshot of the team's own, or else a template.
    async fn template(&self, team: &TeamId, reference: &str) -> Option<Template> {
        match self.snapshots.find(team, reference) {
            Some(snapshot) => Some(snapshot.template()),
            None => self.templates.find(reference).await,
        }
    }

    pub(super) async fn create_of(
        self: &Arc<Self>,
        team: &TeamId,
        template: Template,
        new: NewSandbox,
    ) -> Result<Record, CreateError> {
        let odd = self.gate.check(&new.policy).map_err(CreateError::Policy)?;
        let origin = template.origin.clone();
        // A volume that is found cannot go before the sandbox that has it is known.
        let volumes = self.volumes.turn.lock().await;
        let mounts = self.mounts(team, &new.volumes)?;
        let record = Record { mounts, ..self.draft(team, template, new)? };
        let spec = self.spec(&record, origin);
        let id = record.id.clone();
        let turn = self.table.reserve(record, self.config.max_sandboxes)?;
        drop(volumes);
        let cut = self.table.held(&id).expect("just reserved, and only its builder forgets it").cut;

        for text in odd {
            self.say(&id, Level::Warn, &text);
        }
        let shared = self.clone();
        let building = async {
            let built = self.tasks.finish(async move { shared.build(spec, turn).await });
            match built.await {
                Ok(built) => built,
                Err(Panicked) => Err(self.give_up(&id).await),
            }
        };
        tokio::pin!(building);
        // The builder first: when it is done its answer is the better one.
        tokio::select! {
            biased;
            built = &mut building => return built,
            () = cut.cancelled() => {}
        }
        match self.table.record(&id).and_then(|record| record.ended().cloned()) {
            // Who asked for it need not wait until a slow driver has come round.
            Some(end) if end.why == Why::Killed => Err(CreateError::Killed(id.clone())),
            _ => building.await,
        }
    }

    /// The builder of one sandbox. It holds the walls until it has reported exactly one of `Built` and `BuildFailed`.
    async fn build(self: Arc<Self>, spec: Spec, turn: OwnedMutexGuard<()>) -> Result<Record, CreateError> {
        let id = spec.id.clone();
        let record = self.table.record(&id).expect("reserved, and only its builder forgets it");
        if let Err(error) = self.bounded("inserting a record", self.store.insert(&record)).await {
            self.table.forget(&id);
            return Err(CreateError::Store(error));
        }
        self.log(&record, Level::Info, "sandbox created", [("template", record.template_id.clone())]);
        drop(turn);

        let (driver, events) = (self.driver.clone(), self.events.clone());
        let walls = self.tasks.guard(async move { driver.create(spec, events).await });
        let failure = match within(&self.clock, limits::BUILD, walls).await {
            Some(Ok(Ok(outlets))) => {
                // The record of now: its policy may have been replaced while the walls went up.
                if let Some(record) = self.table.record(&id) {
                    self.gate.open(&record, outlets);
                }
                None
            }
            Some(Ok(Err(error))) => Some(error),
            Some(Err(Panicked)) => {
                Some(DriverError::Guest("the driver panicked; see the server's log".into()))
            }
            None => Some(DriverError::Guest(format!("not ready within {} s", limits::BUILD.as_secs()))),
        };
        let report = failure.as_ref().map_or(Event::Built, |error| Event::BuildFailed(chain(error)));
        let applied = self.apply(&id, report).await;
        self.outcome(id, failure, applied).await
    }

    /// What the one who asked is told. The record says more than the driver: a killed sandbox was killed, whether its
    /// walls came up or not.
    async fn outcome(
        self: Arc<Self>,
        id: SandboxId,
        failure: Option<DriverError>,
        applied: Result<Arc<Record>, ApplyError>,
    ) -> Result<Record, CreateError> {
        let guest = |text: &str| DriverError::Guest(text.into());
        let record = match applied {
            Ok(record) => record,
            Err(ApplyError::Store(error)) => {
                // It runs but cannot be recorded, so it must not go on.
                if let Err(error) =
                    self.apply(&id, Event::BuildFailed("it could not be recorded".into())).await
                {
                    tracing::error!(sandbox.id = %id, ?error, "a sandbox that could not be recorded cannot be ended");
                }
                return Err(CreateError::Store(error));
            }
            Err(other) => {
                tracing::error!(sandbox.id = %id, ?other, "the builder's report was refused");
                return Err(CreateError::Driver { id, source: guest("the engine lost track of it") });
            }
        };
        let Some(end) = record.ended() else { return Ok(Record::clone(&record)) };
        let source = match (&end.why, failure) {
            (Why::Killed, _) => return Err(CreateError::Killed(id)),
            (Why::HostRestart, _) => return Err(CreateError::Stopping),
            (_, Some(error)) => error,
            (why, None) => guest(&why.to_string()),
        };
        Err(CreateError::Driver { id, source })
    }

    /// The builder panicked, so it cannot report.
    async fn give_up(self: &Arc<Self>, id: &SandboxId) -> CreateError {
        let text = "its builder panicked; see the server's log";
        if let Err(error) = self.apply(id, Event::BuildFailed(text.into())).await {
            tracing::error!(sandbox.id = %id, ?error, "a sandbox whose builder panicked cannot be ended");
        }
        CreateError::Driver { id: id.clone(), source: DriverError::Guest(text.into()) }
    }

    fn draft(&self, team: &TeamId, template: Template, new: NewSandbox) -> Result<Record, CreateError> {
        let max = self.config.max_timeout;
        if new.timeout.is_zero() || new.timeout > max {
            let bounds = format!("more than 0 and at most {} seconds", max.as_secs());
            return Err(
                out_of_bounds("timeout", bounds, format!("{} seconds", new.timeout.as_secs_f64())).into()
            );
        }
        let resources =
            resources(template.resources, new.resources.unwrap_or_default(), &self.config.max_resources)?;
        let inherited = inherited(&template.origin, &resources)?;
        small_enough("metadata", weight(&new.metadata), limits::METADATA)?;
        let notes: usize = new.notes.iter().map(|(name, value)| name.len() + value.to_string().len()).sum();
        small_enough("notes", notes, limits::NOTES)?;
        let envs = envs(template.envs, new.envs)?;
        let Template { root, account, .. } = template;

        let now = self.clock.now();
        Ok(Record {
            id: sandbox_id(&*self.entropy),
            team: team.clone(),
            template_id: template.id,
            template_name: template.name,
            state: State::Creating,
            started_at: now,
            deadline: now + new.timeout,
            resources,
            blueprint: Arc::new(Blueprint { root, root_mode: new.root_mode, envs, account }),
            inherited,
            mounts: Vec::new(),
            metadata: new.metadata,
            access_token: access_token(&*self.entropy),
            policy: new.policy,
            at_deadline: new.at_deadline,
            auto_resume: new.auto_resume,
            internet: new.internet,
            notes: new.notes,
        })
    }

    /// What the driver is told.
    fn spec(&self, record: &Record, origin: Origin) -> Spec {
        let Blueprint { root, root_mode, envs, account } = Blueprint::clone(&record.blueprint);
        let guest = GuestConfig {
            protocol: PROTOCOL,
            sandbox_id: record.id.to_string(),
            template_id: record.template_id.clone(),
            access_token: record.access_token.0.clone(),
            envs,
            account,
            limits: GuestLimits {
                memory_bytes: record.resources.memory.0,
                cpu_milli: record.resources.cpu.0,
                disk_bytes: record.resources.disk.0,
            },
            nursery: None,
            filter: String::new(),
            sent_at_ns: self.clock.now().unix_timestamp_nanos(),
        };
        let mounts = record.mounts.clone();
        Spec { id: record.id.clone(), root, root_mode, origin, mounts, resources: record.resources, guest }
    }

    /// Builds a sandbox that kept only its files.
    pub(super) async fn rebuild(&self, record: &Record) -> Result<(), DriverError> {
        let spec = self.spec(record, Origin::Kept { inherited: record.inherited });
        let outlets = self.driver.create(spec, self.events.clone()).await?;
        self.gate.open(record, outlets);
        Ok(())
    }
}

/// What comes from a snapshot counts against the ceiling of the writable layer.
fn inherited(origin: &Origin, resources: &Resources) -> Result<Bytes, CreateError> {
    let Origin::Snapshot { bytes, .. } = origin else { return Ok(Bytes(0)) };
    let least = Bytes(bytes.0 + limits::MIN_DISK.0);
    if resources.disk < least {
        let bounds = format!("at least {least}: the snapshot holds {bytes}");
        return Err(out_of_bounds("disk", bounds, resources.disk.to_string()).into());
    }
    Ok(*bytes)
}

fn envs(
    mut envs: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, CreateError> {
    envs.extend(own);
    small_enough("envs", weight(&envs), limits::ENVS)?;
    let bad = |(name, value): &(&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    if let Some((name, _)) = envs.iter().find(bad) {
        let bounds = "names without `=` and values without NUL".to_owned();
        return Err(out_of_bounds("envs", bounds, format!("{name:?}")).into());
    }
    Ok(envs)
}

pub(super) fn resources(
    template: Resources,
    ask: ResourceAsk,
    max: &Resources,
) -> Result<Resources, OutOfBounds> {
    Ok(Resources {
        memory: between("memory", ask.memory.unwrap_or(template.memory), limits::MIN_MEMORY, max.memory)?,
        cpu: {
            let cpu = ask.cpu.unwrap_or(template.cpu);
            between("cpu", cpu, limits::MIN_CPU, max.cpu)?
        },
        pids: between("pids", ask.pids.unwrap_or(template.pids), limits::MIN_PIDS, max.pids)?,
        disk: between("disk", ask.disk.unwrap_or(template.disk), limits::MIN_DISK, max.disk)?,
    })
}

fn between<T: PartialOrd + Display + Copy>(
    field: &'static str,
    value: T,
    min: T,
    max: T,
) -> Result<T, OutOfBounds> {
    if value < min || value > max {
        return Err(out_of_bounds(field, format!("{min} to {max}"), value.to_string()));
    }
    Ok(value)
}

pub(super) fn small_enough(field: &'static str, size: usize, max: Bytes) -> Result<(), OutOfBounds> {
    let size = Bytes(size as u64);
    if size > max {
        return Err(out_of_bounds(field, format!("at most {max} together"), size.to_string()));
    }
    Ok(())
}

fn out_of_bounds(field: &'static str, bounds: String, given: String) -> OutOfBounds {
    OutOfBounds { field, bounds, given }
}

/// A value that is outside its bounds, in whichever call.
#[derive(Debug)]
pub(super) struct OutOfBounds {
    field: &'static str,
    bounds: String,
    given: String,
}

impl From<OutOfBounds> for CreateError {
    fn from(OutOfBounds { field, bounds, given }: OutOfBounds) -> Self {
        Self::OutOfBounds { field, bounds, given }
    }
}

impl From<OutOfBounds> for LookupError {
    fn from(OutOfBounds { field, bounds, given }: OutOfBounds) -> Self {
        Self::OutOfBounds { field, bounds, given }
    }
}

pub(super) fn weight(map: &BTreeMap<String, String>) -> usize {
    map.iter().map(|(name, value)| name.len() + value.len()).sum()
}

fn sandbox_id(entropy: &dyn Entropy) -> SandboxId {
    let mut bytes = [0; 20];
    entropy.fill(&mut bytes);
    SandboxId::from_random(bytes)
}

/// 36 characters of five bits each, one random byte a character so that none is likelier than another.
pub(super) fn access_token(entropy: &dyn Entropy) -> Token {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = [0; 36];
    entropy.fill(&mut bytes);
    Token(bytes.iter().map(|b| char::from(ALPHABET[usize::from(b % 32)])).collect())
}

/// The error and its causes in one line, for a record.
fn chain(error: &DriverError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
