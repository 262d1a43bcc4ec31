use hood_engine::{AtDeadline, Explain, Filter, Keep, Kind, NewSandbox, Phase, Why, Woken, limits};
use hood_testkit::{Call, Fault, Lab, eventually};

use crate::secs;

#[tokio::test]
async fn a_paused_sandbox_stands_still_and_has_no_deadline() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.engine.pause(&lab.team, id.as_str(), Keep::Memory).await.unwrap();
    assert!(lab.driver.is_frozen(&id));
    assert!(lab.engine.running(&id).is_none());
    lab.clock.advance(secs(3600));
    lab.settle().await;
    assert!(lab.engine.get(&lab.team, id.as_str()).unwrap().is_paused());

    let (record, woken) = lab.engine.connect(&lab.team, id.as_str(), secs(60)).await.unwrap();
    assert_eq!((woken, record.is_running()), (Woken::Resumed, true));
    assert!(!lab.driver.is_frozen(&id));
    let (_, woken) = lab.engine.connect(&lab.team, id.as_str(), secs(60)).await.unwrap();
    assert_eq!(woken, Woken::Ran);
}

#[tokio::test]
async fn pausing_twice_and_resuming_what_runs_are_conflicts() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    let refused = lab.engine.resume(&lab.team, id.as_str(), secs(60)).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Conflict);
    lab.engine.pause(&lab.team, id.as_str(), Keep::Memory).await.unwrap();
    for refused in [
        lab.engine.pause(&lab.team, id.as_str(), Keep::Memory).await.unwrap_err(),
        lab.engine.set_deadline(&lab.team, id.as_str(), secs(60)).await.unwrap_err(),
    ] {
        assert_eq!(refused.kind(), Kind::Conflict, "{refused}");
    }
    assert_eq!(lab.driver.count(Call::Freeze), 1);
}

#[tokio::test]
async fn a_pause_cuts_streams_and_new_ones_last() {
    let lab = Lab::new();
    lab.driver.open_all_ports();
    let id = lab.create(secs(60)).await.unwrap().id;
    let before = lab.engine.link(&id, 80).await.unwrap();
    lab.engine.pause(&lab.team, id.as_str(), Keep::Memory).await.unwrap();
    assert!(before.cut.is_cancelled());
    assert!(lab.engine.link(&id, 80).await.is_err());
    lab.engine.connect(&lab.team, id.as_str(), secs(60)).await.unwrap();
    assert!(!lab.engine.link(&id, 80).await.unwrap().cut.is_cancelled());
}

#[tokio::test]
async fn the_deadline_pauses_where_it_was_told_to_and_traffic_wakes() {
    let lab = Lab::new();
    let new =
        NewSandbox { at_deadline: AtDeadline::Pause, auto_resume: true, ..NewSandbox::of("base", secs(5)) };
    let id = lab.engine.create(&lab.team, new).await.unwrap().id;
    lab.clock.advance(secs(6));
    eventually("it is paused", || lab.engine.get(&lab.team, id.as_str()).unwrap().is_paused()).await;
    let woken = lab.engine.awake(&id).await.expect("awake");
    assert!(woken.is_running());
    lab.clock.advance(limits::AUTO_RESUME + secs(1));
    eventually("it is paused again", || lab.engine.get(&lab.team, id.as_str()).unwrap().is_paused()).await;
}

#[tokio::test]
async fn what_was_paused_by_hand_is_not_woken_by_traffic() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.engine.pause(&lab.team, id.as_str(), Keep::Memory).await.unwrap();
    assert!(lab.engine.awake(&id).await.is_none());
    assert!(lab.driver.is_frozen(&id));
}

#[tokio::test]
async fn what_cannot_be_frozen_or_thawed_stays_as_it_was() {
    let lab = Lab::new();
    let record = lab.create(secs(60)).await.unwrap();
    let id = record.id.as_str();
    lab.driver.breaks(Call::Freeze, Fault::Fail);
    lab.engine.pause(&lab.team, id, Keep::Memory).await.unwrap_err();
    assert_eq!(lab.engine.get(&lab.team, id).unwrap().deadline, record.deadline);
    assert!(lab.engine.running(&record.id).is_some());
    lab.driver.mend(Call::Freeze);
    lab.engine.pause(&lab.team, id, Keep::Memory).await.unwrap();
    lab.driver.breaks(Call::Thaw, Fault::Fail);
    lab.engine.connect(&lab.team, id, secs(60)).await.unwrap_err();
    assert!(lab.engine.get(&lab.team, id).unwrap().is_paused());
}

#[tokio::test]
async fn paused_ones_are_listed_filtered_and_killed() {
    let lab = Lab::new();
    let (paused, runs) = (lab.create(secs(60)).await.unwrap().id, lab.create(secs(60)).await.unwrap().id);
    lab.engine.pause(&lab.team, paused.as_str(), Keep::Memory).await.unwrap();
    let listed = |states: Vec<Phase>| {
        let page = lab.engine.list(&lab.team, &Filter { states, ..Filter::default() });
        (page.records.into_iter().map(|record| record.id).collect::<Vec<_>>(), page.running)
    };
    assert_eq!(listed(vec![Phase::Paused]), (vec![paused.clone()], 1));
    assert_eq!(listed(vec![Phase::Running]), (vec![runs], 1));
    assert_eq!(listed(vec![]).0.len(), 2);
    lab.engine.kill(&lab.team, paused.as_str()).await.unwrap();
    lab.settle().await;
    assert!(!lab.driver.standing().contains(&paused));
    let why = |id: &str| lab.engine.fate(id);
    assert_eq!(why(paused.as_str()), Some(Why::Killed.to_string()));
}
