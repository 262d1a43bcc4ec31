//! Processes of a sandbox: start, output, input, signals, terminals.

mod end;
mod wire;

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use reqwest::{Method, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{next, not_understood};
use crate::error::{ClientError, Code};
use crate::frames::{Envelope, Envelopes, envelope};
use crate::limits;
use crate::sandbox::{ENVD_PORT, Sandbox};
use wire::{EndOfStream, Message, StartRequest, WireEvent};

pub use end::End;

const SERVICE: &str = "process.Process";
const DOING: &str = "run the command";

/// What to start.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// The program; looked up in the sandbox's `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Added to the sandbox's environment.
    pub envs: BTreeMap<String, String>,
    /// Where it starts; otherwise the template's working directory.
    pub cwd: Option<String>,
    /// Who runs it; otherwise the template's user.
    pub user: Option<String>,
    /// What it reads and writes.
    pub stdio: Stdio,
    /// When the server shall kill it with everything it has started.
    pub limit: Option<Duration>,
}

/// What a process reads and writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stdio {
    /// It reads nothing; output and error output are kept apart.
    #[default]
    Output,
    /// It reads what [`Input`] sends.
    Piped,
    /// Everything is one terminal.
    Terminal(Size),
}

/// Of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Width.
    pub cols: u16,
    /// Height.
    pub rows: u16,
}

/// Something that a process did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A piece of standard output.
    Stdout(Bytes),
    /// A piece of standard error.
    Stderr(Bytes),
    /// A piece of what its terminal shows.
    Terminal(Bytes),
    /// It has ended; the last event.
    End(End),
}

/// The two signals that the protocol knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM to the process's own group.
    Terminate,
    /// SIGKILL to everything it has started.
    Kill,
}

/// A running process. Dropping this stops listening; the process goes on.
#[derive(Debug)]
pub struct Process {
    input: Input,
    response: Response,
    envelopes: Envelopes,
}

/// The way to a process's input. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Input {
    sandbox: Sandbox,
    pid: u32,
    is_terminal: bool,
}

#[derive(Deserialize)]
struct Nothing {}

// === impl Sandbox ===

impl Sandbox {
    /// Starts a process. It runs when the answer is there.
    pub async fn start(&self, command: &Command) -> Result<Process, ClientError> {
        let ask =
            serde_json::to_vec(&StartRequest::of(command)).expect("strings, numbers and maps of strings");
        let mut request = self
            .request(ENVD_PORT, Method::POST, &[SERVICE, "Start"])
            .header("content-type", "application/connect+json")
            .header("connect-protocol-version", "1")
            .header("keepalive-ping-interval", limits::KEEPALIVE.as_secs())
            .body(envelope(&ask));
        if let Some(limit) = command.limit {
            request = request.header("connect-timeout-ms", limit.as_millis().max(1).to_string());
        }
        if let Some(user) = &command.user {
            request = request.basic_auth(user, Some(""));
        }
        let response = self.client.send(DOING, request).await?;
        let is_terminal = matches!(command.stdio, Stdio::Terminal(_));
        let input = Input { sandbox: self.clone(), pid: 0, is_terminal };
        let mut process = Process { input, response, envelopes: Envelopes::default() };
        match process.message().await? {
            WireEvent::Start { pid } => process.input.pid = pid,
            _ => return Err(not_understood(DOING, "it does not begin with a process id")),
        }
        Ok(process)
    }
}

// === impl Process ===

impl Process {
    /// Its number inside the sandbox.
    pub fn pid(&self) -> u32 {
        self.input.pid
    }

    /// The way to its input.
    pub fn input(&self) -> Input {
        self.input.clone()
    }

    /// The next thing that it does. Not to be called after [`Event::End`].
    pub async fn next(&mut self) -> Result<Event, ClientError> {
        loop {
            match self.message().await? {
                WireEvent::Data { stdout: Some(bytes), .. } => return Ok(Event::Stdout(bytes)),
                WireEvent::Data { stderr: Some(bytes), .. } => return Ok(Event::Stderr(bytes)),
                WireEvent::Data { pty: Some(bytes), .. } => return Ok(Event::Terminal(bytes)),
                WireEvent::End(end) => return Ok(Event::End(end)),
                WireEvent::Data { .. } | WireEvent::Start { .. } | WireEvent::Keepalive {} => {}
            }
        }
    }

    async fn message(&mut self) -> Result<WireEvent, ClientError> {
        loop {
            match self.envelopes.next().map_err(|error| not_understood(DOING, error))? {
                Some(Envelope::Message(payload)) => {
                    let message: Message =
                        serde_json::from_slice(&payload).map_err(|error| not_understood(DOING, error))?;
                    return Ok(message.event);
                }
                Some(Envelope::End(payload)) => return Err(end_of_stream(&payload)),
                None => self.receive().await?,
            }
        }
    }

    async fn receive(&mut self) -> Result<(), ClientError> {
        let error = match next(DOING, &mut self.response).await {
            Ok(Some(bytes)) => {
                self.envelopes.push(&bytes);
                return Ok(());
            }
            Ok(None) => ClientError::Broken { doing: DOING, source: None },
            Err(error) => error,
        };
        Err(self.input.sandbox.explain(error).await)
    }
}

/// A stream that ends before the process's end says why, or is broken.
fn end_of_stream(payload: &[u8]) -> ClientError {
    match serde_json::from_slice::<EndOfStream>(payload) {
        Ok(EndOfStream { error: Some(error) }) => ClientError::Failed {
            doing: DOING,
            code: serde_json::from_value(Value::String(error.code)).unwrap_or(Code::Other),
            message: error.message,
        },
        Ok(EndOfStream { error: None }) => ClientError::Broken { doing: DOING, source: None },
        Err(error) => not_understood(DOING, error),
    }
}

// === impl Input ===

impl Input {
    /// Writes all of it, in order, waiting for the process to read.
    pub async fn send(&self, bytes: &[u8]) -> Result<(), ClientError> {
        let to = if self.is_terminal { "pty" } else { "stdin" };
        for piece in bytes.chunks(limits::INPUT) {
            self.call("SendInput", "input", json!({ to: STANDARD.encode(piece) })).await?;
        }
        Ok(())
    }

    /// The end of its input.
    pub async fn close(&self) -> Result<(), ClientError> {
        self.call("CloseStdin", "process", self.selector()).await
    }

    /// Another size for its terminal.
    pub async fn resize(&self, size: Size) -> Result<(), ClientError> {
        self.call("Update", "pty", wire::size(size)).await
    }

    /// Sends a signal.
    pub async fn signal(&self, signal: Signal) -> Result<(), ClientError> {
        let name = match signal {
            Signal::Terminate => "SIGNAL_SIGTERM",
            Signal::Kill => "SIGNAL_SIGKILL",
        };
        self.call("SendSignal", "signal", json!(name)).await
    }

    async fn call(&self, method: &str, field: &str, value: Value) -> Result<(), ClientError> {
        let ask = json!({ "process": self.selector(), field: value });
        let doing = "reach the running command";
        self.sandbox.call::<Nothing>(doing, SERVICE, method, &ask).await.map(drop)
    }

    fn selector(&self) -> Value {
        json!({ "pid": self.pid })
    }
}
