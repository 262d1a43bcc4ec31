//! The SQLite store as the engine uses it, and as an owner meets it when its file is not what it should be.

mod audit;
mod engine;
mod files;
mod records;
mod secrets;
mod snapshots;

use std::collections::BTreeMap;
use std::sync::Arc;

use hood_engine::{
    AtDeadline, Blueprint, Bytes, End, MilliCpu, Mount, Record, Resources, RootFs, RootMode, SandboxId,
    Snapshot, SnapshotId, State, TeamId, Token, VolumeId, Why,
};
use time::{Duration, OffsetDateTime};

fn at(secs: i64) -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + Duration::seconds(1_800_000_000 + secs) + Duration::nanoseconds(123_456_789)
}

fn record(n: u8) -> Record {
    Record {
        id: SandboxId::from_random([n; 20]),
        team: TeamId("team".into()),
        template_id: "t1".into(),
        template_name: "base".into(),
        state: State::Running,
        started_at: at(0),
        deadline: at(300),
        resources: Resources { memory: Bytes::mib(512), cpu: MilliCpu(500), pids: 64, disk: Bytes::gib(1) },
        blueprint: Arc::new(blueprint()),
        inherited: Bytes::mib(3),
        mounts: vec![Mount { volume: VolumeId::from_random([n; 20]), path: "/data".into() }],
        metadata: BTreeMap::from([("имя".into(), "quote ' \" \n".into())]),
        access_token: Token("secret".into()),
        policy: Box::default(),
        at_deadline: AtDeadline::End,
        auto_resume: false,
        internet: Some(false),
        notes: BTreeMap::from([("network".into(), serde_json::json!({"allow": ["a", 0.1, null]}))]),
    }
}

fn blueprint() -> Blueprint {
    Blueprint {
        root: RootFs { key: "k".into(), layers: vec!["/layers/a".into()], ..RootFs::default() },
        root_mode: RootMode::ReadOnlyExcept("/home/user".into()),
        envs: BTreeMap::from([("A".into(), "b".into())]),
        ..Blueprint::default()
    }
}

fn snapshot(n: u8, name: Option<&str>) -> Snapshot {
    let Record { team, template_name, resources, blueprint, id, .. } = record(n);
    Snapshot {
        id: SnapshotId::from_random([n; 20]),
        team,
        name: name.map(|name| name.parse().expect("a name")),
        source: id,
        template_name,
        created_at: at(n.into()),
        resources,
        blueprint,
        bytes: Bytes::mib(7),
    }
}

fn ended(record: &Record, secs: i64, removed: bool) -> Record {
    Record { state: State::Ended(End { at: at(secs), why: Why::Killed, removed }), ..record.clone() }
}
