//! The agent: a question and files in, an answer with charts and files out.
//!
//! A model is given one tool, `execute_python`; what it writes is run in one stateful sandbox, and what
//! came of it (output, results, the traceback of an error) goes back to the model until it answers.
//!
//! May not know: how a sandbox is built or reached. It owns a port, [`Workbench`], which the `hood` binary
//! implements. It reads no environment and prints nothing: the caller hands in [`Config`] and receives
//! [`Event`]s. The model's key lives in [`ApiKey`] and goes into request headers only.
//!
//! Start at [`ask()`]; the two providers are in [`model`].
#![forbid(unsafe_code)]

mod ask; // the loop, and the order in which things are kept
mod event;
mod names; // what a sandbox calls a file is not what the host calls it
mod out; // the directory that a run fills
mod prompt;
mod record; // run.json
mod text;
mod tool; // `execute_python`: its definition, and what the model reads of a cell

pub mod limits; // every ceiling, and what happens when it is met
pub mod model;
pub mod workbench;

pub use ask::{Failure, Outcome, Question, Report, Upload, ask};
pub use event::{Event, Events};
pub use limits::{MAX_ROUNDS, ROUNDS, UPLOAD_BYTES};
pub use model::{ApiKey, Asked, Config, ConfigError, Model, ModelError, Patience, Provider};
pub use out::{Out, OutError};
pub use workbench::{Cell, CellError, CellEvent, CellEvents, Entry, Shown, Workbench, WorkbenchError};
