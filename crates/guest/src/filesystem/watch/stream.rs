//! `WatchDir`: events as they happen, for as long as the client listens.

use std::os::fd::OwnedFd;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use futures_util::{Stream, stream};
use http::HeaderMap;
use serde::Serialize;
use tokio::io::unix::AsyncFd;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use super::tree::Watch;
use super::{FilesystemEvent, WatchRequest, event};
use crate::app::App;
use crate::connect::{Code, ConnectError, stream_request, stream_response};
use crate::http::AskedUser;
use crate::limits::WATCH_SIGN_OF_LIFE;

/// A wait without an end: longer than any sandbox lives, short enough for the timer.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Message {
    Start {},
    Filesystem(Box<FilesystemEvent>),
    Keepalive {},
}

pub(super) async fn watch_dir(
    State(app): State<App>,
    AskedUser(user): AskedUser,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match begin(&app, user.as_deref(), &headers, body).await {
        Ok(live) => stream_response(live.messages()),
        Err(error) => stream_response(stream::iter([Err::<Message, _>(error)])),
    }
}

async fn begin(app: &App, user: Option<&str>, headers: &HeaderMap, body: Body) -> Result<Live, ConnectError> {
    // The client's time starts with its call.
    let ends = Instant::now() + number(headers, "connect-timeout-ms").map_or(FOREVER, Duration::from_millis);
    let request: WatchRequest = stream_request(body).await?;
    let (watch, slot) = super::open(app, user, &request).await?;
    let ready = watch.readiness()?;
    let period =
        Duration::from_secs(number(headers, "keepalive-ping-interval").unwrap_or(WATCH_SIGN_OF_LIFE));
    let mut keepalive = interval_at(Instant::now() + period, period);
    keepalive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Ok(Live {
        ready,
        watch,
        include_entry: request.include_entry,
        started: false,
        keepalive,
        ends,
        _slot: slot,
    })
}

/// A positive number from a header, at most what [`FOREVER`] is; anything else counts as absent.
fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    let number = headers.get(name)?.to_str().ok()?.parse().ok()?;
    (1..FOREVER.as_secs()).contains(&number).then_some(number)
}

/// A watch that somebody listens to. It ends when the response's body is dropped: no task of its own.
struct Live {
    ready: AsyncFd<OwnedFd>,
    watch: Watch,
    include_entry: bool,
    started: bool,
    keepalive: Interval,
    ends: Instant,
    _slot: OwnedSemaphorePermit,
}

impl Live {
    fn messages(self) -> impl Stream<Item = Result<Message, ConnectError>> + Send {
        stream::unfold(self, |mut live| async move { Some((live.next().await, live)) })
    }

    async fn next(&mut self) -> Result<Message, ConnectError> {
        if !std::mem::replace(&mut self.started, true) {
            return Ok(Message::Start {});
        }
        loop {
            if let Some(change) = self.watch.pending.pop() {
                let event = event(&self.watch.view, change, self.include_entry);
                return Ok(Message::Filesystem(Box::new(event)));
            }
            let due = self.watch.pending.due().unwrap_or_else(|| Instant::now() + FOREVER);
            tokio::select! {
                readable = self.ready.readable() => {
                    let mut readable = readable.map_err(|error| {
                        ConnectError::new(Code::Internal, format!("cannot wait for events: {error}"))
                    })?;
                    if self.watch.pump() {
                        readable.clear_ready();
                    }
                }
                () = sleep_until(due) => self.watch.settle(Some(Instant::now())),
                _ = self.keepalive.tick() => return Ok(Message::Keepalive {}),
                () = sleep_until(self.ends) => {
                    return Err(ConnectError::new(Code::DeadlineExceeded, "the time for this watch is over"));
                }
            }
        }
    }
}
