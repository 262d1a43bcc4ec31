use std::collections::{BTreeMap, HashSet};

use hood_engine::{
    Bytes, Config, CreateError, Explain, Kind, MilliCpu, NewSandbox, Policy, ResourceAsk, State, Why,
};
use hood_testkit::{Call, Fault, Lab, eventually};
use tokio::task::JoinSet;

use crate::secs;

#[tokio::test]
async fn a_created_sandbox_runs_and_is_written_down() {
    let lab = Lab::new();
    let record = lab.create(secs(60)).await.unwrap();
    assert_eq!(record.state, State::Running);
    assert_eq!((record.template_id.as_str(), record.template_name.as_str()), ("t-base", "base"));
    assert_eq!(record.deadline - record.started_at, time::Duration::seconds(60));
    assert_eq!(lab.store.record(&record.id), Some(record.clone()));
    assert_eq!(lab.engine.get(&lab.team, record.id.as_str()).unwrap(), record);
    assert_eq!(lab.engine.running(&record.id), Some(record));
    assert_eq!(lab.engine.counts().create_seconds.count, 1);
}

#[tokio::test]
async fn it_is_written_down_before_the_driver_acts() {
    let lab = Lab::new();
    lab.driver.breaks(Call::Create, Fault::Hang);
    let creating = tokio::spawn({
        let lab = lab.clone();
        async move { lab.create(secs(60)).await }
    });
    eventually("the driver is at work", || lab.driver.count(Call::Create) == 1).await;
    assert_eq!(lab.store.records()[0].state, State::Creating);
    lab.driver.mend(Call::Create);
    assert!(creating.await.unwrap().is_ok());
}

#[tokio::test]
async fn the_guest_gets_the_templates_environment_and_the_callers_on_top() {
    let lab = Lab::new();
    let envs = BTreeMap::from([("FROM".into(), "caller".into()), ("X".into(), "=1".into())]);
    let new = NewSandbox { envs, ..NewSandbox::of("base", secs(60)) };
    let record = lab.engine.create(&lab.team, new).await.unwrap();
    let guest = lab.driver.spec(&record.id).unwrap().guest;
    let expected = [("FROM", "caller"), ("LANG", "C.UTF-8"), ("X", "=1")];
    assert_eq!(guest.envs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    assert_eq!(guest.sandbox_id, record.id.as_str());
    assert_eq!(guest.access_token, record.access_token.0);
}

#[tokio::test]
async fn ids_and_tokens_are_new_each_time() {
    let lab = Lab::new();
    let mut seen = HashSet::new();
    for _ in 0..50 {
        let record = lab.create(secs(60)).await.unwrap();
        let token = record.access_token.0;
        assert!(token.len() >= 32 && token.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
        assert!(seen.insert(record.id.to_string()) && seen.insert(token));
    }
}

#[tokio::test]
async fn bad_wishes_are_refused_with_their_bounds() {
    let lab = Lab::new();
    let base = || NewSandbox::of("base", secs(60));
    let ask = |ask| NewSandbox { resources: Some(ask), ..base() };
    let envs = |name: &str| NewSandbox { envs: BTreeMap::from([(name.into(), "v".into())]), ..base() };
    let big = BTreeMap::from([("k".to_owned(), "v".repeat(70_000))]);
    for (new, field) in [
        (NewSandbox::of("base", secs(0)), "timeout"),
        (NewSandbox::of("base", secs(24 * 3600 + 1)), "timeout"),
        (ask(ResourceAsk { memory: Some(Bytes::gib(9)), ..ResourceAsk::default() }), "memory"),
        (ask(ResourceAsk { cpu: Some(MilliCpu(0)), ..ResourceAsk::default() }), "cpu"),
        (ask(ResourceAsk { pids: Some(1), ..ResourceAsk::default() }), "pids"),
        (ask(ResourceAsk { disk: Some(Bytes(1)), ..ResourceAsk::default() }), "disk"),
        (NewSandbox { metadata: big, ..base() }, "metadata"),
        (envs("A=B"), "envs"),
        (envs("A\0"), "envs"),
    ] {
        let error = lab.engine.create(&lab.team, new).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        assert!(matches!(&error, CreateError::OutOfBounds { field: f, .. } if *f == field), "{error}");
    }
    let error = lab.engine.create(&lab.team, NewSandbox::of("nope", secs(60))).await.unwrap_err();
    assert_eq!(error.to_string(), "template `nope` not found");
    assert!(lab.store.records().is_empty() && lab.driver.count(Call::Create) == 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_at_once_exactly_as_many_as_the_node_allows_are_made() {
    let lab = Lab::with(Config { max_sandboxes: 10, ..Config::default() });
    let mut creating = JoinSet::new();
    for _ in 0..20 {
        let lab = lab.clone();
        creating.spawn(async move { lab.create(secs(60)).await });
    }
    let results = creating.join_all().await;
    let made: Vec<_> = results.iter().flatten().collect();
    assert_eq!((made.len(), lab.driver.standing().len()), (10, 10));
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert_eq!(error.to_string(), "10 of 10 sandboxes are running on this node");
    }
    lab.engine.kill(&lab.team, made[0].id.as_str()).await.unwrap();
    lab.create(secs(60)).await.expect("a place is free again");
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_half_sandbox() {
    let lab = Lab::new();
    lab.driver.breaks(Call::Create, Fault::Hang);
    let creating = tokio::spawn({
        let lab = lab.clone();
        async move { lab.create(secs(60)).await }
    });
    eventually("the driver is at work", || lab.driver.count(Call::Create) == 1).await;
    creating.abort();
    assert!(creating.await.unwrap_err().is_cancelled());
    lab.driver.mend(Call::Create);
    eventually("it runs all the same", || lab.engine.counts().running == 1).await;
    lab.clock.advance(secs(60));
    eventually("and ends in time", || lab.engine.counts().running == 0).await;
    lab.settle().await;
    assert!(lab.driver.standing().is_empty());
}

#[tokio::test]
async fn a_kill_during_creation_answers_both_at_once_and_leaves_nothing() {
    let lab = Lab::new();
    lab.driver.breaks(Call::Create, Fault::Hang);
    let creating = tokio::spawn({
        let lab = lab.clone();
        async move { lab.create(secs(60)).await }
    });
    eventually("the driver is at work", || lab.driver.count(Call::Create) == 1).await;
    let id = lab.store.records()[0].id.clone();
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    assert!(matches!(creating.await.unwrap(), Err(CreateError::Killed(killed)) if killed == id));
    assert_eq!(lab.driver.count(Call::Destroy), 0, "not while the driver is building");
    lab.driver.mend(Call::Create);
    lab.settle().await;
    assert!(lab.driver.standing().is_empty());
    assert_eq!(lab.gate.open_count(), 0);
    assert_eq!((lab.driver.count(Call::Destroy), lab.driver.broken_rules()), (1, vec![]));
}

#[tokio::test]
async fn what_fails_hangs_or_panics_in_the_driver_ends_as_not_built() {
    for (fault, word) in [(Fault::Fail, "told to fail"), (Fault::Hang, "30 s"), (Fault::Panic, "panicked")] {
        let lab = Lab::new();
        lab.driver.breaks(Call::Create, fault);
        let creating = tokio::spawn({
            let lab = lab.clone();
            async move { lab.create(secs(60)).await }
        });
        eventually("the driver is at work", || lab.driver.count(Call::Create) == 1).await;
        if fault == Fault::Hang {
            lab.clock.advance(secs(30));
        }
        let error = creating.await.unwrap().unwrap_err();
        assert!(matches!(error, CreateError::Driver { .. }), "{error}");
        lab.settle().await;
        let end = lab.store.records()[0].ended().cloned().unwrap();
        assert!(matches!(&end.why, Why::BuildFailed(text) if text.contains(word)), "{:?}", end.why);
        assert!(end.removed && lab.driver.standing().is_empty());
        assert_eq!(lab.engine.counts().creates_failed["driver"], 1);
    }
}

#[tokio::test]
async fn a_full_store_refuses_before_anything_is_built() {
    let lab = Lab::new();
    lab.store.set_full(true);
    let error = lab.create(secs(60)).await.unwrap_err();
    assert_eq!((error.kind(), lab.driver.count(Call::Create)), (Kind::NoSpace, 0));
    lab.store.set_full(false);
    lab.create(secs(60)).await.unwrap();
    assert_eq!(lab.engine.counts().creating, 0);
}

#[tokio::test]
async fn a_dialects_notes_can_be_replaced_within_their_bounds() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    let notes = |size: usize| BTreeMap::from([("network".to_owned(), serde_json::json!("x".repeat(size)))]);
    let record =
        lab.engine.set_policy(&lab.team, id.as_str(), Box::default(), notes(3), Some(true)).await.unwrap();
    assert_eq!((&record.notes, record.internet), (&notes(3), Some(true)));
    assert_eq!(lab.store.record(&id), Some(record));
    let error =
        lab.engine.set_policy(&lab.team, id.as_str(), Box::default(), notes(70_000), None).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
}

#[tokio::test]
async fn the_gate_follows_the_record_and_is_closed_by_every_end() {
    let lab = Lab::new();
    let record = lab.create(secs(60)).await.unwrap();
    assert_eq!(lab.gate.policy(&record.id), Some(Policy::default()));

    let policy = Policy { log_only: true, ..Policy::default() };
    lab.engine
        .set_policy(&lab.team, record.id.as_str(), Box::new(policy.clone()), BTreeMap::new(), None)
        .await
        .unwrap();
    assert_eq!(lab.gate.policy(&record.id), Some(policy));

    lab.engine.kill(&lab.team, record.id.as_str()).await.unwrap();
    assert_eq!(lab.gate.open_count(), 0);
}

#[tokio::test]
async fn a_policy_that_cannot_be_used_is_refused_and_changes_nothing() {
    let lab = Lab::new();
    let bad = || Box::new(Policy { profile: Some("none".into()), ..Policy::default() });
    let new = NewSandbox { policy: bad(), ..NewSandbox::of("base", secs(60)) };
    let refused = lab.engine.create(&lab.team, new).await.unwrap_err();
    assert!(refused.to_string().contains("no profile `none`"), "{refused}");
    assert_eq!((refused.kind(), lab.store.records().len()), (Kind::Invalid, 0));

    let record = lab.create(secs(60)).await.unwrap();
    let id = record.id.as_str();
    let refused = lab.engine.set_policy(&lab.team, id, bad(), BTreeMap::new(), None).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Invalid);
    assert_eq!(lab.gate.policy(&record.id), Some(Policy::default()));
}
