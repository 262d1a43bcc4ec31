//! How long a sandbox lives: connect, set-timeout, refresh.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hood_engine::{TeamId, Woken};
use serde::Deserialize;

use crate::app::App;
use crate::extract::{Body, Caller, Name};
use crate::limits;
use crate::reply::Reply;
use crate::wire::{self, Timeout, WithTimeout, seconds};

type Connected = Result<(StatusCode, Json<wire::Sandbox>), Reply>;

pub(super) async fn connect_v2(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<WithTimeout>,
) -> Connected {
    connect(&app, &team, &id, body.value.timeout.unwrap_or(limits::TIMEOUT_V2_SECS)).await
}

pub(super) async fn connect_v1(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<WithTimeout>,
) -> Connected {
    let Some(timeout) = body.value.timeout else { return Err(missing("timeout")) };
    connect(&app, &team, &id, timeout).await
}

/// 200 when it ran already, 201 when this call has resumed it. A shorter time never shortens.
async fn connect(app: &App, team: &TeamId, id: &str, timeout: i64) -> Connected {
    let timeout = seconds("timeout", timeout, Timeout::MayBeZero)?;
    let (record, woken) = app.engine.connect(team, id, timeout).await?;
    let status = match woken {
        Woken::Ran => StatusCode::OK,
        Woken::Resumed => StatusCode::CREATED,
    };
    Ok((status, Json(wire::Sandbox::of(&record, &app.domain))))
}

pub(super) async fn set(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<WithTimeout>,
) -> Result<StatusCode, Reply> {
    let Some(timeout) = body.value.timeout else { return Err(missing("timeout")) };
    let timeout = seconds("timeout", timeout, Timeout::MayBeZero)?;
    app.engine.set_deadline(&team, &id, timeout).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
pub(super) struct Refresh {
    duration: Option<i64>,
}

pub(super) async fn refresh(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<Refresh>,
) -> Result<StatusCode, Reply> {
    let given = body.value.duration.unwrap_or(limits::TIMEOUT_V1_SECS);
    if given > limits::REFRESH_SECS {
        let most = limits::REFRESH_SECS;
        return Err(Reply::invalid(format!("`duration` must be at most {most} s, not {given}")));
    }
    let duration = seconds("duration", given, Timeout::MayBeZero)?;
    app.engine.extend_deadline(&team, &id, duration).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn missing(field: &str) -> Reply {
    Reply::invalid(format!("the request body does not fit: missing field `{field}`"))
}
