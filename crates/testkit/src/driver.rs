//! A driver without walls, that remembers what it was asked and fails when told to.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use hood_driver_api::{
    ByteStream, Bytes, Captured, Check, DialError, Driver, DriverError, DriverEvent, Event, EventSink, Files,
    Isolation, Mode, Network, Origin, Outlets, Resources, RootFs, SandboxId, SnapshotId, Spec, Standing,
    Still, Usage, VolumeId, Wall,
};
use hood_wire::GuestEvent;
use tokio::io::DuplexStream;
use tokio::sync::watch;

/// A method of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `create`
    Create,
    /// `destroy`
    Destroy,
    /// `freeze`
    Freeze,
    /// `resize`
    Resize,
    /// `thaw`
    Thaw,
    /// `rest`
    Rest,
    /// `capture`
    Capture,
    /// `restore`
    Restore,
    /// `discard`
    Discard,
    /// `make_volume`
    MakeVolume,
    /// `connect`
    Connect,
    /// `usage`
    Usage,
    /// `sweep`
    Sweep,
}

/// What goes wrong in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It returns an error.
    Fail,
    /// It does not return until [`FakeDriver::mend`]; then it goes on as if nothing had been.
    Hang,
    /// It panics.
    Panic,
}

/// Answers a connection to a port; the far end of the stream is the guest's.
type Dial = dyn Fn(&SandboxId, u16, DuplexStream) -> Result<(), DialError> + Send + Sync;

/// A driver that only pretends.
pub struct FakeDriver {
    state: Mutex<State>,
    faults: watch::Sender<HashMap<Call, Fault>>,
    dial: Mutex<Arc<Dial>>,
}

#[derive(Default)]
struct State {
    calls: Vec<(Call, Option<SandboxId>)>,
    standing: HashMap<SandboxId, (Spec, EventSink)>,
    frozen: HashSet<SandboxId>,
    resting: HashSet<SandboxId>,
    snapshots: HashSet<SnapshotId>,
    volumes: HashSet<VolumeId>,
    at_work: HashMap<(Call, SandboxId), usize>,
    broken_rules: Vec<String>,
    usage: Usage,
    far_ends: Vec<DuplexStream>,
}

// === impl FakeDriver ===

impl Default for FakeDriver {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            faults: watch::Sender::default(),
            dial: Mutex::new(Arc::new(|_, port, _| Err(DialError::Refused(port)))),
        }
    }
}

impl FakeDriver {
    /// Makes every further call of this kind go wrong.
    pub fn breaks(&self, call: Call, fault: Fault) {
        self.faults.send_modify(|faults| {
            faults.insert(call, fault);
        });
    }

    /// Makes calls of this kind work again, those that hang included.
    pub fn mend(&self, call: Call) {
        self.faults.send_modify(|faults| {
            faults.remove(&call);
        });
    }

    /// Decides what a connection meets. Until then every port is closed.
    pub fn on_connect(
        &self,
        dial: impl Fn(&SandboxId, u16, DuplexStream) -> Result<(), DialError> + Send + Sync + 'static,
    ) {
        *self.dial.lock().expect("never poisoned") = Arc::new(dial);
    }

    /// Opens every port; what is written into it is read by nobody.
    pub fn open_all_ports(self: &Arc<Self>) {
        let this = Arc::downgrade(self);
        self.on_connect(move |_, _, far_end| {
            if let Some(this) = this.upgrade() {
                this.lock().far_ends.push(far_end);
            }
            Ok(())
        });
    }

    /// Sets what every sandbox uses.
    pub fn set_usage(&self, usage: Usage) {
        self.lock().usage = usage;
    }

    /// A guest dies of itself.
    ///
    /// # Panics
    /// When there is no such sandbox.
    pub async fn die(&self, id: &SandboxId, out_of_memory: bool) {
        self.report(id, Event::Died { out_of_memory }).await;
    }

    /// A guest says something.
    ///
    /// # Panics
    /// When there is no such sandbox.
    pub async fn say(&self, id: &SandboxId, said: GuestEvent) {
        self.report(id, Event::Guest(said)).await;
    }

    /// What a sandbox that stands was built from.
    pub fn spec(&self, id: &SandboxId) -> Option<Spec> {
        self.lock().standing.get(id).map(|(spec, _)| spec.clone())
    }

    /// The sandboxes that stand: created and not destroyed.
    pub fn standing(&self) -> Vec<SandboxId> {
        self.lock().standing.keys().cloned().collect()
    }

    /// Whether the sandbox's processes stand still.
    pub fn is_frozen(&self, id: &SandboxId) -> bool {
        self.lock().frozen.contains(id)
    }

    /// The sandboxes of which nothing is left but what they have written.
    pub fn resting(&self) -> Vec<SandboxId> {
        self.lock().resting.iter().cloned().collect()
    }

    /// The snapshots that there are.
    pub fn kept(&self) -> HashSet<SnapshotId> {
        self.lock().snapshots.clone()
    }

    /// How often a method was called.
    pub fn count(&self, call: Call) -> usize {
        self.lock().calls.iter().filter(|(of, _)| *of == call).count()
    }

    /// How often a method was called for one sandbox.
    pub fn count_for(&self, call: Call, id: &SandboxId) -> usize {
        self.lock().calls.iter().filter(|(of, its)| *of == call && its.as_ref() == Some(id)).count()
    }

    /// What the engine did that no driver should have to bear: two calls of `destroy` for one sandbox at once, or
    /// `destroy` during `create`.
    pub fn broken_rules(&self) -> Vec<String> {
        self.lock().broken_rules.clone()
    }

    async fn report(&self, id: &SandboxId, event: Event) {
        let sink = self.lock().standing.get(id).expect("a standing sandbox").1.clone();
        // A stopped engine hears nothing any more.
        sink.send(DriverEvent { id: id.clone(), event }).await.ok();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics while it holds this lock")
    }

    /// Notes the call, then lets it go wrong if it should.
    async fn enter(&self, call: Call, id: Option<&SandboxId>) -> Result<(), DriverError> {
        self.lock().calls.push((call, id.cloned()));
        let fault = self.faults.borrow().get(&call).copied();
        match fault {
            None => Ok(()),
            Some(Fault::Fail) => {
                let source = io::Error::other("told to fail");
                Err(DriverError::Step { step: "fake", source })
            }
            Some(Fault::Panic) => panic!("the fake driver was told to panic in {call:?}"),
            Some(Fault::Hang) => {
                let mut faults = self.faults.subscribe();
                faults.wait_for(|faults| !faults.contains_key(&call)).await.expect("the sender is in self");
                Ok(())
            }
        }
    }
}

#[async_trait]
impl Driver for FakeDriver {
    async fn prepare(&self, _: &RootFs) {}

    async fn close(&self) {}

    fn name(&self) -> &'static str {
        "fake"
    }

    async fn create(&self, spec: Spec, events: EventSink) -> Result<Outlets, DriverError> {
        let _at_work = AtWork::begin(self, Call::Create, &spec.id);
        self.enter(Call::Create, Some(&spec.id)).await?;
        let mut state = self.lock();
        match &spec.origin {
            Origin::Empty => {}
            Origin::Kept { .. } if state.resting.remove(&spec.id) => {}
            Origin::Snapshot { id, .. } if state.snapshots.contains(id) => {}
            Origin::Kept { .. } => return Err(DriverError::Unknown(spec.id)),
            Origin::Snapshot { id, .. } => return Err(DriverError::NoSnapshot(id.clone())),
        }
        state.standing.insert(spec.id.clone(), (spec, events));
        Ok(Outlets::default())
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), DriverError> {
        let _at_work = AtWork::begin(self, Call::Destroy, id);
        self.enter(Call::Destroy, Some(id)).await?;
        let mut state = self.lock();
        state.standing.remove(id);
        state.frozen.remove(id);
        state.resting.remove(id);
        Ok(())
    }

    async fn connect(&self, id: &SandboxId, port: u16) -> Result<Box<dyn ByteStream>, DialError> {
        self.enter(Call::Connect, Some(id))
            .await
            .map_err(|_| DialError::Io { port, source: io::Error::from(io::ErrorKind::ConnectionReset) })?;
        if !self.lock().standing.contains_key(id) {
            return Err(DialError::Unknown);
        }
        let (near, far) = tokio::io::duplex(64 * 1024);
        let dial = self.dial.lock().expect("never poisoned").clone();
        dial(id, port, far)?;
        Ok(Box::new(near))
    }

    async fn resize(&self, id: &SandboxId, to: &Resources) -> Result<(), DriverError> {
        self.enter(Call::Resize, Some(id)).await?;
        let mut state = self.lock();
        let (spec, _) = state.standing.get_mut(id).ok_or_else(|| DriverError::Unknown(id.clone()))?;
        spec.resources = *to;
        Ok(())
    }

    async fn freeze(&self, id: &SandboxId) -> Result<(), DriverError> {
        self.enter(Call::Freeze, Some(id)).await?;
        let mut state = self.lock();
        if !state.standing.contains_key(id) {
            return Err(DriverError::Unknown(id.clone()));
        }
        state.frozen.insert(id.clone());
        Ok(())
    }

    async fn thaw(&self, id: &SandboxId) -> Result<(), DriverError> {
        self.enter(Call::Thaw, Some(id)).await?;
        self.lock().frozen.remove(id);
        Ok(())
    }

    async fn rest(&self, id: &SandboxId) -> Result<(), DriverError> {
        self.enter(Call::Rest, Some(id)).await?;
        let mut state = self.lock();
        if state.standing.remove(id).is_none() {
            return Err(DriverError::Unknown(id.clone()));
        }
        state.resting.insert(id.clone());
        Ok(())
    }

    async fn capture(&self, id: &SandboxId, to: &SnapshotId, still: Still) -> Result<Captured, DriverError> {
        self.enter(Call::Capture, Some(id)).await?;
        let mut state = self.lock();
        let stands = match still {
            Still::Meanwhile => state.standing.contains_key(id) && !state.frozen.contains(id),
            Still::Frozen => state.frozen.contains(id),
            Still::AtRest { .. } => state.resting.contains(id),
        };
        if !stands {
            state.broken_rules.push(format!("capture of {id}, which is not {still:?}"));
            return Err(DriverError::Unknown(id.clone()));
        }
        state.snapshots.insert(to.clone());
        Ok(Captured::default())
    }

    async fn restore(&self, id: &SandboxId, from: &SnapshotId) -> Result<(), DriverError> {
        self.enter(Call::Restore, Some(id)).await?;
        let state = self.lock();
        match (state.resting.contains(id), state.snapshots.contains(from)) {
            (true, true) => Ok(()),
            (false, _) => Err(DriverError::Unknown(id.clone())),
            (_, false) => Err(DriverError::NoSnapshot(from.clone())),
        }
    }

    async fn discard(&self, snapshot: &SnapshotId) -> Result<(), DriverError> {
        self.enter(Call::Discard, None).await?;
        self.lock().snapshots.remove(snapshot);
        Ok(())
    }

    async fn snapshots(&self) -> Result<Vec<SnapshotId>, DriverError> {
        Ok(self.lock().snapshots.iter().cloned().collect())
    }

    async fn make_volume(&self, id: &VolumeId, _: Bytes) -> Result<(), DriverError> {
        self.enter(Call::MakeVolume, None).await?;
        self.lock().volumes.insert(id.clone());
        Ok(())
    }

    async fn remove_volume(&self, id: &VolumeId) -> Result<(), DriverError> {
        self.lock().volumes.remove(id);
        Ok(())
    }

    async fn open_volume(&self, id: &VolumeId) -> Result<Arc<dyn Files>, DriverError> {
        if !self.lock().volumes.contains(id) {
            return Err(DriverError::NoVolume(id.clone()));
        }
        Err(DriverError::Absent("files of volumes: it only pretends"))
    }

    async fn volumes(&self) -> Result<Vec<VolumeId>, DriverError> {
        Ok(self.lock().volumes.iter().cloned().collect())
    }

    async fn usage(&self, id: &SandboxId) -> Result<Usage, DriverError> {
        self.enter(Call::Usage, Some(id)).await?;
        let state = self.lock();
        if state.standing.contains_key(id) { Ok(state.usage) } else { Err(DriverError::Unknown(id.clone())) }
    }

    async fn sweep(&self) -> Result<usize, DriverError> {
        self.enter(Call::Sweep, None).await?;
        let mut state = self.lock();
        state.resting.clear();
        Ok(std::mem::take(&mut state.standing).len())
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }

    fn isolation(&self) -> Isolation {
        let walls = Wall::ALL.into_iter().map(|wall| (wall, Standing::Missing)).collect();
        Isolation { driver: self.name().to_owned(), mode: Mode::Root, network: Network::None, walls }
    }
}

/// Marks a call as under way until it is dropped.
struct AtWork<'a> {
    driver: &'a FakeDriver,
    key: (Call, SandboxId),
}

impl<'a> AtWork<'a> {
    fn begin(driver: &'a FakeDriver, call: Call, id: &SandboxId) -> Self {
        let key = (call, id.clone());
        let mut state = driver.lock();
        if call == Call::Destroy {
            for other in [Call::Create, Call::Destroy] {
                if state.at_work.get(&(other, id.clone())).is_some_and(|n| *n > 0) {
                    state.broken_rules.push(format!("destroy of {id} during its {other:?}"));
                }
            }
        }
        *state.at_work.entry(key.clone()).or_default() += 1;
        drop(state);
        Self { driver, key }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if let Some(n) = self.driver.lock().at_work.get_mut(&self.key) {
            *n -= 1;
        }
    }
}
