//! What happens during a run, for whoever displays it.

use std::time::Duration;

use serde::Serialize;

/// Receives events in their order; called between awaits, so it should be quick.
pub type Events<'a> = &'a mut (dyn FnMut(Event) + Send);

/// Something happened. Texts come from a model or a sandbox: escape them before they meet a terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A round begins.
    Round {
        /// Counted from 1.
        n: u32,
        /// How many there may be.
        of: u32,
    },
    /// A piece of the model's reasoning, where its endpoint shows it.
    Thinking {
        /// The piece.
        delta: String,
    },
    /// A piece of what the model says, while it says it. Whether it is the answer is known only at the end of
    /// the turn: then [`Event::Answer`] brings the whole of it.
    Said {
        /// The piece.
        delta: String,
    },
    /// The turn failed and is tried again; what it said so far is void.
    Retry {
        /// In plain words.
        why: String,
        /// The pause before the next attempt.
        #[serde(rename = "after_ms", serialize_with = "millis")]
        after: Duration,
    },
    /// Something worth knowing that is no failure.
    Note {
        /// One sentence.
        text: String,
    },
    /// Code starts to run.
    ToolStart {
        /// The model's word for what it does.
        description: String,
        /// The code.
        code: String,
    },
    /// The code printed something.
    Stdout {
        /// A piece.
        text: String,
    },
    /// The code printed something to standard error.
    Stderr {
        /// A piece.
        text: String,
    },
    /// A chart was shown and saved.
    Chart {
        /// Its name beneath the run's directory.
        name: String,
    },
    /// The code ended.
    CellDone {
        /// How long it ran.
        #[serde(rename = "duration_ms", serialize_with = "millis")]
        duration: Duration,
        /// The exception that ended it, in one line; `None` when it ran through.
        error: Option<String>,
    },
    /// The model's answer, whole.
    Answer {
        /// Markdown.
        text: String,
    },
    /// A file was written beneath the run's directory.
    Saved {
        /// Its name there.
        path: String,
    },
}

fn millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_millis() as u64)
}
