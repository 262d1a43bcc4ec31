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

pub(crate) use execute::{execute_routes, routes};
pub(crate) use table::Contexts;
#[cfg(test)]
pub(crate) use table::Settings;
