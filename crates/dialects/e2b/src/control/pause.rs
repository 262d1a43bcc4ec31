//! Standing still: pause, and the legacy resume.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hood_engine::Keep;
use serde::Deserialize;

use crate::app::App;
use crate::extract::{Body, Caller, Name};
use crate::limits;
use crate::reply::Reply;
use crate::wire::{self, Timeout, WithTimeout, seconds};

/// The body of a pause; it may be absent.
#[derive(Debug, Deserialize)]
pub(super) struct Pause {
    /// Whether processes and memory are kept; they are unless it is false.
    memory: Option<bool>,
}

pub(super) async fn pause(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<Pause>,
) -> Result<StatusCode, Reply> {
    let keep = if body.value.memory == Some(false) { Keep::Files } else { Keep::Memory };
    app.engine.pause(&team, &id, keep).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn resume(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<WithTimeout>,
) -> Result<(StatusCode, Json<wire::Sandbox>), Reply> {
    let given = body.value.timeout.unwrap_or(limits::TIMEOUT_V1_SECS);
    let timeout = seconds("timeout", given, Timeout::MayBeZero)?;
    let record = app.engine.resume(&team, &id, timeout).await?;
    Ok((StatusCode::CREATED, Json(wire::Sandbox::of(&record, &app.domain))))
}
