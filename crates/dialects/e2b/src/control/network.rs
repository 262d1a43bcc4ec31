//! `PUT …/network`: another policy from now on; what it forbids is cut.

use axum::extract::State;
use axum::http::StatusCode;
use hood_wire::Level;

use crate::app::App;
use crate::extract::{Body, Caller, Name};
use crate::reply::Reply;
use crate::wire::{Network, NetworkUpdate, Notes, policy};

pub(super) async fn replace(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    body: Body<NetworkUpdate>,
) -> Result<StatusCode, Reply> {
    let internet = body.value.allow_internet_access;
    let policy = policy(&body.value.egress, internet)?;
    let mut notes = Notes::of(&app.engine.get(&team, &id)?);
    notes.network = Some(Network::updated(notes.network, body.value.egress));
    let record = app.engine.set_policy(&team, &id, Box::new(policy), notes.into_map()?, internet).await?;
    app.engine.say(&record.id, Level::Info, "the network policy was replaced");
    Ok(StatusCode::NO_CONTENT)
}
