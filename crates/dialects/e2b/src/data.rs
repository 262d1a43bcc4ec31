//! The data path: a request addressed to a sandbox, passed through to a port inside.
//!
//! Bodies stream both ways, with no ceiling on size or time; a sandbox's end aborts the client's connection and never
//! ends a body cleanly, for a clean end would read as success (reference 3.6). `X-Access-Token` and signatures are
//! checked by the guest, in one place; here a signature only says which sandbox is meant.

mod answer;
mod cut;
mod deaf;
mod forward;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod head;
mod reset;
mod signature;
mod target;
mod tunnel;

pub(crate) use forward::{forward, forward_signed};
pub use reset::Reset;
pub(crate) use target::{Target, target};
