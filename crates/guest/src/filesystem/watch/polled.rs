//! Watches for clients that cannot hold a stream: events are kept until they are fetched.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tokio::io::unix::AsyncFd;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use super::tree::Watch;
use super::{FilesystemEvent, WatchRequest, event, lock};
use crate::app::App;
use crate::connect::{Code, ConnectError, Json, Unary};
use crate::http::AskedUser;
use crate::limits::WATCHER_IDLE;

/// The polled watchers by id.
#[derive(Default)]
pub(super) struct Registry {
    watchers: Arc<Mutex<HashMap<String, Watcher>>>,
    made: AtomicU64,
}

struct Watcher {
    shared: Arc<Mutex<Shared>>,
    include_entry: bool,
    _task: AbortOnDropHandle<()>,
    _slot: OwnedSemaphorePermit,
}

struct Shared {
    watch: Watch,
    asked: Instant,
}

#[derive(Serialize)]
pub(super) struct Created {
    #[serde(rename = "watcherId")]
    watcher_id: String,
}

#[derive(Deserialize)]
pub(super) struct Named {
    #[serde(default, rename = "watcherId", alias = "watcher_id")]
    watcher_id: String,
}

#[derive(Serialize)]
pub(super) struct Events {
    events: Vec<FilesystemEvent>,
}

#[derive(Serialize)]
pub(super) struct Removed {}

pub(super) async fn create(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    Unary(request): Unary<WatchRequest>,
) -> Result<Json<Created>, ConnectError> {
    let (watch, slot) = super::open(&app, user.as_deref(), &request).await?;
    let ready = watch.readiness()?;
    let registry = &app.watchers.polled;
    let watcher_id = format!("w{}", registry.made.fetch_add(1, Ordering::Relaxed));
    let shared = Arc::new(Mutex::new(Shared { watch, asked: Instant::now() }));
    let watchers = Arc::downgrade(&registry.watchers);
    let task = AbortOnDropHandle::new(tokio::task::spawn(collect(
        ready,
        shared.clone(),
        watchers,
        watcher_id.clone(),
    )));
    let watcher = Watcher { shared, include_entry: request.include_entry, _task: task, _slot: slot };
    lock(&registry.watchers).insert(watcher_id.clone(), watcher);
    Ok(Json(Created { watcher_id }))
}

pub(super) async fn events(
    State(app): State<App>,
    Unary(request): Unary<Named>,
) -> Result<Json<Events>, ConnectError> {
    let (shared, include_entry) = {
        let watchers = lock(&app.watchers.polled.watchers);
        let watcher = watchers.get(&request.watcher_id).ok_or_else(|| unknown(&request.watcher_id))?;
        (watcher.shared.clone(), watcher.include_entry)
    };
    let mut shared = lock(&shared);
    shared.asked = Instant::now();
    // The client expects to see what it did just now, and that may not have been collected yet.
    shared.watch.pump();
    shared.watch.settle(None);
    let view = shared.watch.view.clone();
    let changes: Vec<_> = std::iter::from_fn(|| shared.watch.pending.pop()).collect();
    drop(shared);
    let events = changes.into_iter().map(|change| event(&view, change, include_entry)).collect();
    Ok(Json(Events { events }))
}

pub(super) async fn remove(
    State(app): State<App>,
    Unary(request): Unary<Named>,
) -> Result<Json<Removed>, ConnectError> {
    lock(&app.watchers.polled.watchers)
        .remove(&request.watcher_id)
        .map(|_| Json(Removed {}))
        .ok_or_else(|| unknown(&request.watcher_id))
}

fn unknown(id: &str) -> ConnectError {
    let message = format!(
        "watcher with id {id} not found: it was removed, or nobody asked for it in {} minutes",
        WATCHER_IDLE.as_secs() / 60
    );
    ConnectError::new(Code::NotFound, message)
}

/// Moves events out of the kernel, so that new directories are watched at once; ends the watcher when it is idle.
async fn collect(
    ready: AsyncFd<OwnedFd>,
    shared: Arc<Mutex<Shared>>,
    watchers: Weak<Mutex<HashMap<String, Watcher>>>,
    id: String,
) {
    loop {
        let idle_at = lock(&shared).asked + WATCHER_IDLE;
        tokio::select! {
            readable = ready.readable() => {
                let Ok(mut readable) = readable else { break };
                if lock(&shared).watch.pump() {
                    readable.clear_ready();
                }
            }
            () = sleep_until(idle_at) => {
                if lock(&shared).asked + WATCHER_IDLE <= Instant::now() {
                    break;
                }
            }
        }
    }
    if let Some(watchers) = watchers.upgrade() {
        // Aborts this task, which has nothing left to do.
        drop(lock(&watchers).remove(&id));
    }
}
