//! `PUT …/network`: noted, and shown again.

use axum::extract::State;
use axum::http::StatusCode;
use hood_engine::Policy;
use hood_wire::Level;

use crate::app::App;
use crate::extract::{Body, Caller, Name};
use crate::reply::Reply;
use crate::wire::{Network, NetworkUpdate, Notes};

pub(super) async fn replace(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<NetworkUpdate>,
) -> Result<StatusCode, Reply> {
    let mut notes = Notes::of(&app.engine.get(&team, &id)?);
    notes.network = Some(Network::updated(notes.network, body.value.egress));
    let record = app
        .engine
        .set_policy(&team, &id, Policy::default(), notes.into_map()?, body.value.allow_internet_access)
        .await?;
    let text = "the network policy was replaced and noted; this build lets no connection out of a sandbox, whatever it says";
    app.engine.say(&record.id, Level::Warn, text);
    Ok(StatusCode::NO_CONTENT)
}
