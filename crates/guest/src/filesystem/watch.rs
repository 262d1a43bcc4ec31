//! Watching a directory: as a stream, and by polling.
//!
//! A watch reports what E2B's does: CREATE, WRITE, REMOVE, CHMOD, and RENAME for the name that went away (the name that
//! came is a CREATE). Writes to one file are reported once, when it is closed or has been written to for
//! [`crate::limits::HOLD`]; an upload through `/files` is always one WRITE. When changes come faster than they are taken, the
//! excess is dropped and an event of type `EVENT_TYPE_UNSPECIFIED` with an empty name stands in its place: whoever sees
//! it should list the directory. The SDKs pass over it.
//!
//! Reading order: [`pending`] (what is kept and coalesced), [`tree`] (inotify), [`stream`], [`polled`].

mod pending;
mod polled;
mod stream;
mod tree;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::routing::post;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::entry::{self, EntryInfo, Names};
use super::uploads::Uploads;
use crate::app::App;
use crate::connect::{Code, ConnectError};
use crate::limits::MAX_WATCHERS;
use pending::{Change, Kind};
use tree::{View, Watch};

/// All that is watched in this sandbox, and the uploads that watches take for one write each.
pub(crate) struct Watchers {
    slots: Arc<Semaphore>,
    polled: polled::Registry,
    pub(crate) uploads: Uploads,
}

impl Default for Watchers {
    fn default() -> Self {
        Self {
            slots: Arc::new(Semaphore::new(MAX_WATCHERS)),
            polled: polled::Registry::default(),
            uploads: Uploads::default(),
        }
    }
}

/// The routes of watching.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/filesystem.Filesystem/WatchDir", post(stream::watch_dir))
        .route("/filesystem.Filesystem/CreateWatcher", post(polled::create))
        .route("/filesystem.Filesystem/GetWatcherEvents", post(polled::events))
        .route("/filesystem.Filesystem/RemoveWatcher", post(polled::remove))
}

/// What to watch. `allow_network_mounts` of the protocol is accepted and ignored: a sandbox has no such mounts.
#[derive(Deserialize)]
pub(super) struct WatchRequest {
    #[serde(default)]
    pub(super) path: String,
    #[serde(default)]
    recursive: bool,
    #[serde(default, rename = "includeEntry", alias = "include_entry")]
    include_entry: bool,
}

#[derive(Debug, Serialize)]
struct FilesystemEvent {
    name: String,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryInfo>,
}

/// Starts watching, if there is a slot left.
async fn open(
    app: &App,
    user: Option<&str>,
    request: &WatchRequest,
) -> Result<(Watch, OwnedSemaphorePermit), ConnectError> {
    let (account, path) = super::locate(app, user, &request.path)?;
    let slot = app.watchers.slots.clone().try_acquire_owned().map_err(|_| {
        let message = format!("the sandbox has {MAX_WATCHERS} watches already: stop one first");
        ConnectError::new(Code::ResourceExhausted, message)
    })?;
    let (uploads, recursive) = (app.watchers.uploads.clone(), request.recursive);
    // Reading a large tree takes a while.
    let identity = account.identity.clone();
    let watch =
        super::as_account(account, move || Watch::open(&path, recursive, uploads, identity)).await??;
    Ok((watch, slot))
}

/// As the client sees it. The entry is looked up when the event is sent, so that none is kept in memory; what is gone
/// by then has none.
fn event(seen: &View, change: Change, include_entry: bool) -> FilesystemEvent {
    let Change { name, kind } = change;
    let entry = (include_entry && matches!(kind, Kind::Create | Kind::Write | Kind::Chmod))
        .then(|| {
            let path = format!("{}/{name}", seen.root.trim_end_matches('/'));
            seen.identity.act(|| entry::describe(&path, &mut Names::default()).ok()).ok().flatten()
        })
        .flatten();
    FilesystemEvent { name, kind, entry }
}

/// A poisoned lock means a bug elsewhere; the state behind it is a queue and a map, good at every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
