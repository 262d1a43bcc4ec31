//! Questions: none of them changes anything, most of them wait for nothing.

use std::sync::Arc;

use hood_driver_api::{Isolation, SandboxId};

use super::{Engine, Shared};
use crate::{Counts, Filter, LogLine, LogQuery, LookupError, Page, Record, TeamId, Token, limits};

impl Engine {
    /// A team's living sandbox (running or being created).
    pub fn get(&self, team: &TeamId, id: &str) -> Result<Record, LookupError> {
        self.shared.living_of(team, id).map(|record| Record::clone(&record))
    }

    /// A team's running sandboxes, page by page, ordered by start time and id. A page's position stays good when
    /// sandboxes come and go. A position that is none ([`Page::is_position`]) gives an empty page.
    pub fn list(&self, team: &TeamId, filter: &Filter) -> Page {
        self.shared.table.page(team, filter)
    }

    /// The running sandbox whose token passes the check, for links that carry a signature instead of the token.
    pub fn find_by_token(&self, check: &dyn Fn(&Token) -> bool) -> Option<Record> {
        let running = self.shared.table.all_running();
        running.iter().find(|record| check(&record.access_token)).map(|record| Record::clone(record))
    }

    /// A running sandbox, whoever owns it: for the data plane, where the sandbox's own token decides.
    pub fn running(&self, id: &SandboxId) -> Option<Record> {
        self.shared.table.running(id).map(|(record, _)| Record::clone(&record))
    }

    /// Which walls stand around a sandbox.
    pub fn isolation(&self) -> Isolation {
        self.shared.driver.isolation()
    }

    /// How a sandbox ended, in words, if it is remembered and did.
    pub fn fate(&self, id: &str) -> Option<String> {
        let record = self.shared.table.record(&id.parse().ok()?)?;
        record.ended().map(|end| end.why.to_string())
    }

    /// Lines of a sandbox's log; also of an ended one that is remembered.
    pub async fn logs(&self, team: &TeamId, id: &str, query: &LogQuery) -> Result<Vec<LogLine>, LookupError> {
        let record = self.shared.any_of(team, id)?;
        let query = LogQuery { limit: query.limit.min(limits::LOG_PAGE), ..query.clone() };
        self.shared.journal.flush().await;
        let lines = self.shared.store.logs(&record.id, &query);
        self.shared.bounded("reading a log", lines).await.map_err(LookupError::Store)
    }

    /// Counters and levels, for metrics.
    pub fn counts(&self) -> Counts {
        let levels = self.shared.table.levels();
        Counts {
            running: levels.running,
            paused: levels.paused,
            creating: levels.creating,
            removing: levels.removing,
            journal_dropped: self.shared.journal.dropped(),
            ..self.shared.metrics.counts()
        }
    }
}

impl Shared {
    /// A team's sandbox, ended or not.
    pub(super) fn any_of(&self, team: &TeamId, id: &str) -> Result<Arc<Record>, LookupError> {
        let found = id.parse().ok().and_then(|id: SandboxId| self.table.record(&id));
        // Another team's sandbox looks like none at all.
        found
            .filter(|record| record.team == *team)
            .ok_or_else(|| LookupError::NotFound { id: id.to_owned(), ended: None })
    }

    /// A team's sandbox that has not ended.
    pub(super) fn living_of(&self, team: &TeamId, id: &str) -> Result<Arc<Record>, LookupError> {
        let record = self.any_of(team, id)?;
        match record.ended() {
            None => Ok(record),
            Some(end) => Err(LookupError::NotFound { id: id.to_owned(), ended: Some(end.why.to_string()) }),
        }
    }
}
