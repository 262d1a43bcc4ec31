//! One sandbox: look at it, change it, end it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::extract::{Body, Caller, Name};
use crate::reply::Reply;
use crate::wire::{Changes, SandboxDetail};

pub(super) async fn detail(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
) -> Result<Json<SandboxDetail>, Reply> {
    let record = app.engine.get(&team, &id)?;
    Ok(Json(SandboxDetail::of(&record, &app.domain, app.engine.isolation())))
}

/// All of it, or nothing. An addition of ours: E2B can change a sandbox's timeout and network, by calls of their own.
pub(super) async fn change(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<Changes>,
) -> Result<Json<SandboxDetail>, Reply> {
    let record = app.engine.change(&team, &id, body.value.ask()?).await?;
    Ok(Json(SandboxDetail::of(&record, &app.domain, app.engine.isolation())))
}

pub(super) async fn kill(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
) -> Result<StatusCode, Reply> {
    app.engine.kill(&team, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
