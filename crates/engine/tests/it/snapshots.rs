use hood_engine::{Explain, Fork, Keep, Kind, LookupError, NewSandbox, Origin, SnapshotFilter, limits};
use hood_testkit::{Call, Fault, Lab};

use crate::secs;

fn all() -> SnapshotFilter {
    SnapshotFilter { limit: 100, ..SnapshotFilter::default() }
}

fn fork(count: usize) -> Fork {
    Fork { timeout: secs(60), count, notes: |parent| parent.notes.clone() }
}

#[tokio::test]
async fn a_snapshot_is_what_sandboxes_are_made_from_after_its_source_is_gone_and_after_a_restart() {
    let lab = Lab::new();
    let source = lab.create(secs(60)).await.unwrap();
    let name = Some("Work:v1".parse().unwrap());
    let made = lab.engine.snapshot(&lab.team, source.id.as_str(), name).await.unwrap();
    assert!(lab.engine.get(&lab.team, source.id.as_str()).unwrap().is_running());
    lab.engine.kill(&lab.team, source.id.as_str()).await.unwrap();
    lab.settle().await;

    let lab = lab.restarted();
    lab.engine.recover().await.unwrap();
    for reference in [made.id.as_str(), "work:v1"] {
        let child = lab.engine.create(&lab.team, NewSandbox::of(reference, secs(60))).await.unwrap();
        assert_eq!((child.template_id.as_str(), child.template_name.as_str()), (made.id.as_str(), "work"));
        assert_eq!(child.blueprint, source.blueprint);
        let spec = lab.driver.spec(&child.id).unwrap();
        assert_eq!(spec.origin, Origin::Snapshot { id: made.id.clone(), bytes: made.bytes });
    }
    assert!(lab.engine.create(&lab.team, NewSandbox::of("work", secs(60))).await.is_err(), "another tag");
}

#[tokio::test]
async fn another_team_sees_no_snapshot_of_ours() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    let made = lab.engine.snapshot(&lab.team, id.as_str(), Some("mine".parse().unwrap())).await.unwrap();
    let other = hood_engine::TeamId("other".into());
    assert!(lab.engine.snapshots(&other, &all()).0.is_empty());
    for reference in [made.id.as_str(), "mine"] {
        assert!(lab.engine.find_snapshot(&other, reference).is_none());
        assert!(!lab.engine.delete_snapshot(&other, reference).await.unwrap());
        let refused = lab.engine.create(&other, NewSandbox::of(reference, secs(60))).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::NotFound);
    }
    assert_eq!(lab.driver.kept().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_captured_or_written_leaves_nothing() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.driver.breaks(Call::Capture, Fault::Fail);
    assert!(lab.engine.snapshot(&lab.team, id.as_str(), None).await.is_err());
    lab.driver.mend(Call::Capture);
    lab.store.set_full(true);
    let refused = lab.engine.snapshot(&lab.team, id.as_str(), None).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::NoSpace);
    assert!(lab.driver.kept().is_empty() && lab.engine.snapshots(&lab.team, &all()).0.is_empty());
    assert!(lab.engine.get(&lab.team, id.as_str()).unwrap().is_running());
}

#[tokio::test]
async fn a_template_s_name_cannot_be_had() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    let refused = lab.engine.snapshot(&lab.team, id.as_str(), Some("base:mine".parse().unwrap())).await;
    assert!(matches!(refused, Err(LookupError::NameTaken(name)) if name == "base"));
}

#[tokio::test]
async fn there_are_only_so_many() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    for _ in 0..limits::SNAPSHOTS {
        lab.engine.snapshot(&lab.team, id.as_str(), None).await.unwrap();
    }
    let refused = lab.engine.snapshot(&lab.team, id.as_str(), None).await.unwrap_err();
    assert!(matches!(refused, LookupError::TooManySnapshots { limit } if limit == limits::SNAPSHOTS));
    assert_eq!(lab.driver.kept().len(), limits::SNAPSHOTS);
}

#[tokio::test]
async fn children_that_fail_are_told_one_by_one() {
    let lab = Lab::with(hood_engine::Config { max_sandboxes: 3, ..Default::default() });
    let parent = lab.create(secs(60)).await.unwrap();
    let children = lab.engine.fork(&lab.team, parent.id.as_str(), fork(5)).await.unwrap();
    let made: Vec<_> = children.iter().filter_map(|child| child.as_ref().ok()).collect();
    assert_eq!((children.len(), made.len()), (5, 2));
    for child in made {
        assert_ne!((&child.id, &child.access_token), (&parent.id, &parent.access_token));
        assert_eq!((&child.template_id, &child.blueprint), (&parent.template_id, &parent.blueprint));
    }
    assert!(lab.driver.kept().is_empty(), "what they were made from goes");
    for count in [0, limits::FORKS + 1] {
        let refused = lab.engine.fork(&lab.team, parent.id.as_str(), fork(count)).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Invalid);
    }
}

#[tokio::test]
async fn a_sandbox_that_keeps_its_files_is_built_again_around_them() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    let outlets = lab.gate.open_count();
    lab.engine.pause(&lab.team, id.as_str(), Keep::Files).await.unwrap();
    assert_eq!((lab.driver.standing(), lab.driver.resting()), (vec![], vec![id.clone()]));
    assert_eq!(lab.gate.open_count(), outlets - 1, "nothing goes out of what is not there");
    assert!(lab.engine.awake(&id).await.is_none(), "traffic does not wake it");

    lab.driver.breaks(Call::Create, Fault::Fail);
    assert!(lab.engine.connect(&lab.team, id.as_str(), secs(60)).await.is_err());
    assert_eq!(lab.engine.get(&lab.team, id.as_str()).unwrap().paused(), Some(Keep::Files), "as it was");
    lab.driver.mend(Call::Create);
    let (record, _) = lab.engine.connect(&lab.team, id.as_str(), secs(60)).await.unwrap();
    assert!(record.is_running());
    assert_eq!(lab.driver.spec(&id).unwrap().origin, Origin::Kept { inherited: hood_engine::Bytes(0) });
    assert_eq!(lab.gate.open_count(), outlets);
}

#[tokio::test]
async fn what_will_not_rest_ends() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.driver.breaks(Call::Rest, Fault::Fail);
    assert!(lab.engine.pause(&lab.team, id.as_str(), Keep::Files).await.is_err());
    assert!(lab.engine.get(&lab.team, id.as_str()).is_err());
    lab.settle().await;
    assert!(lab.driver.standing().is_empty());
}

#[tokio::test]
async fn going_back_keeps_id_token_and_deadline() {
    let lab = Lab::new();
    let before = lab.create(secs(60)).await.unwrap();
    let id = before.id.as_str();
    let made = lab.engine.snapshot(&lab.team, id, None).await.unwrap();
    let after = lab.engine.rollback(&lab.team, id, made.id.as_str()).await.unwrap();
    assert_eq!(
        (&after.id, &after.access_token, after.deadline),
        (&before.id, &before.access_token, before.deadline)
    );
    assert!(after.is_running());
    assert_eq!(lab.driver.count(Call::Restore), 1);

    lab.driver.breaks(Call::Restore, Fault::Fail);
    assert!(lab.engine.rollback(&lab.team, id, made.id.as_str()).await.is_err());
    assert!(lab.engine.get(&lab.team, id).unwrap().is_running(), "it goes on with what it had");
    let unknown = lab.engine.rollback(&lab.team, id, "nosuch").await.unwrap_err();
    assert_eq!(unknown.kind(), Kind::NotFound);
    lab.engine.pause(&lab.team, id, Keep::Memory).await.unwrap();
    let refused = lab.engine.rollback(&lab.team, id, made.id.as_str()).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Conflict, "its memory would not fit");
}
