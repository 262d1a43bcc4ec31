//! The guest's state: one per sandbox, shared by every request.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use hood_wire::GuestConfig;
use subtle::ConstantTimeEq;

use crate::contexts::Contexts;
use crate::filesystem::Watchers;
use crate::host::Host;
use crate::journal::Journal;
use crate::process::Processes;
use crate::reaper::Reaper;
use crate::sys::spawn::Walls;
use crate::sys::tree::Forest;

/// A cheap handle.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: GuestConfig,
    pub(crate) walls: Walls,
    pub(crate) forest: Forest,
    pub(crate) reaper: Reaper,
    pub(crate) journal: Journal,
    pub(crate) host: Host,
    pub(crate) processes: Processes,
    pub(crate) watchers: Watchers,
    pub(crate) contexts: Contexts,
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    pub(crate) fn new(config: GuestConfig, walls: Walls, forest: Forest, journal: Journal) -> Self {
        Self::with_contexts(config, walls, forest, journal, Contexts::default())
    }

    /// With contexts of other settings than the usual ones (tests).
    pub(crate) fn with_contexts(
        config: GuestConfig,
        walls: Walls,
        forest: Forest,
        journal: Journal,
        contexts: Contexts,
    ) -> Self {
        Self(Arc::new(Inner {
            config,
            walls,
            forest,
            reaper: Reaper::default(),
            journal,
            host: Host::default(),
            processes: Processes::default(),
            watchers: Watchers::default(),
            contexts,
        }))
    }

    /// Environment of every process in the sandbox (reference `e2b.md` 3.2 and 6).
    pub(crate) fn global_env(&self) -> BTreeMap<String, String> {
        let mut env = self.config.envs.clone();
        env.insert("E2B_SANDBOX".to_owned(), "true".to_owned());
        env.insert("E2B_SANDBOX_ID".to_owned(), self.config.sandbox_id.clone());
        env.insert("E2B_TEMPLATE_ID".to_owned(), self.config.template_id.clone());
        env
    }

    /// Whether `token` opens this sandbox.
    pub(crate) fn accepts(&self, token: &[u8]) -> bool {
        bool::from(token.ct_eq(self.config.access_token.as_bytes()))
    }
}
