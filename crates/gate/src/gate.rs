//! The gate's handle.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hood_driver_api::Outlets;
use hood_policy::{Ceiling, Policy, Severity, validate, within};

use crate::audit::{Entry, Kind, Sink};
use crate::budget::Way;
use crate::config::{Config, Ingress, StartError};
use crate::counts::{Counters, Counts};
use crate::dns::Resolver;
use crate::door::Meant;
use crate::sandbox::{Sandbox, Whose};
use crate::secrets::Secrets;
use crate::tls::Interceptor;
use crate::visitors::Visitors;

/// The gate; clones are the same one.
#[derive(Clone)]
pub struct Gate {
    shared: Arc<Shared>,
    sandboxes: Arc<Mutex<HashMap<String, Arc<Sandbox>>>>,
}

/// What all sandboxes share.
pub(crate) struct Shared {
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) interceptor: Interceptor,
    pub(crate) ingress: Option<Ingress>,
    pub(crate) visitors: Visitors,
    pub(crate) counters: Counters,
    ceilings: BTreeMap<String, Arc<Ceiling>>,
    default_profile: String,
    sink: Arc<dyn Sink>,
    connections: AtomicU64,
}

impl Gate {
    /// Starts with nothing open.
    pub fn start(config: Config, sink: Arc<dyn Sink>, secrets: Arc<dyn Secrets>) -> Result<Self, StartError> {
        let ceilings = config.ceilings();
        if !ceilings.contains_key(&config.default_profile) {
            return Err(StartError::NoProfile(config.default_profile));
        }
        let shared = Shared {
            resolver: Arc::new(Resolver::start(config.resolver)?),
            interceptor: Interceptor::new(config.tls, secrets)?,
            ingress: config.ingress,
            visitors: Visitors::default(),
            counters: Counters::default(),
            ceilings,
            default_profile: config.default_profile,
            sink,
            connections: AtomicU64::new(1),
        };
        Ok(Self { shared: Arc::new(shared), sandboxes: Arc::default() })
    }

    /// Which clients of this server are its own sandboxes.
    pub fn visitors(&self) -> Visitors {
        self.shared.visitors.clone()
    }

    /// What is odd about a policy, in sentences for its owner; or, as an error, why it cannot be used here.
    pub fn check(&self, policy: &Policy) -> Result<Vec<String>, String> {
        let ceiling = match &policy.profile {
            Some(profile) => self.shared.ceilings.get(profile).ok_or_else(|| {
                let known: Vec<_> = self.shared.ceilings.keys().map(String::as_str).collect();
                format!(
                    "there is no profile `{profile}` in the server's configuration; there are {}",
                    known.join(", ")
                )
            })?,
            None => self.shared.default_ceiling(),
        };
        let texts = |findings: Vec<hood_policy::Finding>| {
            findings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let odd = validate(policy).map_err(|findings| {
            let wrong = findings.into_iter().filter(|finding| finding.severity == Severity::Error).collect();
            texts(wrong).join("; ")
        })?;
        Ok(texts(odd.into_iter().chain(within(policy, ceiling)).collect()))
    }

    /// Answers at a sandbox's outlets from now on. Must be called within a tokio runtime.
    pub fn open(&self, whose: Whose, policy: Policy, outlets: Outlets) {
        self.open_for(whose, policy, outlets, Meant::Redirected);
    }

    /// The same for connections whose destination is found otherwise.
    pub fn open_for(&self, whose: Whose, policy: Policy, outlets: Outlets, meant: Meant) {
        let ceiling = self.shared.ceiling(&policy);
        let id = whose.sandbox.clone();
        let sandbox = Arc::new(Sandbox::new(whose, self.shared.clone(), policy, ceiling));
        if let Some(earlier) = self.lock().insert(id, sandbox.clone()) {
            earlier.close();
        }
        tokio::spawn(sandbox.run(outlets, meant));
    }

    /// The policy counts from now on; live connections that it forbids are cut.
    pub fn enforce(&self, sandbox: &str, policy: Policy) {
        let found = self.lock().get(sandbox).cloned();
        if let Some(sandbox) = found {
            let ceiling = self.shared.ceiling(&policy);
            sandbox.enforce(policy, ceiling);
        }
    }

    /// Cuts everything of a sandbox and answers no more.
    pub fn close(&self, sandbox: &str) {
        if let Some(sandbox) = self.lock().remove(sandbox) {
            sandbox.close();
        }
    }

    /// What it did so far.
    pub fn counts(&self) -> Counts {
        self.shared.counters.read()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Sandbox>>> {
        self.sandboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// The ceiling over a policy. A profile that is no longer in the configuration opens nothing.
    fn ceiling(&self, policy: &Policy) -> Arc<Ceiling> {
        match &policy.profile {
            None => self.default_ceiling().clone(),
            Some(profile) => self
                .ceilings
                .get(profile)
                .cloned()
                .unwrap_or_else(|| Arc::new(Ceiling { policy: Policy::default(), open: Vec::new() })),
        }
    }

    fn default_ceiling(&self) -> &Arc<Ceiling> {
        &self.ceilings[&self.default_profile]
    }

    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn count_bytes(&self, way: Way, bytes: usize) {
        let counter = if way == Way::Out { &self.counters.bytes_out } else { &self.counters.bytes_in };
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn record(&self, entry: Entry) {
        let counter = match entry.kind {
            Kind::Allowed => Some(&self.counters.allowed),
            Kind::Denied => Some(&self.counters.denied),
            Kind::WouldDeny => Some(&self.counters.would_deny),
            Kind::Ended => None,
        };
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        self.sink.record(entry);
    }
}
