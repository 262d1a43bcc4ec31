//! The gate as the engine's port.

use hood_engine::ports::Gate;
use hood_engine::{Outlets, Policy, Record, SandboxId};

/// Lets nothing out: what arrives at an outlet is refused, because the outlets are closed at once.
pub(super) struct NoGate;

impl Gate for NoGate {
    fn check(&self, _policy: &Policy) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    fn open(&self, _record: &Record, outlets: Outlets) {
        drop(outlets);
    }

    fn enforce(&self, _record: &Record) {}

    fn close(&self, _id: &SandboxId) {}
}
