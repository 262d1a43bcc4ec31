//! E2B's protocol on one `axum::Router`: the control plane, and the data path that passes requests into sandboxes.
//!
//! May not know: Linux, drivers, how the guest answers, other dialects. It reads a request, calls
//! [`hood_engine::Engine`] and writes the answer; the guest checks `X-Access-Token` and signatures itself, in one
//! place, so the data path only finds the sandbox. Start at [`router`]; errors become answers in `reply` and
//! nowhere else, except the data path's fixed texts in `data::answer`.
#![forbid(unsafe_code)]

mod app;
mod control;
mod data;
mod extract;
#[cfg(fuzzing)]
pub mod fuzz;
mod idempotency;
pub mod limits;
mod reply;
mod router;
mod secrets;
mod unread;
mod wire;

pub use app::{App, Keys, StoredKeys};
pub use data::Reset;
pub use router::{FromSandbox, router, router_beside};
pub use secrets::{Secret, Secrets, SecretsError};
pub use wire::ENVD_VERSION;
