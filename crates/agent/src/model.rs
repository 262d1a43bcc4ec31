//! The port to a language model, and its two implementations: any OpenAI-compatible chat-completions
//! endpoint ([`openai`]) and Anthropic's Messages endpoint ([`anthropic`]).
//!
//! What both share lives beside them: choosing one from what the user gave ([`config`]), one request with its
//! retries and time limits ([`endpoint`]), the event stream ([`sse`]), an endpoint's refusals in our words
//! ([`complaint`]).

mod anthropic;
mod complaint;
mod config;
mod endpoint;
mod error;
mod fenced;
mod key;
mod openai;
mod sse;

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Value, json};

pub use config::{Asked, Config, ConfigError, Patience, Provider};
pub use error::ModelError;
pub(crate) use fenced::code_blocks;
pub use key::ApiKey;

/// Receives a turn's pieces while they arrive.
pub type Deltas<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// A language model behind an endpoint.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks for the next turn of a conversation. Retries by itself what may pass by itself; dropping the future
    /// drops the connection.
    async fn turn(&self, request: Request<'_>, on: Deltas<'_>) -> Result<Turn, ModelError>;

    /// The model's name, for the record.
    fn name(&self) -> &str;

    /// Where it is asked, without any secret, for the record.
    fn endpoint(&self) -> &str;

    /// `text` without the key, should an endpoint have echoed it.
    fn without_key(&self, text: &str) -> String;
}

/// A conversation so far.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// Everything since.
    pub messages: &'a [Message],
    /// Whether the model may call the tool.
    pub tools: Tools,
}

/// What the model may do with `execute_python`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// Call it.
    Offered,
    /// Know it but not call it. Both protocols want a tool that the conversation speaks of to be declared.
    Withheld,
    /// Not even know it: for endpoints that refuse the parameter, and for conversations in fenced code.
    Absent,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the user, or the agent in their place, says.
    User {
        /// Text.
        content: String,
    },
    /// What the model said.
    Assistant {
        /// Text; may be empty beside calls.
        content: String,
        /// Its calls of the tool.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// What came of the calls of the message before, all of them, in their order.
    Results {
        /// One for each call.
        results: Vec<ToolResult>,
    },
}

/// A call of the tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    /// The endpoint's id for it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments.
    pub input: Value,
    /// Why the arguments are not what the model meant: set when they were no JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolResult {
    /// The call's id.
    pub id: String,
    /// What the model reads.
    pub content: String,
    /// Whether the code failed.
    pub failed: bool,
}

/// One finished turn of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    /// What it said.
    pub text: String,
    /// What it wants run.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: Stop,
    /// Tokens, as far as the endpoint told.
    pub usage: Usage,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had said what it wanted to say, or waits for its calls.
    #[default]
    Finished,
    /// The limit of output tokens cut it.
    Length,
    /// The model, or a filter of its provider, declined.
    Refused,
}

/// Tokens of one turn or of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Read by the model, cached ones included.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
}

/// A piece of a turn that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Of what the model says.
    Text(String),
    /// Of its reasoning.
    Thinking(String),
    /// The attempt failed; what it brought is void, the next one begins after a pause.
    Retry {
        /// In plain words.
        why: String,
        /// The pause.
        after: Duration,
    },
}

// === impl ToolCall ===

impl ToolCall {
    /// A call whose arguments came as text, which may be anything.
    pub(crate) fn parse(id: String, name: String, arguments: &str) -> Self {
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        match serde_json::from_str::<Value>(arguments) {
            Ok(input @ Value::Object(_)) => Self { id, name, input, malformed: None },
            Ok(other) => Self::malformed(id, name, arguments, format!("expected an object, got `{other}`")),
            Err(error) => Self::malformed(id, name, arguments, error.to_string()),
        }
    }

    /// The history must hold an object here: Anthropic's endpoint takes nothing else, and servers that put the
    /// conversation through a chat template parse the text again.
    fn malformed(id: String, name: String, arguments: &str, why: String) -> Self {
        Self { id, name, input: json!({ "unparsed": arguments }), malformed: Some(why) }
    }
}

// === impl Usage ===

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }
}
