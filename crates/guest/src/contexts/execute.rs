//! `/execute` and `/contexts` over HTTP (reference `e2b.md` 4.1).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{StatusCode, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::cell::{AnswerError, Cell, Requests};
use super::context::{Context, QueueFull};
use super::protocol::Answer;
use super::start::{StartError, language};
use super::table::{ContextError, DEFAULT_LANGUAGE, Full};
use super::wire::Line;
use crate::app::App;
use crate::launch::LaunchError;
use crate::limits::{MAX_BODY, MAX_ENV_VARS};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/contexts", get(list).post(create))
        .route("/contexts/{id}", delete(remove))
        .route("/contexts/{id}/restart", post(restart))
        .layer(DefaultBodyLimit::max(MAX_BODY))
}

pub(crate) fn execute_routes() -> Router<App> {
    Router::new()
        .route("/execute", post(execute))
        .route("/execute/{id}/events", get(events))
        .route("/execute/{id}/reply", post(reply))
        .layer(DefaultBodyLimit::max(MAX_BODY))
}

#[derive(Deserialize)]
struct Execution {
    code: String,
    context_id: Option<String>,
    language: Option<String>,
    env_vars: Option<BTreeMap<String, String>>,
    /// Ours: whether the client answers what the cell asks.
    requests: Option<Requests>,
}

async fn execute(State(app): State<App>, body: Result<Bytes, BytesRejection>) -> Result<Response, Refusal> {
    let Execution { code, context_id, language: name, env_vars, requests } = parse(body)?;
    let env = env_vars.unwrap_or_default();
    check_env(&env)?;
    let context = match (context_id, name) {
        (Some(_), Some(_)) => return Err(Refusal::ContextAndLanguage),
        (Some(id), None) => app.contexts.get(&id).ok_or(Refusal::NoContext(id))?,
        (None, name) => {
            let language = language(&app, name.as_deref().unwrap_or(DEFAULT_LANGUAGE))?;
            app.contexts.default_for(&app, &language)?
        }
    };
    let cell = Arc::new(Cell::new(app.contexts.cell_id(), code, env, requests.unwrap_or_default()));
    app.contexts.remember(&cell)?;
    // From here on the cell ends with this request, even if no response comes of it.
    let reader = Reader { cell: cell.clone(), keepalive: app.contexts.settings().keepalive, first: None };
    context.run(cell).await??;
    Ok(reader.into_response())
}

/// Goes on with a cell whose first response was cut while it waited for an answer.
async fn events(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Refusal> {
    let cell = app.contexts.cell(&id).ok_or_else(|| Refusal::NoExecution(id.clone()))?;
    if !cell.outbox.attach() {
        return Err(Refusal::BeingRead(id));
    }
    let mut first = BytesMut::new();
    for line in cell.open_requests() {
        first.extend_from_slice(&line.encode());
    }
    let keepalive = app.contexts.settings().keepalive;
    let first = (!first.is_empty()).then(|| first.freeze());
    Ok(Reader { cell, keepalive, first }.into_response())
}

#[derive(Deserialize)]
struct Reply {
    request: String,
    /// `null` is a value too.
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    error: Option<String>,
}

async fn reply(
    State(app): State<App>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<()>, Refusal> {
    let Reply { request, value, error } = parse(body)?;
    let answer = match (value, error) {
        (Some(value), None) => Answer::Value(value),
        (None | Some(Value::Null), Some(error)) => Answer::Error(error),
        _ => return Err(Refusal::ValueOrError),
    };
    let cell = app.contexts.cell(&id).ok_or(Refusal::NoExecution(id))?;
    cell.answer(&request, answer)?;
    Ok(Json(()))
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct NewContext {
    cwd: Option<String>,
    language: Option<String>,
}

#[derive(Serialize)]
struct ContextView {
    id: String,
    language: String,
    cwd: String,
}

impl From<&Arc<Context>> for ContextView {
    fn from(context: &Arc<Context>) -> Self {
        Self { id: context.id.clone(), language: context.language.clone(), cwd: context.cwd.clone() }
    }
}

async fn create(
    State(app): State<App>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ContextView>, Refusal> {
    let NewContext { cwd, language: name } = parse(body)?;
    let language = language(&app, name.as_deref().unwrap_or(DEFAULT_LANGUAGE))?;
    Ok(Json((&app.contexts.create(&app, &language, cwd.as_deref())?).into()))
}

async fn list(State(app): State<App>) -> Json<Vec<ContextView>> {
    Json(app.contexts.list(&app).iter().map(Into::into).collect())
}

async fn remove(State(app): State<App>, Path(id): Path<String>) -> Result<Json<()>, Refusal> {
    if app.contexts.remove(&id) { Ok(Json(())) } else { Err(Refusal::NoContext(id)) }
}

async fn restart(State(app): State<App>, Path(id): Path<String>) -> Result<Json<()>, Refusal> {
    app.contexts.get(&id).ok_or(Refusal::NoContext(id))?.restart().await;
    Ok(Json(()))
}

/// A response body. Dropping it is the client hanging up.
struct Reader {
    cell: Arc<Cell>,
    keepalive: Duration,
    /// Lines before those of the outbox.
    first: Option<Bytes>,
}

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        tokio::time::timeout(self.keepalive, self.cell.outbox.pop())
            .await
            .unwrap_or_else(|_| Some(Line::Keepalive.encode()))
    }

    fn into_response(self) -> Response {
        let lines = stream::unfold(self, |mut reader| async {
            let lines = reader.next().await?;
            Some((Ok::<_, Infallible>(lines), reader))
        });
        ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.cell.leave();
    }
}

/// What is refused, in the plain text that E2B's clients show.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("Only one of context_id or language can be provided")]
    ContextAndLanguage,
    #[error("Context {0} not found")]
    NoContext(String),
    #[error("Execution {0} not found")]
    NoExecution(String),
    #[error("execution {0} is being read by another client")]
    BeingRead(String),
    #[error("a reply has either `value` or `error`")]
    ValueOrError,
    #[error("the request is larger than {} MiB; upload a file and let the code read it", MAX_BODY >> 20)]
    TooLarge,
    #[error("the request's body is not what this call takes: {0}")]
    Malformed(String),
    #[error("{given} env_vars, at most {MAX_ENV_VARS} are possible")]
    TooManyEnvVars { given: usize },
    #[error("env_vars may not have an empty name, one with `=`, or a NUL byte (`{0}`)")]
    BadEnvVar(String),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    Queue(#[from] QueueFull),
    #[error(transparent)]
    Context(#[from] ContextError),
    #[error(transparent)]
    Full(#[from] Full),
    #[error(transparent)]
    Start(#[from] StartError),
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::ContextAndLanguage
            | Self::ValueOrError
            | Self::Malformed(_)
            | Self::TooManyEnvVars { .. }
            | Self::BadEnvVar(_)
            | Self::Start(StartError::UnknownLanguage { .. })
            | Self::Context(ContextError::Directory(LaunchError::NoDirectory(_))) => StatusCode::BAD_REQUEST,
            Self::NoContext(_) | Self::NoExecution(_) | Self::Answer(AnswerError::Unknown { .. }) => {
                StatusCode::NOT_FOUND
            }
            Self::BeingRead(_) | Self::Answer(AnswerError::Answered { .. }) => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Queue(_) | Self::Full(_) | Self::Context(ContextError::Full(_)) => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::Start(_) | Self::Context(ContextError::Directory(_)) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status(), self.to_string()).into_response()
    }
}

fn parse<T: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Result<T, Refusal> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge,
        _ => Refusal::Malformed(rejection.body_text()),
    })?;
    let body = if body.is_empty() { b"{}" } else { body.as_ref() };
    serde_json::from_slice(body).map_err(|error| Refusal::Malformed(error.to_string()))
}

fn check_env(env: &BTreeMap<String, String>) -> Result<(), Refusal> {
    if env.len() > MAX_ENV_VARS {
        return Err(Refusal::TooManyEnvVars { given: env.len() });
    }
    let bad = |(key, value): &(&String, &String)| {
        key.is_empty() || key.contains(['=', '\0']) || value.contains('\0')
    };
    match env.iter().find(bad) {
        Some((key, _)) => Err(Refusal::BadEnvVar(key.clone())),
        None => Ok(()),
    }
}
