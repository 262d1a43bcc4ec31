//! One execution: what the kernel says about it, turned into lines for its client.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use tokio::sync::Notify;

use super::outbox::{Leaving, Outbox, Source};
use super::protocol::{Answer, Message};
use super::wire::{self, CellError, Line, Request};
use crate::limits::{MAX_ANSWERED, MAX_OPEN_REQUESTS, MAX_REQUEST_NAME};

/// Why nobody answers.
const NOBODY_ANSWERS: &str = "the client that runs this cell does not answer requests";

/// What becomes of a cell's requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Requests {
    /// Each is answered with an error at once: E2B's protocol has nobody who could.
    #[default]
    Refuse,
    /// They go to the client, and the cell waits.
    Wait,
}

/// A cell from its arrival to its last line.
pub(crate) struct Cell {
    pub(crate) id: String,
    pub(crate) code: String,
    /// For this cell only, on top of the kernel's.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) requests: Requests,
    pub(crate) outbox: Outbox,
    progress: Mutex<Progress>,
    answered: Notify,
}

#[derive(Default)]
struct Progress {
    started: bool,
    failed: bool,
    open: Vec<Request>,
    answers: VecDeque<(String, Answer)>,
    answered: VecDeque<String>,
}

/// What the kernel's task does after a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Go,
    /// Answers this request with this.
    Reply(String, Answer),
    /// The cell is over.
    Done,
}

/// An answer that fits no question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AnswerError {
    #[error("execution {cell} asked nothing called {request}")]
    Unknown { cell: String, request: String },
    #[error("request {request} of execution {cell} has been answered already")]
    Answered { cell: String, request: String },
}

impl Cell {
    pub(crate) fn new(id: String, code: String, env: BTreeMap<String, String>, requests: Requests) -> Self {
        Self {
            id,
            code,
            env,
            requests,
            outbox: Outbox::default(),
            progress: Mutex::default(),
            answered: Notify::new(),
        }
    }

    /// Takes what the kernel said about this cell.
    pub(crate) fn take(&self, message: Message) -> Next {
        match message {
            Message::Started { execution_count, .. } => {
                self.lock().started = true;
                self.outbox.push(&Line::NumberOfExecutions { execution_count });
            }
            // E2B's clients have no updates: each would show as one more result.
            Message::Display { update: true, .. } | Message::Clear { .. } | Message::Ready { .. } => {}
            Message::Display { data, main, .. } => self.outbox.push(&wire::result(data, main)),
            Message::Error { name, value, traceback, .. } => {
                self.fail(CellError { name, value, traceback: traceback.text() });
            }
            Message::Request { request, kind, prompt, password, .. } => {
                return self.ask(Request { name: request, kind, prompt, password });
            }
            // The caller gives us only faults from before the start: what the kernel could not use was the order.
            Message::Fault { message } => {
                let value = format!("the kernel could not take the code: {message}");
                self.fail(CellError::new("KernelFault", value));
                return Next::Done;
            }
            Message::Done { .. } => return Next::Done,
        }
        Next::Go
    }

    /// Whether the kernel has taken the code.
    pub(crate) fn has_started(&self) -> bool {
        self.lock().started
    }

    /// Adds output.
    pub(crate) fn print(&self, source: Source, text: String) {
        self.outbox.push_text(source, text);
    }

    /// Tells why the cell failed; only the first reason is told.
    pub(crate) fn fail(&self, error: CellError) {
        if !std::mem::replace(&mut self.lock().failed, true) {
            self.outbox.push(&Line::Error(error));
        }
    }

    /// Ends the stream.
    pub(crate) fn finish(&self) {
        self.lock().open.clear();
        self.outbox.end();
    }

    fn ask(&self, request: Request) -> Next {
        let refuse = |why: String| Next::Reply(request.name.clone(), Answer::Error(why));
        if self.requests == Requests::Refuse {
            return refuse(NOBODY_ANSWERS.to_owned());
        }
        if request.name.len() > MAX_REQUEST_NAME {
            return refuse(format!("the request's name is longer than {MAX_REQUEST_NAME} bytes"));
        }
        let mut progress = self.lock();
        if progress.open.len() >= MAX_OPEN_REQUESTS {
            return refuse(format!("{MAX_OPEN_REQUESTS} requests of this cell wait already"));
        }
        progress.open.push(request.clone());
        drop(progress);
        self.outbox.push(&Line::Request { id: self.id.clone(), request });
        Next::Go
    }

    /// Hands in the answer to a request.
    pub(crate) fn answer(&self, request: &str, answer: Answer) -> Result<(), AnswerError> {
        let mut progress = self.lock();
        let (cell, request) = (self.id.clone(), request.to_owned());
        let Some(at) = progress.open.iter().position(|open| open.name == request) else {
            return Err(if progress.answered.contains(&request) {
                AnswerError::Answered { cell, request }
            } else {
                AnswerError::Unknown { cell, request }
            });
        };
        progress.open.remove(at);
        if progress.answered.len() >= MAX_ANSWERED {
            progress.answered.pop_front();
        }
        progress.answered.push_back(request.clone());
        progress.answers.push_back((request, answer));
        drop(progress);
        self.answered.notify_one();
        Ok(())
    }

    /// The next answer for the kernel. Cancel safe.
    pub(crate) async fn next_answer(&self) -> (String, Answer) {
        loop {
            let answer = self.lock().answers.pop_front();
            match answer {
                Some(answer) => return answer,
                None => self.answered.notified().await,
            }
        }
    }

    /// The client hung up: it may come back only if the cell waits for an answer.
    pub(crate) fn leave(&self) {
        let progress = self.lock();
        let waits = !progress.open.is_empty() || !progress.answers.is_empty();
        drop(progress);
        self.outbox.leave(if waits { Leaving::MayReturn } else { Leaving::ForGood });
    }

    /// Requests that still wait; a client that comes back may have lost the lines.
    pub(crate) fn open_requests(&self) -> Vec<Line> {
        self.lock().open.iter().map(|r| Line::Request { id: self.id.clone(), request: r.clone() }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cell(requests: Requests) -> Cell {
        Cell::new("x-1".to_owned(), String::new(), BTreeMap::new(), requests)
    }

    fn message(value: serde_json::Value) -> Message {
        serde_json::from_value(value).expect("a message")
    }

    #[tokio::test]
    async fn only_the_first_error_is_told() {
        let cell = cell(Requests::Refuse);
        for name in ["A", "B"] {
            let error =
                json!({"type": "error", "id": "x-1", "name": name, "value": "v", "traceback": ["p", "q"]});
            assert_eq!(cell.take(message(error)), Next::Go);
        }
        assert_eq!(cell.take(message(json!({"type": "done", "id": "x-1", "status": "error"}))), Next::Done);
        cell.finish();
        let text = cell.outbox.pop().await.expect("lines");
        assert_eq!(
            text,
            "{\"type\":\"error\",\"name\":\"A\",\"value\":\"v\",\"traceback\":\"pq\"}\n{\"type\":\"end_of_execution\"}\n"
        );
    }

    #[test]
    fn requests_are_refused_or_answered_once() {
        let ask = || message(json!({"type": "request", "id": "x-1", "request": "r1", "prompt": "? "}));
        assert!(matches!(cell(Requests::Refuse).take(ask()), Next::Reply(r, Answer::Error(_)) if r == "r1"));
        let cell = cell(Requests::Wait);
        assert!(matches!(cell.answer("r1", Answer::Value(json!(1))), Err(AnswerError::Unknown { .. })));
        assert_eq!(cell.take(ask()), Next::Go);
        assert_eq!(cell.open_requests().len(), 1);
        assert_eq!(cell.answer("r1", Answer::Value(json!("a"))), Ok(()));
        assert!(matches!(cell.answer("r1", Answer::Value(json!("b"))), Err(AnswerError::Answered { .. })));
    }

    #[test]
    fn an_order_that_the_kernel_cannot_take_ends_the_cell() {
        let cell = cell(Requests::Refuse);
        assert!(!cell.has_started());
        assert_eq!(cell.take(message(json!({"type": "fault", "message": "too long"}))), Next::Done);
        cell.take(message(json!({"type": "started", "id": "x-1", "execution_count": 1})));
        assert!(cell.has_started());
    }
}
