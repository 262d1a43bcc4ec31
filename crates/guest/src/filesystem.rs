//! Files by name: what E2B's `filesystem.Filesystem` service does (reference `e2b.md` 3.3).
//!
//! Every operation is done as the request's account ([`Identity::act`](crate::sys::spawn::Identity::act)): it may what a
//! command of that account may, and what it makes belongs to it. Paths are taken through [`crate::reach`].
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
use crate::reach;

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
    let (account, path) = locate(&app, user.as_deref(), &request.path)?;
    account.identity.act(|| described(path)).map_err(internal)?
}

async fn make_dir(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    Unary(request): Unary<PathRequest>,
) -> Result<Json<EntryResponse>, ConnectError> {
    let (account, path) = locate(&app, user.as_deref(), &request.path)?;
    account.identity.act(|| make_and_describe(path)).map_err(internal)?
}

fn make_and_describe(path: String) -> Result<Json<EntryResponse>, ConnectError> {
    let found = reach::find(path.as_str()).and_then(|found| Ok(rustix::fs::fstat(found)?));
    match found.as_ref().map(reach::kind) {
        Ok(rustix::fs::FileType::Directory) => {
            return Err(ConnectError::new(Code::AlreadyExists, format!("directory already exists: {path}")));
        }
        Ok(_) => {
            let message = format!("path already exists but it is not a directory: {path}");
            return Err(ConnectError::new(Code::InvalidArgument, message));
        }
        Err(_) => make::directories(&path).map_err(|error| refusal(&error, &path))?,
    };
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
    as_account(account, move || {
        rename::rename(&source, &destination)?;
        described(destination)
    })
    .await?
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
    let (account, path) = locate(&app, user.as_deref(), &request.path)?;
    let entries = as_account(account, move || list::list(&path, request.depth.max(1))).await??;
    Ok(Json(ListResponse { entries }))
}

#[derive(Serialize)]
struct Empty {}

async fn remove_entry(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    Unary(request): Unary<PathRequest>,
) -> Result<Json<Empty>, ConnectError> {
    let (account, path) = locate(&app, user.as_deref(), &request.path)?;
    if path == "/" {
        return Err(ConnectError::new(Code::InvalidArgument, "the root directory cannot be removed"));
    }
    as_account(account, move || remove::remove(&path).map_err(|error| refusal(&error, &path))).await??;
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
        io::ErrorKind::PermissionDenied => {
            let message = format!(
                "no permission for '{path}': the call's user may not; where root is meant, name it as the user"
            );
            ConnectError::new(Code::PermissionDenied, message)
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            ConnectError::new(Code::PermissionDenied, format!("'{path}' is on a read-only file system"))
        }
        _ => ConnectError::from_io(error, path),
    }
}

/// Runs `work` as the account, on a thread where it may wait for the disk.
async fn as_account<T: Send + 'static>(
    account: Account,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ConnectError> {
    tokio::task::spawn_blocking(move || account.identity.act(work))
        .await
        .map_err(|error| ConnectError::new(Code::Internal, format!("the operation was cut short: {error}")))?
        .map_err(internal)
}

/// The thread could not become the account.
fn internal(error: io::Error) -> ConnectError {
    ConnectError::new(Code::Internal, format!("the guest cannot act as this user: {error}"))
}
