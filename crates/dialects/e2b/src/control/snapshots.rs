//! Snapshots: make, list, go back to one. One is deleted as the template that it is.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use hood_engine::SnapshotFilter;
use serde::Deserialize;

use crate::app::App;
use crate::extract::{Body, Caller, Name, Query, shown};
use crate::limits;
use crate::reply::Reply;
use crate::wire::{self, Snapshot};

const NEXT_TOKEN: HeaderName = HeaderName::from_static("x-next-token");

/// The body of a snapshot; it may be absent. `memory` is accepted: the answer says that it is not kept.
#[derive(Debug, Deserialize)]
pub(super) struct NewSnapshot {
    name: Option<String>,
}

/// The body of a rollback.
#[derive(Debug, Deserialize)]
pub(super) struct Rollback {
    #[serde(rename = "snapshotID")]
    snapshot: String,
}

pub(super) async fn make(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<NewSnapshot>,
) -> Result<(StatusCode, Json<Snapshot>), Reply> {
    let name = body.value.name.filter(|name| !name.is_empty()).map(|name| name.parse()).transpose()?;
    let snapshot = app.engine.snapshot(&team, &id, name).await?;
    Ok((StatusCode::CREATED, Json(Snapshot::of(&snapshot))))
}

pub(super) async fn list(
    State(app): State<App>,
    Caller(team): Caller,
    query: Query,
) -> Result<Response, Reply> {
    let limit = query.number("limit", 1, limits::PAGE as i64)?.map_or(limits::PAGE, |limit| limit as usize);
    let after = query.get("nextToken").map(|token| {
        let unknown =
            |_| Reply::invalid(format!("`nextToken` is not one that this server gave: `{}`", shown(token)));
        token.parse().map_err(unknown)
    });
    let filter = SnapshotFilter {
        source: query.get("sandboxID").map(str::to_owned),
        name: query.get("name").map(str::to_owned),
        after: after.transpose()?,
        limit,
    };
    let (page, more) = app.engine.snapshots(&team, &filter);
    let next = page.last().filter(|_| more).map(|last| AppendHeaders([(NEXT_TOKEN, last.id.to_string())]));
    let shown: Vec<_> = page.iter().map(|snapshot| Snapshot::of(snapshot)).collect();
    Ok((next, Json(shown)).into_response())
}

/// Ours: the protocol has no word for it.
pub(super) async fn rollback(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<Rollback>,
) -> Result<Json<wire::Sandbox>, Reply> {
    let record = app.engine.rollback(&team, &id, &body.value.snapshot).await?;
    Ok(Json(wire::Sandbox::of(&record, &app.domain)))
}
