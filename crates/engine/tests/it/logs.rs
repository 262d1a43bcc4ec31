use std::time::Duration;

use hood_driver_api::Usage;
use hood_engine::{Bytes, Config, LogQuery, LookupError, Order, TeamId};
use hood_testkit::{Lab, eventually};
use hood_wire::{GuestEvent, Level};

use crate::secs;

fn messages(lines: &[hood_engine::LogLine]) -> Vec<&str> {
    lines.iter().map(|line| line.message.as_str()).collect()
}

async fn says(lab: &Lab, id: &hood_engine::SandboxId, level: Level, message: &str) {
    let said = GuestEvent::Log { level, logger: "process".into(), message: message.into() };
    lab.driver.say(id, said).await;
}

#[tokio::test]
async fn a_log_tells_a_life_and_outlives_it() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    says(&lab, &id, Level::Warn, "hello from inside").await;
    lab.clock.advance(secs(1));
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    lab.settle().await;

    let logs = async |query| lab.engine.logs(&lab.team, id.as_str(), &query).await.unwrap();
    let all = logs(LogQuery::default()).await;
    assert_eq!(messages(&all), ["sandbox created", "sandbox running", "hello from inside", "sandbox ended"]);
    assert_eq!(all[3].fields["reason"], "killed");
    let newest = logs(LogQuery { direction: Order::Newest, limit: 2, ..LogQuery::default() }).await;
    assert_eq!(messages(&newest), ["sandbox ended", "hello from inside"]);
    assert_eq!(logs(LogQuery { level: Some(Level::Warn), ..LogQuery::default() }).await.len(), 1);
    assert_eq!(logs(LogQuery { search: Some("running".into()), ..LogQuery::default() }).await.len(), 1);
    let error =
        lab.engine.logs(&TeamId("other".into()), id.as_str(), &LogQuery::default()).await.unwrap_err();
    assert!(matches!(error, LookupError::NotFound { ended: None, .. }));
}

#[tokio::test]
async fn a_guest_cannot_fill_the_store() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    for _ in 0..11_000 {
        says(&lab, &id, Level::Info, "x").await;
        tokio::task::yield_now().await;
    }
    let query = LogQuery { direction: Order::Newest, limit: 20_000, ..LogQuery::default() };
    let lines = lab.engine.logs(&lab.team, id.as_str(), &query).await.unwrap();
    assert_eq!(lines.len(), 10_000, "one answer's ceiling");
    assert!(lines[0].message.contains("this log is full"));

    let other = lab.create(secs(60)).await.unwrap().id;
    says(&lab, &other, Level::Info, &"é".repeat(9000)).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    let lines = lab.engine.logs(&lab.team, other.as_str(), &LogQuery::default()).await.unwrap();
    let long = lines.last().unwrap();
    assert_eq!((long.message.len(), long.fields["truncated"].as_str()), (8192, "true"));
}

#[tokio::test]
async fn samples_come_at_once_then_every_five_seconds_and_outlive_the_sandbox() {
    let lab = Lab::new();
    let usage = |cpu_ms| Usage {
        cpu: Duration::from_millis(cpu_ms),
        memory: Bytes::mib(100),
        cache: Bytes::mib(30),
        disk: Bytes::mib(7),
        ..Usage::default()
    };
    lab.driver.set_usage(usage(0));
    let record = lab.create(secs(60)).await.unwrap();
    let (from, to) = (record.started_at, record.started_at + secs(60));
    let samples = async || lab.engine.samples(&lab.team, record.id.as_str(), from, to).await.unwrap();
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(samples().await.len(), 1);

    lab.driver.set_usage(usage(1000));
    lab.clock.advance(secs(5));
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    let second = samples().await.pop().unwrap();
    assert!((second.cpu_used_pct - 20.0).abs() < 1e-9);
    assert_eq!(second.memory_used, Bytes::mib(70).0);
    assert_eq!(second.at, record.started_at + secs(5));
    assert_eq!(lab.engine.usage(&lab.team, record.id.as_str()).await.unwrap().disk_used, Bytes::mib(7).0);

    lab.engine.kill(&lab.team, record.id.as_str()).await.unwrap();
    assert_eq!(samples().await.len(), 2);
    assert!(matches!(
        lab.engine.usage(&lab.team, record.id.as_str()).await,
        Err(LookupError::NotFound { ended: Some(_), .. })
    ));
}

#[tokio::test]
async fn the_ended_are_forgotten_after_the_time_the_owner_chose() {
    let lab = Lab::with(Config { keep_ended: secs(600), ..Config::default() });
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    lab.settle().await;
    lab.clock.advance(secs(590));
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert!(lab.engine.fate(id.as_str()).is_some());
    lab.clock.advance(secs(70));
    eventually("it is forgotten", || lab.store.record(&id).is_none()).await;
    assert_eq!(lab.engine.fate(id.as_str()), None);
}
