//! Contexts and cells: what E2B's code interpreter serves (reference `e2b.md` 4).
//!
//! A kernel is a program of the template that speaks [`protocol`] on its descriptor 3 and prints on two pipes.
//! [`kernel`] turns the three into one stream of events, in the order in which the code caused them; [`keeper`] is the task
//! that owns a kernel and gives it one [`cell`] after another from its [`context`]'s queue; a cell's lines wait in its [`outbox`] for the
//! client, who slows the code down by reading slowly and interrupts it by hanging up.
//!
//! Reading order: [`execute`], [`table`], [`context`], [`keeper`], [`cell`], [`kernel`].

mod cell;
mod context;
mod death;
mod execute;
mod frames;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod keeper;
mod kernel;
mod manifest;
mod outbox;
mod protocol;
mod start;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod wire;

use std::time::Duration;

pub(crate) use execute::{execute_routes, routes};
pub(crate) use table::Contexts;
#[cfg(test)]
pub(crate) use table::Settings;

/// Contexts of one sandbox, each a process with its libraries loaded. One more is refused.
const MAX_CONTEXTS: usize = 64;

/// Cells that wait in one context. One more is refused.
const MAX_QUEUED_CELLS: usize = 64;

/// Open cells of one sandbox whose requests are answered by their client. One more is refused.
const MAX_WAITING_CELLS: usize = 64;

/// Largest request in bytes: code, or the answer to a cell. A larger one is refused.
const MAX_BODY: usize = 8 << 20;

/// Environment variables of one cell. More are refused.
const MAX_ENV_VARS: usize = 4096;

/// How long a kernel may take until it is ready; then it is ended, and the call fails with what it printed.
const START_LIMIT: Duration = Duration::from_secs(60);

/// SIGINTs that an abandoned cell gets, and how long each may take to end it; then the kernel is ended.
const INTERRUPTS: u32 = 2;
const INTERRUPT_GRACE: Duration = Duration::from_secs(4);

/// Silence after which the client gets a keepalive line: proxies cut what is silent, and a write that fails is the
/// surest sign of a client that is gone.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// How long a cell waits for an answer, or for its client to come back; then it is interrupted.
const AWAY_LIMIT: Duration = Duration::from_secs(600);
