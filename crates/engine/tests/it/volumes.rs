use hood_driver_api::{Bytes, Driver};
use hood_engine::{CreateError, Explain, Kind, LookupError, MountAsk, NewSandbox, Record, TeamId, limits};
use hood_testkit::{Call, Fault, Lab};

use crate::secs;

async fn with_volume(lab: &Lab, volume: &str) -> Result<Record, CreateError> {
    let volumes = vec![MountAsk { volume: volume.to_owned(), path: "/data".to_owned() }];
    lab.engine.create(&lab.team, NewSandbox { volumes, ..NewSandbox::of("base", secs(60)) }).await
}

async fn on_disk(lab: &Lab) -> usize {
    lab.driver.volumes().await.expect("it has a list").len()
}

#[tokio::test]
async fn one_outlives_its_sandboxes_and_the_server() {
    let lab = Lab::new();
    let made = lab.engine.make_volume(&lab.team, "data", None).await.unwrap();
    assert_eq!(made.size, limits::VOLUME);
    let sandbox = with_volume(&lab, "data").await.unwrap();
    let spec = lab.driver.spec(&sandbox.id).unwrap();
    assert_eq!((&spec.mounts[0].volume, spec.mounts[0].path.as_str()), (&made.id, "/data"));
    lab.engine.kill(&lab.team, sandbox.id.as_str()).await.unwrap();
    lab.settle().await;

    let lab = lab.restarted();
    lab.engine.recover().await.unwrap();
    for reference in ["data", made.id.as_str()] {
        assert_eq!(*lab.engine.find_volume(&lab.team, reference).unwrap(), made);
        with_volume(&lab, reference).await.unwrap();
    }
    assert_eq!(on_disk(&lab).await, 1);
}

#[tokio::test]
async fn one_that_is_in_use_stays() {
    let lab = Lab::new();
    let made = lab.engine.make_volume(&lab.team, "data", None).await.unwrap();
    let sandbox = with_volume(&lab, "data").await.unwrap();
    lab.engine.pause(&lab.team, sandbox.id.as_str(), hood_engine::Keep::Memory).await.unwrap();
    let refused = lab.engine.delete_volume(&lab.team, "data").await.unwrap_err();
    assert!(matches!(refused, LookupError::VolumeInUse { by, .. } if by == sandbox.id));
    assert!(lab.engine.volume(made.id.as_str()).is_some());
    lab.engine.kill(&lab.team, sandbox.id.as_str()).await.unwrap();
    lab.settle().await;
    lab.engine.delete_volume(&lab.team, "data").await.unwrap();
    assert_eq!(on_disk(&lab).await, 0);
    assert!(
        matches!(with_volume(&lab, "data").await, Err(CreateError::UnknownVolume(name)) if name == "data")
    );
}

#[tokio::test]
async fn another_team_neither_sees_nor_removes_nor_mounts_it() {
    let lab = Lab::new();
    let made = lab.engine.make_volume(&lab.team, "data", None).await.unwrap();
    let other = TeamId("other".into());
    assert!(lab.engine.volumes(&other).is_empty());
    let foreign = Lab { team: other.clone(), ..lab.clone() };
    for reference in ["data", made.id.as_str()] {
        assert_eq!(lab.engine.delete_volume(&other, reference).await.unwrap_err().kind(), Kind::NotFound);
        assert!(matches!(with_volume(&foreign, reference).await, Err(CreateError::UnknownVolume(_))));
    }
    lab.engine.make_volume(&other, "data", None).await.unwrap();
    assert_eq!(on_disk(&lab).await, 2, "the same name, another volume");
}

#[tokio::test]
async fn what_cannot_be_made_or_written_leaves_nothing() {
    let lab = Lab::new();
    lab.driver.breaks(Call::MakeVolume, Fault::Fail);
    assert!(lab.engine.make_volume(&lab.team, "data", None).await.is_err());
    lab.driver.mend(Call::MakeVolume);
    lab.store.set_full(true);
    let refused = lab.engine.make_volume(&lab.team, "data", None).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::NoSpace);
    assert_eq!(on_disk(&lab).await, 0);
    lab.store.set_full(false);
    lab.engine.make_volume(&lab.team, "data", None).await.unwrap();
    let again = lab.engine.make_volume(&lab.team, "data", None).await;
    assert!(matches!(again, Err(LookupError::VolumeExists(name)) if name == "data"));
}

#[tokio::test]
async fn what_a_crash_left_behind_goes_with_the_next_start() {
    let lab = Lab::new();
    let made = lab.engine.make_volume(&lab.team, "data", None).await.unwrap();
    // The driver has made it, and the server died before it was written down.
    let orphan = hood_driver_api::VolumeId::from_random([7; 20]);
    lab.driver.make_volume(&orphan, limits::VOLUME).await.unwrap();
    let lab = lab.restarted();
    lab.engine.recover().await.unwrap();
    lab.settle().await;
    assert_eq!(lab.driver.volumes().await.unwrap(), [made.id]);
}

#[tokio::test]
async fn sizes_and_the_number_of_them_are_bounded() {
    let lab = Lab::new();
    for size in [Bytes(0), Bytes(limits::MIN_DISK.0 - 1), Bytes(limits::MAX_DISK.0 + 1)] {
        let refused = lab.engine.make_volume(&lab.team, "data", Some(size)).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Invalid);
    }
    for n in 0..limits::VOLUMES {
        lab.engine.make_volume(&lab.team, &format!("v{n}"), None).await.unwrap();
    }
    let refused = lab.engine.make_volume(&lab.team, "more", None).await.unwrap_err();
    assert!(matches!(refused, LookupError::TooManyVolumes { limit } if limit == limits::VOLUMES));
    assert_eq!(on_disk(&lab).await, limits::VOLUMES);
}
