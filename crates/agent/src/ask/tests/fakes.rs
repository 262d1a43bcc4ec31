//! A model that replies from a list, and a sandbox that is a map of files.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    Cell, CellEvents, Entry, Model, ModelError, Workbench, WorkbenchError,
    model::{Deltas, Message, Request, ToolCall, Tools, Turn, Usage},
};

/// The key that [`FakeModel::without_key`] hides.
pub(super) const KEY: &str = "sk-fake-0123456789";

/// What the model does next.
pub(super) enum Reply {
    Turn(Turn),
    Fail(ModelError),
}

pub(super) fn answer(text: &str) -> Reply {
    Reply::Turn(Turn { text: text.to_owned(), usage: USAGE, ..Turn::default() })
}

pub(super) fn call(codes: &[&str]) -> Reply {
    let calls = codes.iter().enumerate().map(|(n, code)| {
        let arguments = serde_json::json!({"code": code, "description": "test"}).to_string();
        ToolCall::parse(format!("id-{}", n + 1), "execute_python".into(), &arguments)
    });
    Reply::Turn(Turn { calls: calls.collect(), usage: USAGE, ..Turn::default() })
}

pub(super) fn rejects_tools() -> Reply {
    Reply::Fail(ModelError::ToolsRejected { said: "no tools".into() })
}

pub(super) fn ran(stdout: &str) -> Cell {
    Cell { stdout: stdout.to_owned(), ..Cell::default() }
}

const USAGE: Usage = Usage { input_tokens: 10, output_tokens: 5 };

/// What the model was asked.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) system: String,
    pub(super) messages: Vec<Message>,
    pub(super) tools: Tools,
}

pub(super) struct FakeModel {
    replies: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Seen>>,
}

impl FakeModel {
    pub(super) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()), seen: Mutex::default() }
    }

    pub(super) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

#[async_trait]
impl Model for FakeModel {
    async fn turn(&self, request: Request<'_>, _: Deltas<'_>) -> Result<Turn, ModelError> {
        self.seen.lock().unwrap().push(Seen {
            system: request.system.to_owned(),
            messages: request.messages.to_vec(),
            tools: request.tools,
        });
        match self.replies.lock().unwrap().pop_front().expect("asked more often than the test says") {
            Reply::Turn(turn) => Ok(turn),
            Reply::Fail(error) => Err(error),
        }
    }

    fn name(&self) -> &'static str {
        "fake"
    }

    fn endpoint(&self) -> &'static str {
        "http://fake"
    }

    fn without_key(&self, text: &str) -> String {
        text.replace(KEY, "[key]")
    }
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, (Bytes, i64)>,
    cells: VecDeque<Result<Cell, WorkbenchError>>,
    codes: Vec<String>,
    made: Vec<(String, Bytes)>,
    closed: u32,
}

pub(super) struct FakeBench(Mutex<State>);

impl FakeBench {
    pub(super) fn new(cells: impl IntoIterator<Item = Result<Cell, WorkbenchError>>) -> Self {
        Self(Mutex::new(State { cells: cells.into_iter().collect(), ..State::default() }))
    }

    /// The files that the first cell of the model makes.
    pub(super) fn making(self, files: &[(&str, &str)]) -> Self {
        let made = files.iter().map(|(path, text)| ((*path).to_owned(), Bytes::from((*text).to_owned())));
        self.0.lock().unwrap().made = made.collect();
        self
    }

    pub(super) fn codes(&self) -> Vec<String> {
        self.0.lock().unwrap().codes.clone()
    }

    pub(super) fn closed(&self) -> u32 {
        self.0.lock().unwrap().closed
    }
}

#[async_trait]
impl Workbench for FakeBench {
    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), WorkbenchError> {
        self.0.lock().unwrap().files.insert(path.to_owned(), (bytes, 1));
        Ok(())
    }

    async fn run(&self, code: &str, _: CellEvents<'_>) -> Result<Cell, WorkbenchError> {
        let mut state = self.0.lock().unwrap();
        state.codes.push(code.to_owned());
        // The first cell is the agent's own, which makes the folder for results.
        if state.codes.len() == 1 {
            return Ok(Cell::default());
        }
        for (path, bytes) in std::mem::take(&mut state.made) {
            state.files.insert(path, (bytes, 2));
        }
        state.cells.pop_front().expect("ran more cells than the test says")
    }

    async fn list(&self, _: &str) -> Result<Vec<Entry>, WorkbenchError> {
        let state = self.0.lock().unwrap();
        let entry = |(path, (bytes, modified)): (&String, &(Bytes, i64))| Entry {
            path: path.clone(),
            size: bytes.len() as u64,
            modified: *modified,
        };
        Ok(state.files.iter().map(entry).collect())
    }

    async fn get(&self, path: &str) -> Result<Bytes, WorkbenchError> {
        let state = self.0.lock().unwrap();
        let missing = || WorkbenchError::File { path: path.to_owned(), why: "not there".into() };
        state.files.get(path).map(|(bytes, _)| bytes.clone()).ok_or_else(missing)
    }

    async fn close(&self) -> Result<(), WorkbenchError> {
        self.0.lock().unwrap().closed += 1;
        Ok(())
    }
}
