//! How a run ended, and what the caller gets of it.

use std::time::Duration;

use serde::Serialize;

use crate::{ModelError, WorkbenchError, model::Usage, record::OutcomeRecord};

/// What came of a run. All names are relative to the run's directory.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// The model's answer, also in `answer.md`; for an unfinished run, what it could say.
    pub answer: Option<String>,
    /// Turns of the model.
    pub rounds: u32,
    /// Charts saved, in the order in which they were shown.
    pub charts: Vec<String>,
    /// Files fetched from the sandbox.
    pub files: Vec<String>,
    /// Charts and files that were beyond a limit; `run.json` names each with its reason.
    pub skipped: usize,
    /// Tokens, as far as the endpoint told.
    pub usage: Usage,
    /// From the upload to the record.
    pub duration: Duration,
}

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// The model answered.
    Answered,
    /// It answered, and the endpoint's limit of output tokens cut the answer.
    AnswerCut,
    /// The rounds were used up; the answer is a summary of what was achieved.
    RoundsExhausted {
        /// How many there were.
        rounds: u32,
    },
    /// The model, or a filter of its provider, declined.
    Refused,
    /// Something failed on the way.
    Failed(Failure),
}

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The sandbox.
    #[error(transparent)]
    Sandbox(#[from] WorkbenchError),
}

// === impl Outcome ===

impl Outcome {
    /// Whether the user has what they asked for.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Answered | Self::AnswerCut)
    }

    /// What kept the run from being done, in one sentence.
    pub fn error(&self) -> Option<String> {
        match self {
            Self::Answered | Self::AnswerCut => None,
            Self::RoundsExhausted { rounds } => {
                Some(format!("the model did not finish within {rounds} rounds; what it achieved is saved"))
            }
            Self::Refused => Some("the model declined to answer".to_owned()),
            Self::Failed(failure) => Some(with_causes(failure)),
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Answered => None,
            Self::AnswerCut => {
                Some("the answer was cut at the model's output limit: ask for a shorter one".into())
            }
            Self::RoundsExhausted { .. } => {
                Some("allow more with `--rounds N`, or ask for less at once".into())
            }
            Self::Refused => Some("`answer.md` holds its reason, if it gave one: ask in other words".into()),
            Self::Failed(Failure::Model(error)) => Some(error.hint()),
            Self::Failed(Failure::Sandbox(error)) => Some(error.hint()),
        }
    }

    /// What a reader of `answer.md` must know before reading on.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::Answered => None,
            Self::AnswerCut => Some("This answer was cut at the model's output limit.".to_owned()),
            Self::RoundsExhausted { rounds } => {
                Some(format!("Unfinished: the {rounds} rounds were used up. This is what was achieved."))
            }
            Self::Refused => Some("The model declined to answer.".to_owned()),
            Self::Failed(_) => {
                Some("Unfinished: the run ended with an error, which `run.json` holds.".to_owned())
            }
        }
    }

    pub(super) fn record(&self) -> OutcomeRecord {
        let kind = match self {
            Self::Answered => "answered",
            Self::AnswerCut => "answer_cut",
            Self::RoundsExhausted { .. } => "rounds_exhausted",
            Self::Refused => "refused",
            Self::Failed(Failure::Model(_)) => "model_failed",
            Self::Failed(Failure::Sandbox(_)) => "sandbox_failed",
        };
        OutcomeRecord { kind, error: self.error(), hint: self.hint() }
    }
}

impl Serialize for Outcome {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.record().serialize(serializer)
    }
}

/// An error and what caused it, in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        // `transparent` and some libraries repeat themselves.
        if !line.contains(&said) {
            line = format!("{line}: {said}");
        }
        cause = next.source();
    }
    line
}
