//! Which connections a sandbox may open: the policy, names and ranges in canonical form, and the one decision.
//!
//! Pure: no sockets, no clock, no protocol of anybody's. A dialect translates its fields into a [`Policy`]; the gate
//! asks [`decide`] about each connection and does what it says. Start at [`decide`].
#![forbid(unsafe_code)]

mod ask;
mod closed;
mod decide;
mod finding;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod limits;
#[cfg(test)]
#[path = "../../gate/src/mutate.rs"]
mod mutate;
mod name;
mod pattern;
mod policy;
mod range;
mod request;
mod suggest;
mod validate;
mod wide;
mod within;

pub use ask::may_ask;
pub use closed::{closed, closed_under};
pub use decide::{Attempt, FirstBytes, HTTP_PORTS, Protocol, Reason, Verdict, decide};
pub use finding::{Finding, Place, Severity};
pub use name::{Name, ParseNameError};
pub use pattern::Pattern;
pub use policy::{
    Allow, Base, Budget, Ceiling, HostRule, HttpRule, Policy, ProxyTls, Socks5, Target, Transform,
};
pub use range::{ParseRangeError, Range};
pub use request::decide_request;
pub use suggest::{Seen, suggest};
pub use validate::{validate, validate_ceiling};
pub use within::within;
