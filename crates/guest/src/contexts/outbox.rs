//! What a cell has said and its client has not read yet: bounded, so that a slow client slows the cell down.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::wire::{Line, timestamp};
use crate::limits::{CELL_ROOM, MERGED_TEXT};

/// How long a text waits for what belongs to it. Anything else that arrives ends the wait.
const GATHER: Duration = Duration::from_millis(2);

/// Lines are handed to the connection together up to this many bytes.
const BATCH: usize = 64 << 10;

/// Which stream a text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Stdout,
    Stderr,
}

/// Lines from the kernel's task to a response body.
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// One waiter each: the body for lines, the kernel's task for the other two.
    lines: Notify,
    room: Notify,
    presence: Notify,
}

struct State {
    items: VecDeque<Item>,
    bytes: usize,
    ended: bool,
    client: Client,
}

enum Item {
    Text { source: Source, text: String, timestamp: String },
    Line(Bytes),
}

/// Where the client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Reading,
    /// Hung up, and may come back.
    Away {
        since: Instant,
    },
    Gone,
}

/// What the client does to the cell by hanging up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    ForGood,
    MayReturn,
}

impl Default for Outbox {
    fn default() -> Self {
        let state = State { items: VecDeque::new(), bytes: 0, ended: false, client: Client::Reading };
        Self { state: Mutex::new(state), lines: Notify::new(), room: Notify::new(), presence: Notify::new() }
    }
}

impl Outbox {
    /// Adds a line. Nothing is refused here: whoever has more waits for [`Outbox::room`] first.
    pub(crate) fn push(&self, line: &Line) {
        let mut state = self.lock();
        if state.ended || state.client == Client::Gone {
            return;
        }
        let line = line.encode();
        state.bytes += line.len();
        state.items.push_back(Item::Line(line));
        drop(state);
        self.lines.notify_one();
    }

    /// Adds output.
    pub(crate) fn push_text(&self, source: Source, text: String) {
        let mut state = self.lock();
        if state.ended || state.client == Client::Gone || text.is_empty() {
            return;
        }
        state.bytes += text.len();
        match state.items.back_mut() {
            Some(Item::Text { source: last, text: waiting, .. })
                if *last == source && waiting.len() + text.len() <= MERGED_TEXT =>
            {
                waiting.push_str(&text);
            }
            _ => state.items.push_back(Item::Text { source, text, timestamp: timestamp() }),
        }
        drop(state);
        self.lines.notify_one();
    }

    /// The last line; whatever comes after it is dropped.
    pub(crate) fn end(&self) {
        self.push(&Line::EndOfExecution);
        self.lock().ended = true;
        self.lines.notify_one();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    pub(crate) fn has_room(&self) -> bool {
        self.lock().bytes < CELL_ROOM
    }

    /// Waits until the client has read enough. Cancel safe.
    pub(crate) async fn room(&self) {
        while !self.has_room() {
            self.room.notified().await;
        }
    }

    /// The next lines, or `None` after the last. Cancel safe.
    pub(crate) async fn pop(&self) -> Option<Bytes> {
        loop {
            self.gather().await;
            if let Some(batch) = self.try_pop() {
                return Some(batch);
            }
            if self.has_ended() {
                return None;
            }
            self.lines.notified().await;
        }
    }

    /// Waits a moment while nothing but one text is there: one `print` of several lines or values arrives in pieces.
    async fn gather(&self) {
        let deadline = Instant::now() + GATHER;
        while self.lock().is_one_text() {
            if tokio::time::timeout_at(deadline, self.lines.notified()).await.is_err() {
                return;
            }
        }
    }

    fn try_pop(&self) -> Option<Bytes> {
        let mut state = self.lock();
        let first = state.take()?;
        if state.items.is_empty() || first.len() >= BATCH {
            self.room.notify_one();
            return Some(first);
        }
        let mut batch = BytesMut::from(first.as_ref());
        while batch.len() < BATCH
            && let Some(line) = state.take()
        {
            batch.extend_from_slice(&line);
        }
        self.room.notify_one();
        Some(batch.freeze())
    }

    /// The client hung up.
    pub(crate) fn leave(&self, leaving: Leaving) {
        let mut state = self.lock();
        state.client = match leaving {
            Leaving::MayReturn => Client::Away { since: Instant::now() },
            Leaving::ForGood => Client::Gone,
        };
        if leaving == Leaving::ForGood {
            state.items.clear();
            state.bytes = 0;
        }
        drop(state);
        self.presence.notify_one();
    }

    /// A client takes over; false when one is reading, or the cell was given up.
    pub(crate) fn attach(&self) -> bool {
        let mut state = self.lock();
        let away = matches!(state.client, Client::Away { .. });
        if away {
            state.client = Client::Reading;
        }
        away
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.lock().client == Client::Gone
    }

    /// Whether nobody will want its lines: read to the end, given up, or ended and not fetched within `limit`.
    pub(crate) fn is_over(&self, limit: Duration) -> bool {
        let read = {
            let state = self.lock();
            state.client == Client::Gone || (state.ended && state.items.is_empty())
        };
        read || (self.has_ended() && self.is_abandoned(limit))
    }

    /// Whether nobody came back within `limit`.
    pub(crate) fn is_abandoned(&self, limit: Duration) -> bool {
        match self.lock().client {
            Client::Reading => false,
            Client::Away { since } => since.elapsed() >= limit,
            Client::Gone => true,
        }
    }

    /// Waits until the client has left for good or has been away for `limit`. Cancel safe.
    pub(crate) async fn abandoned(&self, limit: Duration) {
        loop {
            let client = self.lock().client;
            match client {
                Client::Gone => return,
                Client::Reading => self.presence.notified().await,
                Client::Away { since } => {
                    tokio::select! {
                        () = tokio::time::sleep_until(since + limit) => {
                            if self.is_abandoned(limit) {
                                return;
                            }
                        }
                        () = self.presence.notified() => {}
                    }
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether a single text waits that more could be added to.
    fn is_one_text(&self) -> bool {
        let Some(Item::Text { text, .. }) = self.items.front() else { return false };
        self.items.len() == 1 && text.len() < MERGED_TEXT && !self.ended
    }

    fn take(&mut self) -> Option<Bytes> {
        let (line, held) = match self.items.pop_front()? {
            Item::Line(line) => {
                let held = line.len();
                (line, held)
            }
            Item::Text { source, text, timestamp } => {
                let held = text.len();
                let line = match source {
                    Source::Stdout => Line::Stdout { text, timestamp },
                    Source::Stderr => Line::Stderr { text, timestamp },
                };
                (line.encode(), held)
            }
        };
        self.bytes -= held;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn small_writes_become_one_line_and_order_is_kept() {
        let outbox = Outbox::default();
        for _ in 0..1000 {
            outbox.push_text(Source::Stdout, "x".to_owned());
        }
        outbox.push_text(Source::Stderr, "e".to_owned());
        outbox.push_text(Source::Stdout, "y".to_owned());
        outbox.end();
        outbox.push_text(Source::Stdout, "after the end".to_owned());
        let mut text = String::new();
        while let Some(batch) = outbox.pop().await {
            text += std::str::from_utf8(&batch).expect("UTF-8");
        }
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].contains(&"x".repeat(1000)) && lines[1].contains("stderr"));
        assert_eq!(lines[3], "{\"type\":\"end_of_execution\"}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_outbox_has_room_again_once_it_is_read() {
        let outbox = Outbox::default();
        outbox.push_text(Source::Stdout, "x".repeat(CELL_ROOM));
        assert!(!outbox.has_room());
        assert!(tokio::time::timeout(Duration::from_secs(1), outbox.room()).await.is_err());
        let ((), batch) = tokio::join!(outbox.room(), outbox.pop());
        assert!(batch.expect("a line").len() > CELL_ROOM);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_may_return_is_waited_for() {
        let limit = Duration::from_secs(600);
        let outbox = Outbox::default();
        outbox.leave(Leaving::MayReturn);
        assert!(tokio::time::timeout(limit / 2, outbox.abandoned(limit)).await.is_err());
        assert!(outbox.attach() && !outbox.attach());
        outbox.leave(Leaving::MayReturn);
        outbox.abandoned(limit).await;
        assert!(outbox.is_abandoned(limit) && !outbox.is_gone());
    }
}
