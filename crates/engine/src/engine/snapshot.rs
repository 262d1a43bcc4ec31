//! Snapshots and forks: a sandbox's files at one moment, kept for later or handed on at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hood_driver_api::{Captured, DriverError, Origin, SandboxId, SnapshotId, Still};
use hood_wire::Level;
use serde_json::Value;

use super::{Engine, MountAsk, NewSandbox, Shared};
use crate::lifecycle::Event;
use crate::ports::Entropy;
use crate::snapshot::{Snapshot, SnapshotFilter, SnapshotName};
use crate::tasks::Panicked;
use crate::{CreateError, Keep, LookupError, Record, State, TeamId, Template, limits};

/// What the children of a fork get.
pub struct Fork {
    /// How long each may live.
    pub timeout: Duration,
    /// How many.
    pub count: usize,
    /// The dialect's notes for a child, made from its parent's: secrets in them are the child's own.
    pub notes: fn(&Record) -> BTreeMap<String, Value>,
}

impl Engine {
    /// Keeps a sandbox's files as they are at one moment, for which its processes stand still. Memory is not kept.
    pub async fn snapshot(
        &self,
        team: &TeamId,
        id: &str,
        name: Option<SnapshotName>,
    ) -> Result<Snapshot, LookupError> {
        let record = self.shared.living_of(team, id)?;
        if self.shared.snapshots.len() >= limits::SNAPSHOTS {
            return Err(LookupError::TooManySnapshots { limit: limits::SNAPSHOTS });
        }
        if let Some(name) = &name
            && self.shared.templates.find(name.name()).await.is_some()
        {
            return Err(LookupError::NameTaken(name.name().to_owned()));
        }
        let shared = self.shared.clone();
        self.shared.finished(async move { shared.keep(&record.id, name).await }).await
    }

    /// A team's snapshots, newest first, and whether there are more.
    pub fn snapshots(&self, team: &TeamId, filter: &SnapshotFilter) -> (Vec<Arc<Snapshot>>, bool) {
        self.shared.snapshots.page(team, filter)
    }

    /// A team's snapshot, by id or `name[:tag]`.
    pub fn find_snapshot(&self, team: &TeamId, reference: &str) -> Option<Arc<Snapshot>> {
        self.shared.snapshots.find(team, reference)
    }

    /// Forgets a snapshot; sandboxes that were made from it keep what they have. Whether there was one.
    pub async fn delete_snapshot(&self, team: &TeamId, reference: &str) -> Result<bool, LookupError> {
        let turn = self.shared.snapshots.turn.lock().await;
        let Some(snapshot) = self.shared.snapshots.find(team, reference) else { return Ok(false) };
        let removal = self.shared.store.remove_snapshot(&snapshot.id);
        self.shared.bounded("forgetting a snapshot", removal).await.map_err(LookupError::Store)?;
        self.shared.snapshots.remove(&snapshot.id);
        drop(turn);
        self.shared.discard(&snapshot.id).await;
        Ok(true)
    }

    /// Makes sandboxes that begin with the files of this one as they are at one moment. Each has its own id, tokens and
    /// deadline; its processes start anew. Fails as a whole only where there is nothing to make them from.
    pub async fn fork(
        &self,
        team: &TeamId,
        id: &str,
        fork: Fork,
    ) -> Result<Vec<Result<Record, CreateError>>, LookupError> {
        let record = self.shared.living_of(team, id)?;
        if !(1..=limits::FORKS).contains(&fork.count) {
            return Err(LookupError::OutOfBounds {
                field: "count",
                bounds: format!("1 to {}", limits::FORKS),
                given: fork.count.to_string(),
            });
        }
        let shared = self.shared.clone();
        self.shared.finished(async move { shared.multiply(&record.id, &fork).await }).await
    }

    /// Puts a sandbox back to one of its team's snapshots: its processes end, and it starts anew from there. Its id,
    /// tokens and deadline stay.
    pub async fn rollback(&self, team: &TeamId, id: &str, snapshot: &str) -> Result<Record, LookupError> {
        let record = self.shared.living_of(team, id)?;
        let snapshot = self
            .shared
            .snapshots
            .find(team, snapshot)
            .ok_or_else(|| LookupError::UnknownSnapshot(snapshot.to_owned()))?;
        if snapshot.blueprint.root != record.blueprint.root {
            return Err(LookupError::OtherTemplate(snapshot.id.clone()));
        }
        let shared = self.shared.clone();
        self.shared
            .finished(async move {
                if record.is_running() {
                    shared.change(&record.id, Event::Pause(Keep::Files)).await?;
                }
                let restore = Event::Restore(snapshot.id.clone(), snapshot.bytes);
                let restored = shared.change(&record.id, restore).await;
                if !record.is_running() {
                    return restored;
                }
                // Whether it could be put back or not, it runs again.
                let resumed = shared.change(&record.id, Event::Resume(record.deadline)).await;
                restored?;
                shared.log(
                    &record,
                    Level::Info,
                    "sandbox rolled back",
                    [("snapshot", snapshot.id.to_string())],
                );
                resumed
            })
            .await
    }
}

impl Shared {
    /// Runs work to its end, whoever waits for it.
    pub(super) async fn finished<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, LookupError>> + Send + 'static,
    ) -> Result<T, LookupError> {
        match self.tasks.finish(work).await {
            Ok(result) => result,
            Err(Panicked) => {
                Err(LookupError::Driver(DriverError::Guest("the server failed; see its log".into())))
            }
        }
    }

    async fn keep(
        self: &Arc<Self>,
        id: &SandboxId,
        name: Option<SnapshotName>,
    ) -> Result<Snapshot, LookupError> {
        let (record, to, captured) = self.capture(id).await?;
        let snapshot = Snapshot {
            id: to,
            team: record.team.clone(),
            name,
            source: record.id.clone(),
            template_name: record.template_name.clone(),
            created_at: self.clock.now(),
            resources: record.resources,
            blueprint: record.blueprint.clone(),
            bytes: captured.bytes,
        };
        let turn = self.snapshots.turn.lock().await;
        // The newest has the name.
        let former =
            snapshot.name.as_ref().and_then(|name| self.snapshots.find(&record.team, &name.to_string()));
        let former = former.map(|former| Snapshot { name: None, ..Snapshot::clone(&former) });
        let changed: Vec<_> = former.into_iter().chain([snapshot.clone()]).collect();
        if let Err(error) = self.bounded("writing a snapshot", self.store.write_snapshots(&changed)).await {
            // A write that was given up on as too slow may come through: this one comes after it.
            let undone = self.store.remove_snapshot(&snapshot.id);
            if let Err(error) = self.bounded("forgetting a snapshot", undone).await {
                tracing::warn!(snapshot = %snapshot.id, %error, "a snapshot that is not kept may be remembered");
            }
            drop(turn);
            self.discard(&snapshot.id).await;
            return Err(LookupError::Store(error));
        }
        self.snapshots.put(changed);
        drop(turn);
        let fields = [
            ("snapshot", snapshot.id.to_string()),
            ("bytes", captured.bytes.to_string()),
            ("stopped_ms", format!("{:.1}", captured.stopped.as_secs_f64() * 1e3)),
        ];
        self.log(&record, Level::Info, "snapshot made", fields);
        Ok(snapshot)
    }

    async fn multiply(
        self: &Arc<Self>,
        id: &SandboxId,
        fork: &Fork,
    ) -> Result<Vec<Result<Record, CreateError>>, LookupError> {
        let (record, from, captured) = self.capture(id).await?;
        let blueprint = &record.blueprint;
        let template = Template {
            id: record.template_id.clone(),
            name: record.template_name.clone(),
            created_at: record.started_at,
            root: blueprint.root.clone(),
            origin: Origin::Snapshot { id: from.clone(), bytes: captured.bytes },
            resources: record.resources,
            envs: blueprint.envs.clone(),
            account: blueprint.account.clone(),
        };
        let new = || NewSandbox {
            template: record.template_id.clone(),
            timeout: fork.timeout,
            metadata: record.metadata.clone(),
            envs: BTreeMap::new(),
            resources: None,
            root_mode: blueprint.root_mode.clone(),
            volumes: record
                .mounts
                .iter()
                .map(|mount| MountAsk { volume: mount.volume.to_string(), path: mount.path.clone() })
                .collect(),
            policy: record.policy.clone(),
            at_deadline: record.at_deadline,
            auto_resume: record.auto_resume,
            internet: record.internet,
            notes: (fork.notes)(&record),
        };
        let mut making = Vec::with_capacity(fork.count);
        for _ in 0..fork.count {
            let (shared, team, template, new) = (self.clone(), record.team.clone(), template.clone(), new());
            making.push(self.tasks.works.spawn(async move { shared.create_of(&team, template, new).await }));
        }
        let mut made = Vec::with_capacity(fork.count);
        for child in making {
            let panicked = |_| {
                let source = DriverError::Guest("its builder panicked".into());
                Err(CreateError::Driver { id: record.id.clone(), source })
            };
            made.push(child.await.unwrap_or_else(panicked));
        }
        self.discard(&from).await;
        let children = made.iter().filter(|child| child.is_ok()).count();
        self.log(&record, Level::Info, "sandbox forked", [("children", children.to_string())]);
        Ok(made)
    }

    /// Has the driver keep what the sandbox has written. It does not change its state meanwhile.
    async fn capture(&self, id: &SandboxId) -> Result<(Arc<Record>, SnapshotId, Captured), LookupError> {
        let gone = || LookupError::NotFound { id: id.to_string(), ended: None };
        let turn = self.table.turn(id).ok_or_else(gone)?;
        let _turn = turn.lock().await;
        let record = self.table.record(id).ok_or_else(gone)?;
        let still = match (&record.state, record.paused()) {
            (State::Running, _) => Still::Meanwhile,
            (_, Some(Keep::Memory)) => Still::Frozen,
            (_, Some(Keep::Files)) => Still::AtRest { inherited: record.inherited },
            (State::Ended(end), _) => {
                return Err(LookupError::NotFound { id: id.to_string(), ended: Some(end.why.to_string()) });
            }
            (State::Creating | State::Paused(_), _) => return Err(LookupError::NotRunning(id.clone())),
        };
        let to = snapshot_id(&*self.entropy);
        match self.timely(limits::CAPTURE, self.driver.capture(id, &to, still)).await {
            Ok(captured) => Ok((record, to, captured)),
            Err(error) => {
                self.discard(&to).await;
                Err(LookupError::Driver(error))
            }
        }
    }

    /// What cannot be removed now the next start removes: nobody remembers it.
    async fn discard(&self, snapshot: &SnapshotId) {
        if let Err(error) = self.timely(limits::CAPTURE, self.driver.discard(snapshot)).await {
            tracing::warn!(%snapshot, %error, "a snapshot was not removed; the next start will do it");
        }
    }
}

fn snapshot_id(entropy: &dyn Entropy) -> SnapshotId {
    let mut bytes = [0; 20];
    entropy.fill(&mut bytes);
    SnapshotId::from_random(bytes)
}
