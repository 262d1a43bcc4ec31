//! The stream that a client of `Start` or `Connect` sees: `start`, output, signs of life, `end`.

use std::time::Duration;

use axum::response::Response;
use futures_util::stream;
use tokio::time::{Instant, sleep, sleep_until};

use super::outlet::Reader;
use super::wire::{End, Event, EventMessage};
use crate::connect::{Code, ConnectError, stream_response};
use crate::limits::KILL_GRACE;

/// One client's view of one process.
pub(super) struct Listener {
    pub(super) pid: u32,
    pub(super) reader: Reader,
    pub(super) keepalive: Duration,
    pub(super) deadline: Deadline,
}

/// What the call's limit means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deadline {
    /// `Start`: the process ends with it.
    Process(Option<Instant>),
    /// `Connect`: only the stream does.
    Stream(Option<Instant>),
}

/// Where the stream stands.
enum Phase {
    Fresh(Listener),
    Live(Listener),
    Over,
}

impl Listener {
    /// As the call's answer.
    pub(super) fn into_response(self) -> Response {
        stream_response(stream::unfold(Phase::Fresh(self), async |phase| match phase {
            Phase::Fresh(listener) => {
                let start = Event::Start { pid: listener.pid };
                Some((Ok(EventMessage { event: start }), Phase::Live(listener)))
            }
            Phase::Live(mut listener) => Some(match listener.next().await {
                Ok(event @ Event::End(_)) => (Ok(EventMessage { event }), Phase::Over),
                Ok(event) => (Ok(EventMessage { event }), Phase::Live(listener)),
                Err(error) => (Err(error), Phase::Over),
            }),
            Phase::Over => None,
        }))
    }

    async fn next(&mut self) -> Result<Event, ConnectError> {
        tokio::select! {
            // The clock first, or a process that floods its stream would never see its end.
            biased;
            () = self.deadline.reached() => Err(self.deadline.error()),
            output = self.reader.next() => match output {
                Some(output) => Ok(Event::Data(output)),
                None => self.end().map(Event::End),
            },
            () = sleep(self.keepalive) => Ok(Event::Keepalive {}),
        }
    }

    fn end(&self) -> Result<End, ConnectError> {
        if matches!(self.deadline, Deadline::Process(_)) && self.reader.is_expired() {
            return Err(self.deadline.error());
        }
        self.reader.end()
    }
}

impl Deadline {
    async fn reached(self) {
        let at = match self {
            Self::Process(at) => at.and_then(|at| at.checked_add(KILL_GRACE)),
            Self::Stream(at) => at,
        };
        match at {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    fn error(self) -> ConnectError {
        let message = match self {
            Self::Process(_) => {
                "the command ran longer than its timeout; it was killed with everything it had started"
            }
            Self::Stream(_) => "the connection's timeout is over; the process goes on",
        };
        ConnectError::new(Code::DeadlineExceeded, message)
    }
}

/// The stream of a process of which only the end is left.
pub(super) fn ended(pid: u32, end: End) -> Response {
    let events = [Event::Start { pid }, Event::End(end)].map(|event| Ok(EventMessage { event }));
    stream_response(stream::iter(events))
}

/// The stream of a call that came to nothing.
pub(super) fn refused(error: ConnectError) -> Response {
    stream_response(stream::iter([Err::<EventMessage, _>(error)]))
}
