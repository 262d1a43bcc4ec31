//! Processes that clients start: E2B's `process.Process` service (reference `e2b.md` 3.2).
//!
//! A process belongs to the sandbox, not to the request that started it: one task follows each to its end, whoever
//! listens. What that means at the edges:
//!
//! * **End.** The `end` event is sent when the main process has ended and what it wrote is delivered. A child left
//!   behind that holds the pipe does not hold up the command; its later output is read and thrown away.
//! * **Timeout.** `connect-timeout-ms` of `Start` is the process's, also when its client has gone: it and all its
//!   descendants are killed. Without one it may run as long as the sandbox. Of `Connect` it is the stream's only.
//! * **Memory.** Bounded whatever is printed, and how: see [`outlet`].
//! * **Names.** Live processes are found by pid or tag; for half a minute after its end `Connect` still tells a
//!   process's end; SIGKILL reaches what a process left behind.
//!
//! Reading order: [`start`], [`pump`], [`outlet`], [`events`]; [`input`]; [`table`].

mod ending;
mod events;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod headers;
mod input;
mod outlet;
mod pump;
mod signal;
mod start;
mod stream_input;
mod table;
#[cfg(test)]
mod tests;
mod utf8;
mod wire;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::middleware;
use axum::response::Response;
use axum::routing::post;
use futures_util::stream;
use tokio::time::Instant;

use self::events::{Deadline, Listener};
use self::headers::{Keepalive, Limit};
use self::table::Found;
pub(crate) use self::table::Processes;
use self::wire::{
    Empty, ListRequest, ListResponse, SelectRequest, SendInputRequest, SendSignalRequest, StartRequest,
    UpdateRequest,
};
use crate::app::App;
use crate::connect::{self, Code, ConnectError, Json, Unary, stream_request, stream_response};
use crate::http::AskedUser;
use crate::limits::WRITE_LIMIT;
use crate::sys::pty;

/// Who speaks in the sandbox's log.
const LOGGER: &str = "process";

/// The service.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/process.Process/Start", post(start_process))
        .route("/process.Process/Connect", post(connect_to))
        .route("/process.Process/List", post(list))
        .route("/process.Process/SendInput", post(send_input))
        .route("/process.Process/StreamInput", post(stream_input))
        .route("/process.Process/CloseStdin", post(close_stdin))
        .route("/process.Process/SendSignal", post(send_signal))
        .route("/process.Process/Update", post(update))
        .layer(middleware::from_fn(connect::require_json))
}

async fn start_process(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    limit: Limit,
    Keepalive(keepalive): Keepalive,
    body: Body,
) -> Response {
    let deadline = limit.deadline();
    let started = async {
        let request: StartRequest = stream_request(body).await?;
        start::start(&app, user, deadline, request)
    };
    match started.await {
        Ok((pid, reader)) => {
            Listener { pid, reader, keepalive, deadline: Deadline::Process(deadline) }.into_response()
        }
        Err(error) => events::refused(error),
    }
}

async fn connect_to(
    State(app): State<App>,
    limit: Limit,
    Keepalive(keepalive): Keepalive,
    body: Body,
) -> Response {
    let deadline = Deadline::Stream(limit.deadline());
    let found = async {
        let request: SelectRequest = stream_request(body).await?;
        Ok(match app.processes.find(request.process.as_ref())? {
            Found::Live(process) => {
                let reader = process.outlet.subscribe()?;
                Listener { pid: process.number(), reader, keepalive, deadline }.into_response()
            }
            Found::Ended(pid, end) => events::ended(pid, end),
        })
    };
    found.await.unwrap_or_else(events::refused)
}

async fn list(State(app): State<App>, _: Unary<ListRequest>) -> Json<ListResponse> {
    Json(ListResponse { processes: app.processes.list() })
}

async fn send_input(
    State(app): State<App>,
    limit: Limit,
    Unary(request): Unary<SendInputRequest>,
) -> Result<Json<Empty>, ConnectError> {
    let process = app.processes.live(request.process.as_ref())?;
    process.input.write(&request.input.unwrap_or_default(), write_deadline(limit)).await?;
    Ok(Json(Empty {}))
}

async fn stream_input(State(app): State<App>, limit: Limit, body: Body) -> Response {
    let answer = stream_input::relay(&app, limit.deadline(), body).await.map(|()| Empty {});
    stream_response(stream::iter([answer]))
}

async fn close_stdin(
    State(app): State<App>,
    limit: Limit,
    Unary(request): Unary<SelectRequest>,
) -> Result<Json<Empty>, ConnectError> {
    let process = app.processes.live(request.process.as_ref())?;
    process.input.close(write_deadline(limit)).await?;
    Ok(Json(Empty {}))
}

async fn send_signal(
    State(app): State<App>,
    Unary(request): Unary<SendSignalRequest>,
) -> Result<Json<Empty>, ConnectError> {
    signal::send(&app, request).await?;
    Ok(Json(Empty {}))
}

/// Resizes the terminal; a request without a size changes nothing.
async fn update(
    State(app): State<App>,
    Unary(request): Unary<UpdateRequest>,
) -> Result<Json<Empty>, ConnectError> {
    let process = app.processes.live(request.process.as_ref())?;
    let Some(pty) = request.pty else { return Ok(Json(Empty {})) };
    let Some(terminal) = &process.terminal else {
        let message = format!("process {} has no terminal to resize", process.number());
        return Err(ConnectError::new(Code::FailedPrecondition, message));
    };
    let (cols, rows) = start::size(pty)?;
    pty::resize(terminal.get_ref(), cols, rows)
        .map_err(|error| ConnectError::new(Code::Internal, format!("cannot resize the terminal: {error}")))?;
    Ok(Json(Empty {}))
}

/// A unary write never waits for ever.
fn write_deadline(limit: Limit) -> Option<Instant> {
    limit.deadline().or_else(|| Instant::now().checked_add(WRITE_LIMIT))
}
