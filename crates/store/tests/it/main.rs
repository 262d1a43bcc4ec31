//! The SQLite store as the engine uses it, and as an owner meets it when its file is not what it should be.

mod audit;
mod engine;
mod files;
mod records;
mod secrets;

use std::collections::BTreeMap;

use hood_engine::{
    AtDeadline, Bytes, End, MilliCpu, Record, Resources, SandboxId, State, TeamId, Token, Why,
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
        metadata: BTreeMap::from([("имя".into(), "quote ' \" \n".into())]),
        access_token: Token("secret".into()),
        policy: Box::default(),
        at_deadline: AtDeadline::End,
        auto_resume: false,
        internet: Some(false),
        notes: BTreeMap::from([("network".into(), serde_json::json!({"allow": ["a", 0.1, null]}))]),
    }
}

fn ended(record: &Record, secs: i64, removed: bool) -> Record {
    Record { state: State::Ended(End { at: at(secs), why: Why::Killed, removed }), ..record.clone() }
}
