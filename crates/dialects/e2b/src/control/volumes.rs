//! Volumes: made, listed, removed. Their files are next door.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hood_engine::Bytes;
use serde::Deserialize;

use crate::app::App;
use crate::extract::{Body, Caller, Name};
use crate::reply::Reply;
use crate::wire::{Volume, VolumeAndToken};

#[derive(Debug, Deserialize)]
pub(super) struct NewVolume {
    name: String,
    hood: Option<Hood>,
}

/// Our extension of the call.
#[derive(Debug, Deserialize)]
struct Hood {
    #[serde(rename = "sizeMB")]
    size_mib: Option<u64>,
}

pub(super) async fn list(State(app): State<App>, Caller(team): Caller) -> Json<Vec<Volume>> {
    Json(app.engine.volumes(&team).iter().map(|volume| Volume::of(volume)).collect())
}

pub(super) async fn create(
    State(app): State<App>,
    Caller(team): Caller,
    body: Body<NewVolume>,
) -> Result<(StatusCode, Json<VolumeAndToken>), Reply> {
    let NewVolume { name, hood } = body.value;
    let size = hood.and_then(|hood| hood.size_mib).map(|mib| Bytes(mib.saturating_mul(1 << 20)));
    let volume = app.engine.make_volume(&team, &name, size).await?;
    Ok((StatusCode::CREATED, Json(VolumeAndToken::of(&volume))))
}

pub(super) async fn detail(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
) -> Result<Json<VolumeAndToken>, Reply> {
    Ok(Json(VolumeAndToken::of(&*app.engine.find_volume(&team, &id)?)))
}

pub(super) async fn delete(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
) -> Result<StatusCode, Reply> {
    app.engine.delete_volume(&team, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
