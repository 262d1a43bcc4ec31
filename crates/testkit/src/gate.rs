//! A gate without a network.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hood_driver_api::{Outlets, SandboxId};
use hood_engine::ports::Gate;
use hood_engine::{Policy, Record};

/// Remembers which sandboxes are open and under which policy.
#[derive(Debug, Default)]
pub struct FakeGate {
    open: Mutex<BTreeMap<SandboxId, Policy>>,
}

impl FakeGate {
    /// The policy that counts for this sandbox, while it is open.
    pub fn policy(&self, id: &SandboxId) -> Option<Policy> {
        self.lock().get(id).cloned()
    }

    /// How many are open.
    pub fn open_count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SandboxId, Policy>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate for FakeGate {
    /// Knows no profiles, and finds it odd to log only.
    fn check(&self, policy: &Policy) -> Result<Vec<String>, String> {
        match &policy.profile {
            Some(profile) => Err(format!("there is no profile `{profile}`")),
            None if policy.log_only => Ok(vec!["nothing is refused".to_owned()]),
            None => Ok(Vec::new()),
        }
    }

    fn open(&self, record: &Record, _outlets: Outlets) {
        self.lock().insert(record.id.clone(), Policy::clone(&record.policy));
    }

    fn enforce(&self, record: &Record) {
        if let Some(policy) = self.lock().get_mut(&record.id) {
            *policy = Policy::clone(&record.policy);
        }
    }

    fn close(&self, id: &SandboxId) {
        self.lock().remove(id);
    }
}
