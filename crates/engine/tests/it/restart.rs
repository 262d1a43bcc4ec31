use hood_engine::{CreateError, LogQuery, RecoverError, Recovered, State, Why};
use hood_testkit::{Call, Fault, Lab, eventually};

use crate::secs;

#[tokio::test]
async fn a_start_ends_and_removes_what_the_last_run_left() {
    let lab = Lab::new();
    let killed = lab.create(secs(60)).await.unwrap().id;
    lab.engine.kill(&lab.team, killed.as_str()).await.unwrap();
    lab.settle().await;
    let running = lab.create(secs(60)).await.unwrap().id;

    let again = lab.restarted();
    assert_eq!(again.engine.recover().await.unwrap(), Recovered { ended: 1, swept: 1 });
    assert!(lab.driver.standing().is_empty());
    assert_eq!(again.engine.fate(killed.as_str()).as_deref(), Some("it was killed"), "tombstones are kept");
    assert_eq!(again.engine.fate(running.as_str()).as_deref(), Some("the server was stopped"));
    assert!(lab.store.records().iter().all(|record| record.ended().unwrap().removed));
    assert_eq!(again.engine.counts().removing, 0);

    let third = lab.restarted();
    assert_eq!(third.engine.recover().await.unwrap(), Recovered { ended: 0, swept: 0 });
}

#[tokio::test]
async fn a_start_whose_sweep_fails_says_so_and_the_next_one_does_it() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.driver.breaks(Call::Sweep, Fault::Fail);
    assert!(matches!(lab.restarted().engine.recover().await, Err(RecoverError::Sweep(_))));
    let end = lab.store.record(&id).unwrap().ended().cloned().unwrap();
    assert_eq!((end.why, end.removed), (Why::HostRestart, false));
    lab.driver.mend(Call::Sweep);
    assert_eq!(lab.restarted().engine.recover().await.unwrap(), Recovered { ended: 0, swept: 1 });
    assert!(lab.store.record(&id).unwrap().ended().unwrap().removed);
}

#[tokio::test]
async fn an_orderly_stop_ends_all_refuses_more_and_writes_everything() {
    let lab = Lab::new();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(lab.create(secs(60)).await.unwrap().id);
    }
    lab.driver.breaks(Call::Create, Fault::Hang);
    let creating = tokio::spawn({
        let lab = lab.clone();
        async move { lab.create(secs(60)).await }
    });
    eventually("one is being built", || lab.engine.counts().creating == 1).await;
    let stopping = tokio::spawn({
        let engine = lab.engine.clone();
        async move { engine.stop().await }
    });
    eventually("all are ended", || lab.engine.counts().running == 0).await;
    assert!(matches!(lab.create(secs(60)).await, Err(CreateError::Stopping)));
    assert!(!stopping.is_finished(), "it waits for the one being built");
    lab.driver.mend(Call::Create);
    stopping.await.unwrap();
    assert!(matches!(creating.await.unwrap(), Err(CreateError::Stopping)));

    assert!(lab.driver.standing().is_empty() && lab.driver.broken_rules().is_empty());
    for record in lab.store.records() {
        let end = record.ended().cloned().unwrap();
        assert_eq!((end.why, end.removed), (Why::HostRestart, true));
    }
    let again = lab.restarted();
    again.engine.recover().await.unwrap();
    let lines = again.engine.logs(&lab.team, ids[0].as_str(), &LogQuery::default()).await.unwrap();
    assert_eq!(lines.last().unwrap().message, "sandbox ended");
    lab.engine.stop().await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.driver.breaks(Call::Destroy, Fault::Hang);
    let stopping = tokio::spawn({
        let engine = lab.engine.clone();
        async move { engine.stop().await }
    });
    eventually("it is being removed", || lab.driver.count(Call::Destroy) == 1).await;
    lab.clock.advance(secs(30));
    stopping.await.unwrap();
    assert!(matches!(lab.store.record(&id).unwrap().state, State::Ended(end) if !end.removed));
}

#[tokio::test]
async fn the_last_handle_takes_the_deadlines_with_it() {
    let lab = Lab::new();
    lab.create(secs(60)).await.unwrap();
    let Lab { engine, driver, clock, .. } = lab;
    drop(engine);
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    clock.advance(secs(60));
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(driver.count(Call::Destroy), 0, "no task of a dropped engine acts any more");
}
