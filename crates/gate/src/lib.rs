//! The only way out of a sandbox.
//!
//! A driver hands over the listeners that it opened in a sandbox's network; every connection that a program inside
//! opens arrives there. The gate learns where it wants to go, asks `hood_policy::decide`, and carries it or refuses
//! it. Everything is recorded. It knows no engine, no dialect and no Linux namespaces.
#![forbid(unsafe_code)]

pub mod audit;
mod ca;
pub mod limits;
mod secrets;
mod tls;

pub use ca::{Authority, AuthorityError};
pub use secrets::{NoSecrets, RevealError, SecretValue, Secrets};
pub use tls::{TlsConfig, TlsError};
