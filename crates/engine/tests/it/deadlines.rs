use std::time::Duration;

use hood_engine::{Config, LookupError, Why};
use hood_testkit::{Lab, eventually};

use crate::secs;

#[tokio::test]
async fn a_sandbox_ends_at_its_deadline_and_not_a_millisecond_before() {
    let lab = Lab::new();
    let record = lab.create(secs(60)).await.unwrap();
    lab.clock.advance(Duration::from_millis(59_999));
    lab.settle().await;
    assert!(lab.engine.running(&record.id).is_some());
    lab.clock.advance(Duration::from_millis(1));
    eventually("it ends", || lab.engine.running(&record.id).is_none()).await;
    lab.settle().await;
    let end = lab.store.record(&record.id).unwrap().ended().cloned().unwrap();
    assert_eq!((end.why, end.at), (Why::Deadline, record.deadline));
}

#[tokio::test]
async fn ten_thousand_sandboxes_end_each_in_its_second() {
    let lab = Lab::with(Config { max_sandboxes: 10_000, ..Config::default() });
    for n in 0..10_000 {
        lab.create(secs(1 + n % 20)).await.unwrap();
    }
    assert_eq!(lab.engine.counts().running, 10_000);
    for second in 1..=20 {
        lab.clock.advance(Duration::from_millis(999));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(lab.engine.counts().running, 10_000 - (second - 1) * 500, "just before second {second}");
        lab.clock.advance(Duration::from_millis(1));
        eventually("this second's have ended", || lab.engine.counts().running == 10_000 - second * 500).await;
    }
    lab.settle().await;
    assert!(lab.driver.standing().is_empty());
}

#[tokio::test]
async fn setting_a_deadline_counts_from_now_and_may_shorten() {
    let lab = Lab::new();
    let id = lab.create(secs(600)).await.unwrap().id;
    lab.clock.advance(secs(10));
    let record = lab.engine.set_deadline(&lab.team, id.as_str(), secs(5)).await.unwrap();
    assert_eq!(record.deadline - record.started_at, time::Duration::seconds(15));
    lab.clock.advance(secs(5));
    eventually("it ends", || lab.engine.running(&id).is_none()).await;
}

#[tokio::test]
async fn a_deadline_of_zero_has_come_when_the_call_returns() {
    let lab = Lab::new();
    let id = lab.create(secs(600)).await.unwrap().id;
    lab.engine.set_deadline(&lab.team, id.as_str(), Duration::ZERO).await.unwrap();
    assert_eq!(lab.engine.running(&id), None);
    assert_eq!(lab.engine.fate(id.as_str()).as_deref(), Some("its time was up"));
}

#[tokio::test]
async fn extending_never_shortens_and_leaves_an_equal_deadline_as_it_is() {
    let lab = Lab::new();
    let created = lab.create(secs(60)).await.unwrap();
    let extend =
        async |timeout| lab.engine.extend_deadline(&lab.team, created.id.as_str(), timeout).await.unwrap();
    assert_eq!(extend(secs(10)).await, created);
    assert_eq!(extend(secs(60)).await, created);
    assert_eq!(lab.store.record(&created.id), Some(created.clone()));
    let later = extend(secs(100)).await;
    assert_eq!(later.deadline - created.deadline, time::Duration::seconds(40));
    lab.clock.advance(secs(60));
    lab.settle().await;
    assert!(lab.engine.running(&created.id).is_some(), "the old deadline counts no more");
    lab.clock.advance(secs(40));
    eventually("the new one does", || lab.engine.running(&created.id).is_none()).await;
}

#[tokio::test]
async fn no_deadline_lies_further_ahead_than_the_node_allows() {
    let lab = Lab::with(Config { max_timeout: secs(100), ..Config::default() });
    let id = lab.create(secs(100)).await.unwrap().id;
    for refused in [
        lab.engine.set_deadline(&lab.team, id.as_str(), secs(101)).await,
        lab.engine.extend_deadline(&lab.team, id.as_str(), secs(101)).await,
    ] {
        assert!(matches!(refused, Err(LookupError::OutOfBounds { field: "timeout", .. })));
    }
}
