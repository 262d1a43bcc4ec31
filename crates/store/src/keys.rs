//! API keys: only their hashes are kept.

use hood_engine::TeamId;
use hood_engine::ports::StoreError;
use rusqlite::OptionalExtension;

use crate::SqliteStore;

impl SqliteStore {
    /// Remembers a key, given as its SHA-256; giving the same one again changes its team and name.
    pub async fn create_key(&self, team: &TeamId, hash: [u8; 32], name: &str) -> Result<(), StoreError> {
        let (team, name) = (team.0.clone(), name.to_owned());
        self.writer
            .run("adding an API key", move |db| {
                db.execute(
                    "INSERT INTO api_key (hash, team, name) VALUES (?1, ?2, ?3)
                     ON CONFLICT (hash) DO UPDATE SET team = excluded.team, name = excluded.name",
                    (hash, team, name),
                )?;
                Ok(())
            })
            .await
    }

    /// Whether there is any key at all: without one nobody can use the server.
    pub async fn has_keys(&self) -> Result<bool, StoreError> {
        self.reader
            .run("looking for API keys", |db| {
                Ok(db.query_row("SELECT EXISTS (SELECT 1 FROM api_key)", (), |row| row.get(0))?)
            })
            .await
    }

    pub(crate) async fn team_of_key(&self, hash: [u8; 32]) -> Result<Option<TeamId>, StoreError> {
        self.reader
            .run("looking up an API key", move |db| {
                let mut query = db.prepare_cached("SELECT team FROM api_key WHERE hash = ?1")?;
                Ok(query.query_row((hash,), |row| row.get(0)).optional()?.map(TeamId))
            })
            .await
    }
}
