//! Which connections a sandbox may open: the policy, names and ranges in canonical form, and the one decision.
//!
//! Pure: no sockets, no clock, no protocol of anybody's. A dialect translates its fields into a [`Policy`]; the gate
//! asks [`decide`] about each connection and does what it says. Start at [`decide`].
#![forbid(unsafe_code)]

mod decide;
mod name;
mod policy;
mod range;

pub use decide::{Attempt, Protocol, Reason, Verdict, decide};
pub use name::{Name, ParseNameError, Pattern};
pub use policy::{
    Allow, Base, Budget, Ceiling, HostRule, HttpRule, Policy, ProxyTls, Socks5, Target, Transform,
};
pub use range::{ParseRangeError, Range};
