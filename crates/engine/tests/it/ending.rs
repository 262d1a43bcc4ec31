use hood_engine::{LookupError, State, TeamId, Why};
use hood_testkit::{Call, Fault, Lab, eventually};
use tokio::task::JoinSet;

use crate::secs;

fn ended_because(error: LookupError) -> Option<String> {
    match error {
        LookupError::NotFound { ended, .. } => ended,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_kill_is_seen_at_once_and_removed_afterwards() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.driver.breaks(Call::Destroy, Fault::Hang);
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    assert_eq!(lab.engine.running(&id), None);
    assert_eq!(lab.engine.fate(id.as_str()).as_deref(), Some("it was killed"));
    let end = lab.store.record(&id).unwrap().ended().cloned().unwrap();
    assert_eq!((end.why, end.removed), (Why::Killed, false));

    lab.driver.mend(Call::Destroy);
    lab.settle().await;
    assert!(lab.store.record(&id).unwrap().ended().unwrap().removed);
    assert!(lab.driver.standing().is_empty());
    assert_eq!(lab.engine.counts().ended["killed"], 1);
}

#[tokio::test]
async fn a_second_kill_finds_nothing_and_says_why() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    let error = lab.engine.kill(&lab.team, id.as_str()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("sandbox `{id}` not found: it was killed"));
    let error = lab.engine.get(&lab.team, id.as_str()).unwrap_err();
    assert_eq!(ended_because(error).as_deref(), Some("it was killed"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_kills_at_once_one_succeeds() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    let mut kills = JoinSet::new();
    for _ in 0..10 {
        let (lab, id) = (lab.clone(), id.clone());
        kills.spawn(async move { lab.engine.kill(&lab.team, id.as_str()).await.is_ok() });
    }
    assert_eq!(kills.join_all().await.into_iter().filter(|won| *won).count(), 1);
    lab.engine.stop().await;
    assert_eq!((lab.driver.count(Call::Destroy), lab.driver.broken_rules()), (1, vec![]));
}

#[tokio::test]
async fn another_teams_sandbox_is_nothing_to_us() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    let other = TeamId("other".into());
    assert_eq!(ended_because(lab.engine.kill(&other, id.as_str()).await.unwrap_err()), None);
    assert!(lab.engine.running(&id).is_some());
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    assert_eq!(ended_because(lab.engine.get(&other, id.as_str()).unwrap_err()), None);
    assert_eq!(ended_because(lab.engine.get(&lab.team, "../etc").unwrap_err()), None);
}

#[tokio::test]
async fn a_guest_that_dies_ends_its_sandbox_with_the_reason() {
    for (out_of_memory, why) in [(true, Why::Oom), (false, Why::GuestDied)] {
        let lab = Lab::new();
        let id = lab.create(secs(60)).await.unwrap().id;
        lab.driver.die(&id, out_of_memory).await;
        eventually("the death is noted", || lab.engine.running(&id).is_none()).await;
        lab.settle().await;
        assert_eq!(lab.store.record(&id).unwrap().ended().unwrap().why, why);
        assert!(lab.driver.standing().is_empty());
    }
}

#[tokio::test]
async fn a_removal_that_fails_is_tried_again_and_then_left_to_the_next_start() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.driver.breaks(Call::Destroy, Fault::Fail);
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    for n in 1..=8 {
        eventually("another attempt", || lab.driver.count(Call::Destroy) == n).await;
        lab.clock.advance(secs(60));
    }
    assert_eq!(lab.engine.counts().destroys_failed, 8);
    assert_eq!(lab.driver.standing(), std::slice::from_ref(&id));

    let again = lab.restarted();
    assert_eq!(again.engine.recover().await.unwrap().swept, 1);
    assert!(lab.driver.standing().is_empty());
    assert!(lab.store.record(&id).unwrap().ended().unwrap().removed);
}

#[tokio::test]
async fn a_removal_that_hangs_or_panics_counts_as_failed() {
    for fault in [Fault::Hang, Fault::Panic] {
        let lab = Lab::new();
        let id = lab.create(secs(600)).await.unwrap().id;
        lab.driver.breaks(Call::Destroy, fault);
        lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
        eventually("the first attempt", || lab.driver.count(Call::Destroy) == 1).await;
        lab.clock.advance(secs(60));
        eventually("it failed", || lab.engine.counts().destroys_failed == 1).await;
        lab.driver.mend(Call::Destroy);
        lab.clock.advance(secs(1));
        lab.settle().await;
        assert!(lab.driver.standing().is_empty() && lab.driver.broken_rules().is_empty());
    }
}

#[tokio::test]
async fn a_full_disk_keeps_no_sandbox_alive() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.store.set_full(true);
    assert!(matches!(
        lab.engine.set_deadline(&lab.team, id.as_str(), secs(90)).await,
        Err(LookupError::Store(_))
    ));
    assert_eq!(lab.engine.running(&id).unwrap().deadline, lab.store.record(&id).unwrap().deadline);
    lab.driver.breaks(Call::Destroy, Fault::Hang);
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    assert_eq!(lab.store.record(&id).unwrap().state, State::Running, "it could not be written");
    lab.store.set_full(false);
    lab.driver.mend(Call::Destroy);
    lab.settle().await;
    let end = lab.store.record(&id).unwrap().ended().cloned().expect("written with the removal");
    assert_eq!((end.why, end.removed), (Why::Killed, true));
}

#[tokio::test]
async fn a_sandbox_whose_measuring_panics_is_ended() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    eventually("the first sample", || lab.driver.count(Call::Usage) == 1).await;
    lab.driver.breaks(Call::Usage, Fault::Panic);
    lab.clock.advance(secs(5));
    eventually("it is ended", || lab.engine.running(&id).is_none()).await;
    assert_eq!(lab.engine.fate(id.as_str()).as_deref(), Some("its guest died"));
}

#[tokio::test]
async fn a_write_that_was_given_up_on_but_came_through_does_no_harm() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    let killing = tokio::spawn({
        let (lab, id) = (lab.clone(), id.clone());
        async move { lab.engine.kill(&lab.team, id.as_str()).await }
    });
    eventually("the end is written", || lab.store.record(&id).unwrap().ended().is_some()).await;
    // The write has happened, but its future has not ended: now it is too late.
    lab.clock.advance(secs(10));
    killing.await.unwrap().unwrap();
    lab.settle().await;
    let end = lab.store.record(&id).unwrap().ended().cloned().unwrap();
    assert_eq!((end.why, end.removed), (Why::Killed, true));
}
