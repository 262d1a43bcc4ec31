//! Files by name: what E2B's `filesystem.Filesystem` service does (reference `e2b.md` 3.3).
//!
//! Every operation runs as the guest and gives what it makes to the request's account. Paths are those of the sandbox:
//! whatever a symbolic link says, it cannot lead out.
//!
//! Reading order: [`entry`] (how a file is described), [`make`], [`list`], [`remove`], [`rename`], then [`watch`].

pub(crate) mod entry;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod list;
pub(crate) mod make;
pub(crate) mod metadata;
mod remove;
mod rename;
#[cfg(test)]
mod tests;
pub(crate) mod uploads;
mod watch;

use std::io;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use serde::{Deserialize, Serialize};

use crate::accounts::Account;
use crate::app::App;
use crate::connect::{Code, ConnectError, Json, Unary};
use crate::http::AskedUser;
use crate::launch;
use crate::paths;

use entry::{EntryInfo, Names};
pub(crate) use watch::Watchers;

/// The service's routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/filesystem.Filesystem/Stat", post(stat))
        .route("/filesystem.Filesystem/MakeDir", post(make_dir))
        .route("/filesystem.Filesystem/Move", post(move_entry))
        .route("/filesystem.Filesystem/ListDir", post(list_dir))
        .route("/filesystem.Filesystem/Remove", post(remove_entry))
        .merge(watch::routes())
}

#[derive(Deserialize)]
struct PathRequest {
    #[serde(default)]
    path: String,
}

#[derive(Serialize)]
struct EntryResponse {
    entry: EntryInfo,
}

async fn stat(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    Unary(request): Unary<PathRequest>,
) -> Result<Json<EntryResponse>, ConnectError> {
    let (_, path) = locate(&app, user.as_deref(), &request.path)?;
    described(path)
}

async fn make_dir(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    Unary(request): Unary<PathRequest>,
) -> Result<Json<EntryResponse>, ConnectError> {
    let (account, path) = locate(&app, user.as_deref(), &request.path)?;
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => {
            return Err(ConnectError::new(Code::AlreadyExists, format!("directory already exists: {path}")));
        }
        Ok(_) => {
            let message = format!("path already exists but it is not a directory: {path}");
            return Err(ConnectError::new(Code::InvalidArgument, message));
        }
        Err(_) => make::directories(&path, &account.identity).map_err(|error| refusal(&error, &path))?,
    }
    described(path)
}

#[derive(Deserialize)]
struct MoveRequest {
    #[serde(default)]
    source: String,
    #[serde(default)]
    destination: String,
}

async fn move_entry(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    Unary(request): Unary<MoveRequest>,
) -> Result<Json<EntryResponse>, ConnectError> {
    let (account, source) = locate(&app, user.as_deref(), &request.source)?;
    let (_, destination) = locate(&app, user.as_deref(), &request.destination)?;
    let to = destination.clone();
    blocking(move || rename::rename(&source, &to, &account.identity)).await??;
    described(destination)
}

#[derive(Deserialize)]
struct ListRequest {
    #[serde(default)]
    path: String,
    #[serde(default)]
    depth: u32,
}

#[derive(Serialize)]
struct ListResponse {
    entries: Vec<EntryInfo>,
}

async fn list_dir(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    Unary(request): Unary<ListRequest>,
) -> Result<Json<ListResponse>, ConnectError> {
    let (_, path) = locate(&app, user.as_deref(), &request.path)?;
    let entries = blocking(move || list::list(&path, request.depth.max(1))).await??;
    Ok(Json(ListResponse { entries }))
}

#[derive(Serialize)]
struct Empty {}

async fn remove_entry(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    Unary(request): Unary<PathRequest>,
) -> Result<Json<Empty>, ConnectError> {
    let (_, path) = locate(&app, user.as_deref(), &request.path)?;
    if path == "/" {
        return Err(ConnectError::new(Code::InvalidArgument, "the root directory cannot be removed"));
    }
    blocking(move || remove::remove(&path).map_err(|error| refusal(&error, &path))).await??;
    Ok(Json(Empty {}))
}

/// The request's account, and the absolute path it means.
fn locate(app: &App, user: Option<&str>, path: &str) -> Result<(Account, String), ConnectError> {
    let account = launch::account(app, user)?;
    let path = paths::absolute(app, &account, path)
        .map_err(|error| ConnectError::new(Code::InvalidArgument, error.to_string()))?;
    Ok((account, path))
}

fn described(path: String) -> Result<Json<EntryResponse>, ConnectError> {
    let entry = entry::describe(&path, &mut Names::default()).map_err(|error| refusal(&error, &path))?;
    Ok(Json(EntryResponse { entry }))
}

/// As [`ConnectError::from_io`], with the conditions that only this service meets.
fn refusal(error: &io::Error, path: &str) -> ConnectError {
    match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => {
            ConnectError::new(Code::FailedPrecondition, format!("directory is not empty: {path}"))
        }
        io::ErrorKind::ResourceBusy => ConnectError::new(
            Code::FailedPrecondition,
            format!("'{path}' is in use, as a mount point for example"),
        ),
        io::ErrorKind::ReadOnlyFilesystem => {
            ConnectError::new(Code::PermissionDenied, format!("'{path}' is on a read-only file system"))
        }
        _ => ConnectError::from_io(error, path),
    }
}

/// Runs `work` on a thread where it may wait for the disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ConnectError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ConnectError::new(Code::Internal, format!("the operation was cut short: {error}")))
}
