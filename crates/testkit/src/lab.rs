//! An engine with all its fakes.

use std::sync::Arc;
use std::time::Duration;

use hood_engine::{Config, CreateError, Engine, NewSandbox, Record, TeamId, World};

use crate::{FakeDriver, FakeGate, FakeTemplates, FixedEntropy, HandClock, MemoryStore, eventually};

/// An engine and the fakes it runs on. Must be made within a tokio runtime.
#[derive(Clone)]
pub struct Lab {
    /// The engine.
    pub engine: Engine,
    /// Its driver.
    pub driver: Arc<FakeDriver>,
    /// Its gate.
    pub gate: Arc<FakeGate>,
    /// Its store.
    pub store: Arc<MemoryStore>,
    /// Its clock.
    pub clock: Arc<HandClock>,
    /// Its randomness.
    pub entropy: Arc<FixedEntropy>,
    /// The team in whose name [`Lab::create`] acts.
    pub team: TeamId,
}

impl Lab {
    /// An engine with the default configuration.
    pub fn new() -> Self {
        Self::with(Config::default())
    }

    /// An engine with this configuration.
    pub fn with(config: Config) -> Self {
        Self::on(config, Arc::default(), Arc::default(), Arc::default(), Arc::default())
    }

    /// Another engine on the same fakes: the server was started again. The first one is not told.
    #[must_use]
    pub fn restarted(&self) -> Self {
        let again = self.clone();
        Self::on(Config::default(), again.driver, again.store, again.clock, again.entropy)
    }

    fn on(
        config: Config,
        driver: Arc<FakeDriver>,
        store: Arc<MemoryStore>,
        clock: Arc<HandClock>,
        entropy: Arc<FixedEntropy>,
    ) -> Self {
        let templates = Arc::new(FakeTemplates::default());
        let gate = Arc::new(FakeGate::default());
        let world = World {
            driver: driver.clone(),
            gate: gate.clone(),
            store: store.clone(),
            templates,
            clock: clock.clone(),
            entropy: entropy.clone(),
        };
        let engine = Engine::new(config, world);
        Self { engine, driver, gate, store, clock, entropy, team: TeamId("team".into()) }
    }

    /// A sandbox of `base`.
    pub async fn create(&self, timeout: Duration) -> Result<Record, CreateError> {
        self.engine.create(&self.team, NewSandbox::of("base", timeout)).await
    }

    /// Returns when nothing is being built or removed any more.
    ///
    /// # Panics
    /// When that does not come about.
    pub async fn settle(&self) {
        eventually("all building and removing done", || {
            let counts = self.engine.counts();
            counts.creating == 0 && counts.removing == 0
        })
        .await;
    }
}

impl Default for Lab {
    fn default() -> Self {
        Self::new()
    }
}
