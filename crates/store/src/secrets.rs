//! Secrets: sealed in the database, with a key that lies beside it in a file of its own.
//!
//! A copy of the database alone gives nobody a value. Names, versions and labels are readable: listings need no key.

mod seal;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hood_engine::TeamId;
use hood_engine::ports::StoreError;
use rusqlite::{Connection, OptionalExtension, Row};
use time::OffsetDateTime;
use zeroize::Zeroizing;

use crate::SqliteStore;
use crate::limits::{SECRETS, SECRETS_PAGE};
use crate::sqlite::nanos;
use crate::worker::Failure;
use seal::Seal;
pub use seal::SealError;

/// The secrets of every team.
pub struct SecretStore {
    store: Arc<SqliteStore>,
    seal: Seal,
}

/// What may be known of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// `sec_` and twenty letters and digits.
    pub id: String,
    /// Unique within its team, in lower case.
    pub name: String,
    /// How many values it has had.
    pub version: u64,
    /// Its owner's labels.
    pub metadata: BTreeMap<String, String>,
    /// When it was made.
    pub created: OffsetDateTime,
    /// When its value was last set.
    pub updated: OffsetDateTime,
}

/// A secret could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The name is taken.
    #[error("there is a secret `{0}` already")]
    Exists(String),
    /// There are too many.
    #[error("this team has {SECRETS} secrets, which is the most")]
    TooMany,
    /// It was sealed with another key, or changed since.
    #[error("the value of secret `{name}` cannot be read with the key of this server")]
    Sealed {
        /// Its name.
        name: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const COLUMNS: &str = "id, name, version, metadata, created_ns, updated_ns";

impl SecretStore {
    /// With the key in this file, which is made if it is not there, mode 0600.
    pub fn open(store: Arc<SqliteStore>, key_file: &Path) -> Result<Self, SealError> {
        Ok(Self { store, seal: Seal::open(key_file)? })
    }

    /// Keeps a new one. `now` is when it is made.
    pub async fn create(
        &self,
        team: &TeamId,
        name: &str,
        value: &str,
        metadata: BTreeMap<String, String>,
        now: OffsetDateTime,
    ) -> Result<Secret, SecretError> {
        let secret = Secret {
            id: seal::random_id(),
            name: name.to_owned(),
            version: 1,
            metadata,
            created: now,
            updated: now,
        };
        let sealed = self.seal.seal(value, &context(team, &secret.id, 1));
        let (team, new) = (team.0.clone(), secret.clone());
        let outcome =
            self.store.writer.run("keeping a secret", move |db| insert(db, &team, &new, &sealed)).await?;
        match outcome {
            Inserted::Yes => Ok(secret),
            Inserted::Taken => Err(SecretError::Exists(secret.name)),
            Inserted::Full => Err(SecretError::TooMany),
        }
    }

    /// Gives one, by id or name, a new value, and new labels where they are given. `None` when there is none.
    pub async fn update(
        &self,
        team: &TeamId,
        reference: &str,
        value: &str,
        metadata: Option<BTreeMap<String, String>>,
        now: OffsetDateTime,
    ) -> Result<Option<Secret>, SecretError> {
        loop {
            let Some(found) = self.find(team, reference).await? else { return Ok(None) };
            let mut next = found.clone();
            next.version += 1;
            next.updated = now;
            next.metadata = metadata.clone().unwrap_or(next.metadata);
            let sealed = self.seal.seal(value, &context(team, &next.id, next.version));
            let row = next.clone();
            let replaced =
                self.store.writer.run("changing a secret", move |db| replace(db, &row, &sealed)).await?;
            // Otherwise somebody else was quicker: the version is part of what is sealed.
            if replaced {
                return Ok(Some(next));
            }
        }
    }

    /// One, by id or name.
    pub async fn find(&self, team: &TeamId, reference: &str) -> Result<Option<Secret>, SecretError> {
        let (team, reference) = (team.0.clone(), reference.to_owned());
        let found = self.store.reader.run("looking up a secret", move |db| {
            let sql = format!("SELECT {COLUMNS} FROM secret WHERE team = ?1 AND (id = ?2 OR name = ?2)");
            let row = db.prepare_cached(&sql)?.query_row((team, reference), columns).optional()?;
            row.map(secret).transpose()
        });
        Ok(found.await?)
    }

    /// Those after a name, in the order of their names; at most `limit`.
    pub async fn list(
        &self,
        team: &TeamId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Secret>, SecretError> {
        let (team, after) = (team.0.clone(), after.unwrap_or_default().to_owned());
        let limit = limit.min(SECRETS_PAGE) as i64;
        let found = self.store.reader.run("listing secrets", move |db| {
            let sql =
                format!("SELECT {COLUMNS} FROM secret WHERE team = ?1 AND name > ?2 ORDER BY name LIMIT ?3");
            let mut query = db.prepare_cached(&sql)?;
            let rows = query.query_map((team, after, limit), columns)?;
            rows.map(|row| secret(row?)).collect()
        });
        Ok(found.await?)
    }

    /// Forgets one, by id or name; whether there was one.
    pub async fn delete(&self, team: &TeamId, reference: &str) -> Result<bool, SecretError> {
        let (team, reference) = (team.0.clone(), reference.to_owned());
        let deleted = self.store.writer.run("forgetting a secret", move |db| {
            let sql = "DELETE FROM secret WHERE team = ?1 AND (id = ?2 OR name = ?2)";
            Ok(db.execute(sql, (team, reference))? > 0)
        });
        Ok(deleted.await?)
    }

    /// The value of one, for the gate.
    pub async fn reveal(&self, team: &TeamId, name: &str) -> Result<Option<Zeroizing<String>>, SecretError> {
        let (of, wanted) = (team.0.clone(), name.to_owned());
        let found = self.store.reader.run("reading a secret", move |db| {
            let mut query =
                db.prepare_cached("SELECT id, version, sealed FROM secret WHERE team = ?1 AND name = ?2")?;
            let row = query.query_row((of, wanted), |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?, row.get::<_, Vec<u8>>(2)?))
            });
            Ok(row.optional()?)
        });
        let Some((id, version, sealed)) = found.await? else { return Ok(None) };
        match self.seal.open_sealed(sealed, &context(team, &id, version)) {
            Some(value) => Ok(Some(value)),
            None => Err(SecretError::Sealed { name: name.to_owned() }),
        }
    }
}

enum Inserted {
    Yes,
    Taken,
    Full,
}

fn insert(db: &mut Connection, team: &str, new: &Secret, sealed: &[u8]) -> Result<Inserted, Failure> {
    let transaction = db.transaction()?;
    let count: usize =
        transaction.query_row("SELECT count(*) FROM secret WHERE team = ?1", (team,), |row| row.get(0))?;
    let taken: bool = transaction.query_row(
        "SELECT EXISTS (SELECT 1 FROM secret WHERE team = ?1 AND name = ?2)",
        (team, &new.name),
        |row| row.get(0),
    )?;
    if taken {
        return Ok(Inserted::Taken);
    }
    if count >= SECRETS {
        return Ok(Inserted::Full);
    }
    transaction.execute(
        "INSERT INTO secret (id, team, name, version, sealed, metadata, created_ns, updated_ns)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        (
            &new.id,
            team,
            &new.name,
            new.version,
            sealed,
            serde_json::to_string(&new.metadata)?,
            nanos(new.created),
            nanos(new.updated),
        ),
    )?;
    transaction.commit()?;
    Ok(Inserted::Yes)
}

fn replace(db: &mut Connection, next: &Secret, sealed: &[u8]) -> Result<bool, Failure> {
    let changed = db.execute(
        "UPDATE secret SET version = ?2, sealed = ?3, metadata = ?4, updated_ns = ?5
         WHERE id = ?1 AND version = ?2 - 1",
        (&next.id, next.version, sealed, serde_json::to_string(&next.metadata)?, nanos(next.updated)),
    )?;
    // Gone meanwhile counts as not replaced, and the next look finds nothing.
    Ok(changed == 1)
}

type Columns = (String, String, u64, String, i64, i64);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
}

fn secret((id, name, version, metadata, created, updated): Columns) -> Result<Secret, Failure> {
    let at = |ns| OffsetDateTime::UNIX_EPOCH + time::Duration::nanoseconds(ns);
    let metadata = serde_json::from_str(&metadata)?;
    Ok(Secret { id, name, version, metadata, created: at(created), updated: at(updated) })
}

/// What a sealed value belongs to: one that is moved to another row does not open.
fn context(team: &TeamId, id: &str, version: u64) -> Vec<u8> {
    format!("hood secret\n{id}\n{version}\n{}", team.0).into_bytes()
}
