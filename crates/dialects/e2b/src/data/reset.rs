//! Breaking off a client's connection so that it cannot be taken for an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A mark on one client connection: whoever owns the socket closes it with a TCP reset when the mark is set.
///
/// Dropping the connection in the middle of a body already is an abort, but it arrives as an orderly close, which E2B's
/// Python SDK of the 2.45 era takes for a protocol error; only a reset makes it ask whether the sandbox still lives.
/// The server puts one of these into the extensions of each request; without it the connection is only dropped.
#[derive(Debug, Clone, Default)]
pub struct Reset(Arc<AtomicBool>);

impl Reset {
    /// Asks for the reset.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
