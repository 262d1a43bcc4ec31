use std::collections::BTreeMap;

use hood_engine::ports::{Store, StoreError};
use hood_engine::{LogLine, LogQuery, Order, Sample, TeamId};
use hood_store::SqliteStore;
use hood_wire::Level;
use tempfile::TempDir;

use crate::{at, ended, record};

fn store() -> (TempDir, SqliteStore) {
    let dir = TempDir::new().expect("a folder");
    let store = SqliteStore::open(dir.path().join("hood.db")).expect("a new store");
    (dir, store)
}

fn line(secs: i64, level: Level, message: &str) -> LogLine {
    let fields = BTreeMap::from([("k".into(), "v".into())]);
    LogLine { at: at(secs), level, logger: "engine".into(), message: message.into(), fields }
}

fn sample(secs: i64) -> Sample {
    Sample {
        at: at(secs),
        cpu_used_pct: 12.5,
        cpu_count: 1,
        memory_used: 1,
        memory_total: 2,
        memory_cache: 3,
        disk_used: 4,
        disk_total: u64::MAX,
    }
}

#[tokio::test]
async fn records_come_back_as_they_were_also_after_a_restart() {
    let (dir, store) = store();
    store.insert(&record(1)).await.unwrap();
    store.insert(&record(2)).await.unwrap();
    store.replace(&record(2), &ended(&record(2), 5, false)).await.unwrap();
    drop(store);
    assert!(!dir.path().join("hood.db-wal").exists(), "an orderly end leaves one file");
    let store = SqliteStore::open(dir.path().join("hood.db")).unwrap();
    assert_eq!(store.load().await.unwrap(), [record(1), ended(&record(2), 5, false)]);
    store.replace(&record(1), &ended(&record(1), 6, true)).await.unwrap();
}

#[tokio::test]
async fn a_record_that_changed_meanwhile_is_not_overwritten() {
    let (_dir, store) = store();
    store.insert(&record(1)).await.unwrap();
    let first = ended(&record(1), 5, false);
    store.replace(&record(1), &first).await.unwrap();
    let second = store.replace(&record(1), &ended(&record(1), 6, false)).await;
    assert!(matches!(second, Err(StoreError::Conflict(id)) if id == record(1).id));
    assert_eq!(store.load().await.unwrap(), [first]);
    let unknown = store.replace(&record(9), &record(9)).await;
    assert!(matches!(unknown, Err(StoreError::Conflict(_))));
    assert!(matches!(store.insert(&record(1)).await, Err(StoreError::Exists(_))));
}

#[tokio::test]
async fn of_many_changes_at_once_one_wins() {
    let (_dir, store) = store();
    store.insert(&record(1)).await.unwrap();
    let store = std::sync::Arc::new(store);
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..50 {
        let store = store.clone();
        writers.spawn(async move { store.replace(&record(1), &ended(&record(1), n, false)).await.is_ok() });
    }
    assert_eq!(writers.join_all().await.into_iter().filter(|won| *won).count(), 1);
}

#[tokio::test]
async fn logs_are_read_from_either_end_and_filtered() {
    let (_dir, store) = store();
    let (id, other) = (record(1).id, record(2).id);
    let lines: Vec<_> = (0..10)
        .map(|n| {
            let level = if n % 2 == 0 { Level::Info } else { Level::Error };
            (id.clone(), line(n, level, &format!("line {n}")))
        })
        .collect();
    store.append(&lines, &[]).await.unwrap();
    store.append(&[(other, line(3, Level::Info, "not mine"))], &[]).await.unwrap();
    let read = async |query: LogQuery| {
        let lines = store.logs(&id, &query).await.unwrap();
        lines.iter().map(|line| line.message[5..].parse::<u8>().unwrap()).collect::<Vec<_>>()
    };
    let all = LogQuery::default;
    assert_eq!(read(all()).await, (0..10).collect::<Vec<_>>());
    assert_eq!(read(LogQuery { limit: 3, direction: Order::Newest, ..all() }).await, [9, 8, 7]);
    assert_eq!(read(LogQuery { from: Some(at(7)), ..all() }).await, [7, 8, 9]);
    assert_eq!(read(LogQuery { from: Some(at(2)), direction: Order::Newest, ..all() }).await, [2, 1, 0]);
    assert_eq!(read(LogQuery { level: Some(Level::Warn), limit: 2, ..all() }).await, [1, 3]);
    assert_eq!(read(LogQuery { search: Some("e 4".into()), ..all() }).await, [4]);
    assert_eq!(store.logs(&id, &all()).await.unwrap()[0], lines[0].1);
}

#[tokio::test]
async fn samples_are_read_between_two_times() {
    let (_dir, store) = store();
    let id = record(1).id;
    let samples: Vec<_> = (0..10).map(|n| (id.clone(), sample(n * 5))).collect();
    store.append(&[], &samples).await.unwrap();
    assert_eq!(store.samples(&id, at(5), at(10)).await.unwrap(), [sample(5), sample(10)]);
    assert!(store.samples(&id, at(100), at(200)).await.unwrap().is_empty());
}

#[tokio::test]
async fn only_old_removed_tombstones_are_forgotten_with_all_they_had() {
    let (_dir, store) = store();
    let all =
        [record(1), ended(&record(2), 10, true), ended(&record(3), 10, false), ended(&record(4), 99, true)];
    for record in &all {
        store.insert(record).await.unwrap();
        let id = record.id.clone();
        store.append(&[(id.clone(), line(0, Level::Info, "x"))], &[(id, sample(0))]).await.unwrap();
    }
    assert_eq!(store.prune(at(50)).await.unwrap(), 1);
    let mut left: Vec<_> = store.load().await.unwrap().into_iter().map(|record| record.id).collect();
    left.sort();
    assert_eq!(left, [record(1).id, record(3).id, record(4).id]);
    assert!(store.logs(&all[1].id, &LogQuery::default()).await.unwrap().is_empty());
    assert!(store.samples(&all[1].id, at(-9), at(9)).await.unwrap().is_empty());
    assert_eq!(store.logs(&all[2].id, &LogQuery::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_belongs_to_its_team() {
    let (_dir, store) = store();
    let team = TeamId("team".into());
    assert!(!store.has_keys().await.unwrap());
    store.create_key(&team, [7; 32], "first").await.unwrap();
    assert!(store.has_keys().await.unwrap());
    assert_eq!(store.team_of(&[7; 32]).await.unwrap(), Some(team));
    assert_eq!(store.team_of(&[8; 32]).await.unwrap(), None);
    store.create_key(&TeamId("other".into()), [7; 32], "again").await.unwrap();
    assert_eq!(store.team_of(&[7; 32]).await.unwrap(), Some(TeamId("other".into())));
}
