use std::collections::BTreeMap;

use hood_engine::{Bytes, Change, Explain, Filter, Keep, Kind, MilliCpu, limits};
use hood_testkit::{Call, Fault, Lab};

use crate::secs;

fn memory(bytes: Bytes) -> Change {
    Change { memory: Some(bytes), ..Change::default() }
}

#[tokio::test]
async fn ceilings_change_one_by_one_and_reach_the_driver() {
    let lab = Lab::new();
    let made = lab.create(secs(60)).await.unwrap();
    let id = made.id.as_str();
    lab.engine.change(&lab.team, id, memory(Bytes::gib(3))).await.unwrap();
    let cpu = Change { cpu: Some(MilliCpu(250)), ..Change::default() };
    let changed = lab.engine.change(&lab.team, id, cpu).await.unwrap();
    assert_eq!((changed.resources.memory, changed.resources.cpu), (Bytes::gib(3), MilliCpu(250)));
    assert_eq!((changed.resources.disk, changed.resources.pids), (made.resources.disk, made.resources.pids));
    assert_eq!(lab.driver.spec(&made.id).unwrap().resources, changed.resources);
    assert_eq!(lab.driver.count(Call::Resize), 2);
    lab.engine.change(&lab.team, id, memory(Bytes::gib(3))).await.unwrap();
    assert_eq!(lab.driver.count(Call::Resize), 2, "nothing to do");
}

#[tokio::test]
async fn what_the_driver_cannot_do_is_not_said_to_be_so() {
    let lab = Lab::new();
    let made = lab.create(secs(60)).await.unwrap();
    lab.driver.breaks(Call::Resize, Fault::Fail);
    let metadata = Some(BTreeMap::from([("a".to_owned(), "b".to_owned())]));
    let change = Change { metadata, ..memory(Bytes::gib(3)) };
    assert!(lab.engine.change(&lab.team, made.id.as_str(), change).await.is_err());
    let now = lab.engine.get(&lab.team, made.id.as_str()).unwrap();
    assert_eq!((now.resources, &now.metadata), (made.resources, &made.metadata), "all or nothing");
}

#[tokio::test]
async fn metadata_is_replaced_found_and_bounded() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    let with = |value: String| {
        let metadata = Some(BTreeMap::from([("state".to_owned(), value)]));
        lab.engine.change(&lab.team, id.as_str(), Change { metadata, ..Change::default() })
    };
    with("done".into()).await.unwrap();
    let found = |value: &str| {
        let metadata = BTreeMap::from([("state".to_owned(), value.to_owned())]);
        lab.engine.list(&lab.team, &Filter { metadata, ..Filter::default() }).records.len()
    };
    assert_eq!((found("done"), found("open")), (1, 0));
    let refused = with("x".repeat(limits::METADATA.0 as usize)).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Invalid);
    assert_eq!(found("done"), 1);
    assert_eq!(lab.driver.count(Call::Resize), 0);
}

#[tokio::test]
async fn a_paused_sandbox_changes_too_and_one_without_processes_at_its_next_start() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.engine.pause(&lab.team, id.as_str(), Keep::Memory).await.unwrap();
    lab.engine.change(&lab.team, id.as_str(), memory(Bytes::gib(3))).await.unwrap();
    assert_eq!(lab.driver.spec(&id).unwrap().resources.memory, Bytes::gib(3));
    lab.engine.connect(&lab.team, id.as_str(), secs(60)).await.unwrap();
    lab.engine.pause(&lab.team, id.as_str(), Keep::Files).await.unwrap();
    lab.engine.change(&lab.team, id.as_str(), memory(Bytes::gib(2))).await.unwrap();
    lab.engine.connect(&lab.team, id.as_str(), secs(60)).await.unwrap();
    assert_eq!(lab.driver.spec(&id).unwrap().resources.memory, Bytes::gib(2));
    assert_eq!(lab.driver.count(Call::Resize), 1);
}

#[tokio::test]
async fn bounds_strangers_and_the_ended() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    for bad in [Bytes(0), Bytes(limits::MAX_MEMORY.0 + 1)] {
        let refused = lab.engine.change(&lab.team, id.as_str(), memory(bad)).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Invalid);
    }
    let other = hood_engine::TeamId("other".into());
    let refused = lab.engine.change(&other, id.as_str(), Change::default()).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::NotFound);
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    let refused = lab.engine.change(&lab.team, id.as_str(), memory(Bytes::gib(2))).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::NotFound);
    assert_eq!(lab.driver.count(Call::Resize), 0);
}
