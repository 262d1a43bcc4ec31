//! Names: the resolver that answers the questions of sandboxes.
//!
//! Whatever name server a program asks, its question arrives here. It is read ([`question`]), decided on ([`desk`]),
//! asked anew of our own servers ([`resolver`], [`upstream`]), and what they say is cut down to what was asked for
//! ([`records`]). Nothing of a program's message leaves but a name and a type, and addresses that are closed never
//! arrive. What was answered is written down ([`Lookups`]), because a connection that claims to be for a name must go
//! to an address that was an answer for it.
//!
//! A name's aliases need no rule: the name that was asked for is the one that the policy knows and that the
//! connection will claim. Their end is an address like any other.

mod bounded;
mod config;
mod desk;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod kinds;
mod lookups;
mod question;
mod rate;
mod records;
mod resolver;
mod serve;
mod upstream;

pub use config::{INGRESS_ADDRESS, ResolverConfig, ResolverError};
pub(crate) use desk::{Asked, Desk};
pub(crate) use lookups::Lookups;
pub(crate) use resolver::Resolver;

#[cfg(test)]
mod tests;
