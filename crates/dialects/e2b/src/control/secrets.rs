//! Secrets: values go in, and come out at the gate only (reference 2.6).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use serde::Deserialize;

use crate::app::App;
use crate::extract::{Body, Caller, Name, Query, shown};
use crate::limits;
use crate::reply::Reply;
use crate::secrets::{Secrets, SecretsError};
use crate::wire::Secret;

const NEXT_TOKEN: HeaderName = HeaderName::from_static("x-next-token");

/// Ids begin so, and names must not.
const ID: &str = "sec_";

#[derive(Deserialize)]
pub(super) struct NewSecret {
    name: String,
    value: String,
    #[serde(default)]
    metadata: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
pub(super) struct SecretUpdate {
    value: String,
    #[serde(default)]
    metadata: Option<BTreeMap<String, String>>,
}

pub(super) async fn list(
    State(app): State<App>,
    Caller(team): Caller,
    query: Query,
) -> Result<Response, Reply> {
    let most = limits::SECRETS_PAGE;
    let limit = query.number("limit", 1, most as i64)?.map_or(most, |limit| limit as usize);
    let after = query.get("nextToken");
    let mut page = secrets(&app)?.list(&team, after, limit).await.map_err(|error| refused(&error))?;
    // A full page may be the last one; the next is then empty, which clients take for the end.
    let next = (page.len() == limit).then(|| page.last().map(|last| last.name.clone())).flatten();
    let shown: Vec<_> = page.drain(..).map(Secret::from).collect();
    Ok((next.map(|next| AppendHeaders([(NEXT_TOKEN, next)])), Json(shown)).into_response())
}

pub(super) async fn create(
    State(app): State<App>,
    Caller(team): Caller,
    body: Body<NewSecret>,
) -> Result<(StatusCode, Json<Secret>), Reply> {
    let NewSecret { name, value, metadata } = body.value;
    let (name, metadata) = (checked_name(&name)?, metadata.unwrap_or_default());
    check_value(&value)?;
    check_metadata(&metadata)?;
    let made = secrets(&app)?.create(&team, &name, &value, metadata).await;
    let made = made.map_err(|error| refused(&error))?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

pub(super) async fn detail(
    State(app): State<App>,
    Caller(team): Caller,
    Name(reference): Name,
) -> Result<Json<Secret>, Reply> {
    let found = secrets(&app)?.find(&team, &canonical(&reference)).await;
    let found = found.map_err(|error| refused(&error))?.ok_or_else(|| unknown(&reference))?;
    Ok(Json(found.into()))
}

pub(super) async fn update(
    State(app): State<App>,
    Caller(team): Caller,
    Name(reference): Name,
    body: Body<SecretUpdate>,
) -> Result<Json<Secret>, Reply> {
    let SecretUpdate { value, metadata } = body.value;
    check_value(&value)?;
    if let Some(metadata) = &metadata {
        check_metadata(metadata)?;
    }
    let next = secrets(&app)?.update(&team, &canonical(&reference), &value, metadata).await;
    let next = next.map_err(|error| refused(&error))?.ok_or_else(|| unknown(&reference))?;
    Ok(Json(next.into()))
}

pub(super) async fn delete(
    State(app): State<App>,
    Caller(team): Caller,
    Name(reference): Name,
) -> Result<StatusCode, Reply> {
    let deleted = secrets(&app)?.delete(&team, &canonical(&reference)).await;
    if deleted.map_err(|error| refused(&error))? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(unknown(&reference))
    }
}

fn secrets(app: &App) -> Result<&Arc<dyn Secrets>, Reply> {
    app.secrets.as_ref().ok_or_else(|| Reply::absent("secrets"))
}

/// Ids and names are both in lower case.
fn canonical(reference: &str) -> String {
    reference.to_ascii_lowercase()
}

fn checked_name(name: &str) -> Result<String, Reply> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let name_is_good = (1..=limits::SECRET_NAME).contains(&name.len()) && name.bytes().all(allowed);
    let canonical = canonical(name);
    if !name_is_good || canonical.starts_with(ID) {
        return Err(Reply::invalid(format!(
            "`name` must be 1 to {} letters, digits, `_` or `-`, and not begin with `{ID}`: `{}`",
            limits::SECRET_NAME,
            shown(name)
        )));
    }
    Ok(canonical)
}

/// Nothing of a value is shown in a message.
fn check_value(value: &str) -> Result<(), Reply> {
    if value.is_empty() || value.len() > limits::SECRET_VALUE {
        let (len, most) = (value.len(), limits::SECRET_VALUE);
        return Err(Reply::invalid(format!("`value` must have 1 to {most} bytes, not {len}")));
    }
    Ok(())
}

fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), Reply> {
    let (entries, key, value, total) = (
        limits::SECRET_LABELS,
        limits::SECRET_LABEL_NAME,
        limits::SECRET_LABEL_VALUE,
        limits::SECRET_LABELS_BYTES,
    );
    let weight: usize = metadata.iter().map(|(name, value)| name.len() + value.len()).sum();
    let one_too_long = metadata.iter().any(|(name, text)| name.len() > key || text.len() > value);
    if metadata.len() > entries || weight > total || one_too_long {
        return Err(Reply::invalid(format!(
            "`metadata` may have {entries} entries, with names of {key} bytes, values of {value}, and {total} together"
        )));
    }
    Ok(())
}

fn unknown(reference: &str) -> Reply {
    let reference = shown(reference);
    Reply::new(
        StatusCode::NOT_FOUND,
        format!("secret `{reference}` not found; `hood secret list` shows what there is"),
    )
}

fn refused(error: &SecretsError) -> Reply {
    match error {
        SecretsError::Exists => Reply::new(StatusCode::CONFLICT, format!("{error}; update it instead")),
        SecretsError::TooMany(_) => Reply::new(StatusCode::FORBIDDEN, format!("{error}; delete one first"))
            .with_code("secret_limit_reached"),
        SecretsError::Failed(_) => Reply::internal("reaching the secrets", error),
    }
}
