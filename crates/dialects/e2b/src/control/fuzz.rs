//! What a client asks for, from its bytes to the engine's words.

use hood_engine::{Filter, NewSandbox, RootMode};

use super::list;
use crate::extract::Query;
use crate::limits::TIMEOUT_V2_SECS;
use crate::wire;

/// The listing that a query asks for.
pub fn listing(query: &str) -> Option<Filter> {
    list::filter(&Query::parse(query).ok()?).ok()
}

/// The sandbox that the body of a create call asks for.
pub fn create(body: &[u8]) -> Option<NewSandbox> {
    let ask: wire::NewSandbox = serde_json::from_slice(body).ok()?;
    ask.into_engine(TIMEOUT_V2_SECS, RootMode::Writable).ok()
}
