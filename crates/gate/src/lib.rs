//! The only way out of a sandbox.
//!
//! A driver hands over the listeners that it opened in a sandbox's network; every connection that a program inside
//! opens arrives there. The gate learns where it wants to go, asks `hood_policy::decide`, and carries it or refuses
//! it. Everything is recorded. It knows no engine, no dialect and no Linux namespaces.
#![forbid(unsafe_code)]

pub mod audit;
mod budget;
mod ca;
mod carry;
mod config;
mod connection;
mod counts;
mod dial;
mod dns;
mod door;
mod first;
#[cfg(fuzzing)]
pub mod fuzz;
mod gate;
mod head;
mod hello;
pub mod limits;
#[cfg(test)]
mod mutate;
mod sandbox;
mod secrets;
mod socks;
mod tls;
mod visitors;

pub use ca::{Authority, AuthorityError};
pub use config::{Config, Ingress, StartError};
pub use counts::Counts;
pub use dns::{INGRESS_ADDRESS, ResolverConfig, ResolverError};
pub use door::Meant;
pub use gate::Gate;
pub use sandbox::Whose;
pub use secrets::{NoSecrets, RevealError, SecretValue, Secrets};
pub use tls::{TlsConfig, TlsError};
pub use visitors::Visitors;
