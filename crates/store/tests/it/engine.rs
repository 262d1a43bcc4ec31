use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hood_engine::{Config, Engine, LogQuery, NewSandbox, Recovered, SandboxId, TeamId, World};
use hood_store::SqliteStore;
use hood_testkit::{FakeDriver, FakeGate, FakeTemplates, FixedEntropy, HandClock};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

#[test]
fn an_engine_lives_on_it_and_the_next_one_finds_everything() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("hood.db");
    let (driver, entropy) = (Arc::default(), Arc::default());

    // The runtime, and with it the engine, ends in the middle of what it is doing.
    let ids = Runtime::new().unwrap().block_on(async { live(engine_on(&path, &driver, &entropy)).await });
    assert!(driver.standing().len() >= 20);
    Runtime::new().unwrap().block_on(async {
        let engine = engine_on(&path, &driver, &entropy);
        let recovered = engine.recover().await.unwrap();
        assert_eq!(recovered, Recovered { ended: 20, swept: recovered.swept });
        assert!(driver.standing().is_empty());
        let fates: Vec<_> = ids.iter().filter_map(|id| engine.fate(id.as_str())).collect();
        assert_eq!(fates.len(), 40);
        assert_eq!(fates.iter().filter(|fate| *fate == "it was killed").count(), 20);
        let log = engine.logs(&team(), ids[0].as_str(), &LogQuery::default()).await.unwrap();
        assert_eq!(log[0].message, "sandbox created");
    });
}

/// Forty sandboxes at once, every other one killed.
async fn live(engine: Engine) -> Vec<SandboxId> {
    let mut lives = JoinSet::new();
    for n in 0..40 {
        let engine = engine.clone();
        lives.spawn(async move {
            let new = NewSandbox::of("base", Duration::from_secs(60));
            let id = engine.create(&team(), new).await.expect("created").id;
            if n % 2 == 0 {
                engine.kill(&team(), id.as_str()).await.expect("killed");
            }
            id
        });
    }
    let ids = lives.join_all().await;
    assert_eq!(engine.counts().running, 20);
    // Reading flushes: what was logged so far survives.
    engine.logs(&team(), ids[0].as_str(), &LogQuery::default()).await.expect("a log");
    ids
}

fn engine_on(path: &Path, driver: &Arc<FakeDriver>, entropy: &Arc<FixedEntropy>) -> Engine {
    let store = Arc::new(SqliteStore::open(path).expect("a store"));
    let templates = Arc::new(FakeTemplates::default());
    let clock = Arc::new(HandClock::default());
    let gate = Arc::new(FakeGate::default());
    let world = World { driver: driver.clone(), gate, store, templates, clock, entropy: entropy.clone() };
    Engine::new(Config::default(), world)
}

fn team() -> TeamId {
    TeamId("team".into())
}
