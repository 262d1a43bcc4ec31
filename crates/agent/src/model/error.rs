//! Why a model gave no turn, in words for the person who asked.

use std::time::Duration;

/// A turn that did not come about. `said` is the endpoint's own message, shortened and without the key.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// No connection, or it broke before an answer.
    #[error("cannot reach the model at `{endpoint}`")]
    Unreachable {
        /// Without secrets.
        endpoint: String,
        /// The cause.
        #[source]
        source: reqwest::Error,
    },
    /// The key is wrong, expired or not allowed.
    #[error("the model's endpoint refused the key ({status}): {said}")]
    KeyRefused {
        /// 401 or 403.
        status: u16,
        /// The endpoint's words.
        said: String,
    },
    /// No such model, or no such path.
    #[error("`{endpoint}` knows no model `{model}` (404): {said}")]
    UnknownModel {
        /// Without secrets.
        endpoint: String,
        /// The model asked for.
        model: String,
        /// The endpoint's words.
        said: String,
    },
    /// The conversation is longer than the model reads.
    #[error("the conversation is too long for the model: {said}")]
    ContextTooLong {
        /// The endpoint's words.
        said: String,
    },
    /// The endpoint takes no `tools`; the agent then goes on with fenced code.
    #[error("the model's endpoint takes no tools: {said}")]
    ToolsRejected {
        /// The endpoint's words.
        said: String,
    },
    /// Too many requests, still after waiting.
    #[error("the model's endpoint refused for too many requests, {attempts} times: {said}")]
    RateLimited {
        /// How often it was asked.
        attempts: u32,
        /// The endpoint's words.
        said: String,
    },
    /// The account has nothing left; waiting would not help.
    #[error("the account for the model has no quota left: {said}")]
    QuotaUsedUp {
        /// The endpoint's words.
        said: String,
    },
    /// The endpoint's own trouble, still after waiting.
    #[error("the model's endpoint failed {attempts} times ({status}): {said}")]
    EndpointFailed {
        /// The last status.
        status: u16,
        /// How often it was asked.
        attempts: u32,
        /// The endpoint's words.
        said: String,
    },
    /// Streams ended before the turn did.
    #[error("the model's answer broke off before its end, {attempts} times")]
    CutOff {
        /// How often it was asked.
        attempts: u32,
    },
    /// A turn with nothing in it.
    #[error("the model's answer was empty (asked {attempts} times)")]
    Empty {
        /// How often it was asked.
        attempts: u32,
    },
    /// Nothing came for too long.
    #[error("the model sent nothing for {} s, {attempts} times", limit.as_secs())]
    Silent {
        /// The idle limit.
        limit: Duration,
        /// How often it was asked.
        attempts: u32,
    },
    /// The turn as a whole took too long.
    #[error("the model did not finish its turn within {} s", limit.as_secs())]
    TooSlow {
        /// The limit of a turn.
        limit: Duration,
    },
    /// Any other refusal of the request.
    #[error("the model's endpoint refused the request ({status}): {said}")]
    Rejected {
        /// The status.
        status: u16,
        /// The endpoint's words.
        said: String,
    },
    /// An answer that is not in the protocol.
    #[error("`{endpoint}` answered with what is no answer of a model: {what}")]
    NotUnderstood {
        /// Without secrets.
        endpoint: String,
        /// What was found.
        what: String,
    },
}

impl ModelError {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreachable { .. } => {
                "look whether it runs and the base URL is right (`--base-url`, `OPENAI_BASE_URL`, \
                 `ANTHROPIC_BASE_URL`)"
            }
            Self::KeyRefused { .. } => {
                "look at `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`, and whether it belongs to this endpoint"
            }
            Self::UnknownModel { .. } => {
                "name one with `--model`, and see whether the base URL of an OpenAI-compatible endpoint ends in `/v1`"
            }
            Self::ContextTooLong { .. } => {
                "ask for less at once, print less in the code, or choose a model that reads more (`--model`)"
            }
            Self::ToolsRejected { .. } => "choose a model that can call tools (`--model`)",
            Self::RateLimited { .. } => "wait a minute and ask again, or raise the account's limit",
            Self::QuotaUsedUp { .. } => "look at the account's billing, or use another key",
            Self::EndpointFailed { .. } | Self::CutOff { .. } => "ask again later; it is the endpoint's trouble",
            Self::Empty { .. } => "ask in other words, or another model (`--model`)",
            Self::Silent { .. } => "raise `HOOD_MODEL_IDLE_SECONDS` if the model needs longer to think",
            Self::TooSlow { .. } => "raise `HOOD_MODEL_TURN_SECONDS`, or choose a faster model (`--model`)",
            Self::Rejected { .. } => "the endpoint's own words say what it wants; `--model` chooses another model",
            Self::NotUnderstood { .. } => {
                "look whether the base URL is that of an API, and `--provider` names its protocol"
            }
        }
        .to_owned()
    }

    /// The same error, saying how often the endpoint was asked.
    pub(crate) fn after(mut self, asked: u32) -> Self {
        match &mut self {
            Self::RateLimited { attempts, .. }
            | Self::EndpointFailed { attempts, .. }
            | Self::CutOff { attempts }
            | Self::Empty { attempts }
            | Self::Silent { attempts, .. } => *attempts = asked,
            _ => {}
        }
        self
    }
}
