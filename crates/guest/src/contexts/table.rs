//! All contexts of the sandbox, and the cells that can be found by their id.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::cell::{Cell, Requests};
use super::context::{Context, Warm};
use super::manifest::{DEFAULT_PATH, Manifest};
use crate::app::App;
use crate::launch::{LaunchError, account, directory};
use crate::limits::{
    AWAY_LIMIT, CELL_SIGN_OF_LIFE, INTERRUPT_GRACE, MAX_CONTEXTS, MAX_WAITING_CELLS, START_LIMIT,
};

/// The language of a call that names none.
pub(crate) const DEFAULT_LANGUAGE: &str = "python";

/// Default contexts that are listed before anybody has used them, where the template has their kernels: E2B's clients
/// expect both.
const LISTED: [&str; 2] = [DEFAULT_LANGUAGE, "javascript"];

/// What tests change.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) manifest: PathBuf,
    pub(crate) start: Duration,
    pub(crate) grace: Duration,
    pub(crate) keepalive: Duration,
    pub(crate) away: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            manifest: DEFAULT_PATH.into(),
            start: START_LIMIT,
            grace: INTERRUPT_GRACE,
            keepalive: CELL_SIGN_OF_LIFE,
            away: AWAY_LIMIT,
        }
    }
}

/// The service.
#[derive(Default)]
pub(crate) struct Contexts {
    settings: Settings,
    entries: Mutex<Vec<Entry>>,
    /// Cells that may outlive their first response.
    waiting: Mutex<Vec<Arc<Cell>>>,
    next: AtomicU64,
}

struct Entry {
    context: Arc<Context>,
    role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Runs calls that name its language, or nothing.
    Default,
    Made,
}

/// A count has reached its limit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Full {
    #[error("this sandbox has {MAX_CONTEXTS} contexts, the most it may have; delete one first")]
    Contexts,
    #[error(
        "{MAX_WAITING_CELLS} executions with \"requests\": \"wait\" are open, the most there may be; read one to its end, or leave it"
    )]
    Waiting,
}

impl Contexts {
    #[cfg(test)]
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Context>> {
        self.entries().iter().find(|entry| entry.context.id == id).map(|entry| entry.context.clone())
    }

    /// The context of calls that name only `language` (its own name).
    pub(crate) fn default_for(&self, app: &App, language: &str) -> Result<Arc<Context>, ContextError> {
        let cwd = default_cwd(app)?;
        let mut entries = self.entries();
        let found = entries.iter().find(|e| e.role == Role::Default && e.context.language == language);
        match found {
            Some(entry) => Ok(entry.context.clone()),
            None => Ok(self.add(&mut entries, app, language, cwd, Role::Default)?),
        }
    }

    pub(crate) fn create(
        &self,
        app: &App,
        language: &str,
        cwd: Option<&str>,
    ) -> Result<Arc<Context>, ContextError> {
        let cwd = directory(app, &account(app, None)?, cwd)?;
        Ok(self.add(&mut self.entries(), app, language, cwd, Role::Made)?)
    }

    fn add(
        &self,
        entries: &mut Vec<Entry>,
        app: &App,
        language: &str,
        cwd: String,
        role: Role,
    ) -> Result<Arc<Context>, Full> {
        if entries.len() >= MAX_CONTEXTS {
            return Err(Full::Contexts);
        }
        let id = format!("{language}-{}", self.number());
        let warm = if role == Role::Made { Warm::Now } else { Warm::WhenUsed };
        let context = Arc::new(Context::new(app.clone(), id, language.to_owned(), cwd, warm));
        entries.push(Entry { context: context.clone(), role });
        Ok(context)
    }

    /// All contexts, the usual default ones first: clients take the last one for the newest.
    pub(crate) fn list(&self, app: &App) -> Vec<Arc<Context>> {
        // A template without kernels has no default contexts, and a full table shows what it has.
        if let Ok(manifest) = Manifest::read(&self.settings.manifest) {
            for language in LISTED {
                if manifest.find(language).is_some_and(|(name, _)| name == language) {
                    drop(self.default_for(app, language));
                }
            }
        }
        let entries = self.entries();
        let of = |role| entries.iter().filter(move |e| e.role == role).map(|e| e.context.clone());
        of(Role::Default).chain(of(Role::Made)).collect()
    }

    /// Forgets the context and ends its kernel; false when there is none.
    pub(crate) fn remove(&self, id: &str) -> bool {
        let mut entries = self.entries();
        let Some(at) = entries.iter().position(|entry| entry.context.id == id) else { return false };
        entries.remove(at).context.end();
        true
    }

    /// An id for a new cell.
    pub(crate) fn cell_id(&self) -> String {
        format!("cell-{}", self.number())
    }

    /// Makes a cell that waits for answers known by its id.
    pub(crate) fn remember(&self, cell: &Arc<Cell>) -> Result<(), Full> {
        if cell.requests == Requests::Refuse {
            return Ok(());
        }
        let mut waiting = self.waiting();
        waiting.retain(|cell| !cell.outbox.is_over(self.settings.away));
        if waiting.len() >= MAX_WAITING_CELLS {
            return Err(Full::Waiting);
        }
        waiting.push(cell.clone());
        Ok(())
    }

    /// A cell that [`Contexts::remember`] knows and whose lines somebody may still want.
    pub(crate) fn cell(&self, id: &str) -> Option<Arc<Cell>> {
        let mut waiting = self.waiting();
        waiting.retain(|cell| !cell.outbox.is_over(self.settings.away));
        waiting.iter().find(|cell| cell.id == id).cloned()
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Arc<Cell>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// There is no such context, and none can be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContextError {
    #[error(transparent)]
    Full(#[from] Full),
    #[error(transparent)]
    Directory(#[from] LaunchError),
}

fn default_cwd(app: &App) -> Result<String, LaunchError> {
    directory(app, &account(app, None)?, None)
}
