//! The audit: what the gate records, on its way into the store, and out again at `/audit`.
//!
//! The gate must not wait, so entries go through a bounded queue; what does not fit is counted and said, in the log and
//! in `/metrics`, for a gap that nobody knows of would be worse than none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use hood_dialect_e2b::App;
use hood_engine::TeamId;
use hood_gate::audit::{Entry, Kind, Sink};
use hood_store::{AuditQuery, AuditRow, SqliteStore};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use time::OffsetDateTime;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::limits::{AUDIT_BATCH, AUDIT_PRUNE, AUDIT_QUEUE};

/// Takes the gate's entries.
pub(super) struct AuditLog {
    queue: mpsc::Sender<Entry>,
    dropped: Arc<AtomicU64>,
}

/// The task that writes. End it with [`Writer::stop`], so that nothing that was recorded is lost.
pub(super) struct Writer {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// Starts writing. Entries older than `keep` are forgotten.
pub(super) fn start(store: Arc<SqliteStore>, keep: Duration) -> (AuditLog, Writer) {
    let (queue, entries) = mpsc::channel(AUDIT_QUEUE);
    let dropped = Arc::new(AtomicU64::new(0));
    let stop = CancellationToken::new();
    let task = tokio::spawn(write(store, keep, entries, stop.clone(), dropped.clone()));
    (AuditLog { queue, dropped }, Writer { stop, task })
}

impl AuditLog {
    /// Counts what could not be taken, for `/metrics`.
    pub(super) fn dropped(&self) -> Arc<AtomicU64> {
        self.dropped.clone()
    }
}

impl Sink for AuditLog {
    fn record(&self, entry: Entry) {
        if self.queue.try_send(entry).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Writer {
    pub(super) async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the writer of the audit failed");
        }
    }
}

async fn write(
    store: Arc<SqliteStore>,
    keep: Duration,
    mut entries: mpsc::Receiver<Entry>,
    stop: CancellationToken,
    dropped: Arc<AtomicU64>,
) {
    let mut prune = tokio::time::interval(AUDIT_PRUNE);
    let mut told = 0;
    loop {
        let mut batch = Vec::new();
        tokio::select! {
            biased;
            taken = entries.recv_many(&mut batch, AUDIT_BATCH) => if taken == 0 { return },
            _ = prune.tick() => forget(&store, keep).await,
            () = stop.cancelled() => return,
        }
        let rows = batch.iter().filter_map(row).collect();
        if let Err(error) = store.append_audit(rows).await {
            let error: &dyn std::error::Error = &error;
            tracing::error!(error, entries = batch.len(), "audit entries could not be written");
            dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
        }
        let lost = dropped.load(Ordering::Relaxed);
        if lost > told {
            tracing::warn!(lost = lost - told, "audit entries came faster than they could be written");
            told = lost;
        }
    }
}

async fn forget(store: &SqliteStore, keep: Duration) {
    if let Err(error) = store.prune_audit(OffsetDateTime::now_utc() - keep).await {
        tracing::warn!(%error, "old audit entries could not be forgotten");
    }
}

fn row(entry: &Entry) -> Option<AuditRow> {
    let denied = matches!(entry.kind, Kind::Denied | Kind::WouldDeny);
    let text = serde_json::to_string(entry)
        .inspect_err(|error| tracing::error!(%error, "an audit entry has no JSON"))
        .ok()?;
    let (team, sandbox) = (TeamId(entry.team.clone()), entry.sandbox.clone());
    Some(AuditRow { at: entry.at, team, sandbox, denied, entry: text })
}

/// What `/audit` is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    sandbox: Option<String>,
    #[serde(default)]
    denied: bool,
    #[serde(default)]
    after: i64,
    #[serde(default, with = "time::serde::rfc3339::option")]
    from: Option<OffsetDateTime>,
    limit: Option<usize>,
}

/// What it answers.
#[derive(Debug, Serialize)]
struct Page {
    entries: Vec<Box<RawValue>>,
    /// Where the next page begins; the same as asked when nothing is new.
    next: i64,
}

#[derive(Clone)]
struct Shared {
    store: Arc<SqliteStore>,
    app: App,
}

/// `GET /audit`, behind an API key like everything else: a team sees its own sandboxes.
pub(super) fn router(store: Arc<SqliteStore>, app: App) -> Router {
    Router::new().route("/audit", get(audit)).with_state(Shared { store, app })
}

async fn audit(
    State(shared): State<Shared>,
    headers: HeaderMap,
    ask: Result<Query<Ask>, QueryRejection>,
) -> Result<Json<Page>, Response> {
    let team = shared.app.caller(&headers).await?;
    let Query(ask) = ask.map_err(|rejection| refused(&rejection.body_text()))?;
    let query = AuditQuery {
        team,
        sandbox: ask.sandbox,
        denied: ask.denied,
        after: ask.after,
        from: ask.from,
        limit: ask.limit.unwrap_or(hood_store::limits::AUDIT_PAGE),
    };
    let found = shared.store.audit(query).await.map_err(|error| failed(&error))?;
    let next = found.last().map_or(ask.after, |last| last.seq);
    let entries = found.into_iter().map(|found| RawValue::from_string(found.entry)).collect::<Result<_, _>>();
    Ok(Json(Page { entries: entries.map_err(|error| failed(&error))?, next }))
}

fn refused(why: &str) -> Response {
    let body = serde_json::json!({ "code": 400, "message": why });
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

fn failed(error: &(dyn std::error::Error + 'static)) -> Response {
    tracing::error!(error, "the audit could not be read");
    let body =
        serde_json::json!({ "code": 500, "message": "the audit could not be read; see the server's log" });
    (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
}
