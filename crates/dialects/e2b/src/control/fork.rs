//! Forks.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hood_engine::Fork;
use serde::Deserialize;

use crate::app::App;
use crate::extract::{Body, Caller, Name};
use crate::limits;
use crate::reply::Reply;
use crate::wire::{Child, Notes, Timeout, seconds};

/// The body of a fork; it may be absent.
#[derive(Debug, Deserialize)]
pub(super) struct Ask {
    timeout: Option<i64>,
    count: Option<i64>,
}

pub(super) async fn fork(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<Ask>,
) -> Result<(StatusCode, Json<Vec<Child>>), Reply> {
    let Ask { timeout, count } = body.value;
    let timeout = seconds("timeout", timeout.unwrap_or(limits::TIMEOUT_V1_SECS), Timeout::Positive)?;
    // The engine knows how many there may be; none of those is negative.
    let count = usize::try_from(count.unwrap_or(1)).unwrap_or(0);
    let children = app.engine.fork(&team, &id, Fork { timeout, count, notes: Notes::for_child }).await?;
    let children = children.into_iter().map(|child| Child::of(child, &app.domain)).collect();
    Ok((StatusCode::CREATED, Json(children)))
}
