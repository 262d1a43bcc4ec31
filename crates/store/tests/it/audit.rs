use hood_engine::TeamId;
use hood_store::{AuditQuery, AuditRow, SqliteStore};

use crate::at;

fn row(secs: i64, team: &str, sandbox: &str, denied: bool) -> AuditRow {
    let entry = format!("{secs} {sandbox} {denied}");
    AuditRow { at: at(secs), team: TeamId(team.into()), sandbox: sandbox.into(), denied, entry }
}

fn of(team: &str) -> AuditQuery {
    AuditQuery {
        team: TeamId(team.into()),
        sandbox: None,
        denied: false,
        after: 0,
        from: None,
        limit: usize::MAX,
    }
}

#[tokio::test]
async fn entries_are_found_by_team_sandbox_verdict_time_and_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::open(dir.path().join("store")).expect("a store");
    let rows = vec![row(1, "a", "s1", false), row(2, "a", "s2", true), row(3, "b", "s3", true)];
    store.append_audit(rows).await.expect("written");

    let entries = async |query: AuditQuery| -> Vec<String> {
        store.audit(query).await.expect("read").into_iter().map(|found| found.entry).collect()
    };
    assert_eq!(entries(of("a")).await, ["1 s1 false", "2 s2 true"]);
    assert_eq!(entries(AuditQuery { denied: true, ..of("a") }).await, ["2 s2 true"]);
    assert_eq!(entries(AuditQuery { sandbox: Some("s1".into()), ..of("a") }).await, ["1 s1 false"]);
    assert_eq!(entries(AuditQuery { sandbox: Some("s3".into()), ..of("a") }).await, [""; 0]);
    assert_eq!(entries(AuditQuery { from: Some(at(2)), ..of("a") }).await, ["2 s2 true"]);
    assert_eq!(entries(AuditQuery { limit: 1, ..of("a") }).await, ["1 s1 false"]);
    let first = store.audit(AuditQuery { limit: 1, ..of("a") }).await.expect("read")[0].seq;
    assert_eq!(entries(AuditQuery { after: first, ..of("a") }).await, ["2 s2 true"]);

    assert_eq!(store.prune_audit(at(3)).await.expect("pruned"), 2);
    assert_eq!(entries(of("a")).await, [""; 0]);
    assert_eq!(entries(of("b")).await, ["3 s3 true"]);
}
