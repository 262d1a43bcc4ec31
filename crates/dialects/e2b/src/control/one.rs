//! One sandbox: look at it, end it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::extract::{Caller, Name};
use crate::reply::Reply;
use crate::wire::SandboxDetail;

pub(super) async fn detail(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
) -> Result<Json<SandboxDetail>, Reply> {
    let record = app.engine.get(&team, &id)?;
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
