//! The store.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use hood_engine::ports::{Store, StoreError};
use hood_engine::{
    LogLine, LogQuery, Order, Record, Sample, SandboxId, Snapshot, SnapshotId, TeamId, Volume, VolumeId,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use time::OffsetDateTime;

use crate::open::{self, OpenError};
use crate::worker::{Failure, Worker};

/// Records, logs, samples and API keys in one SQLite file.
///
/// Writes go through one connection in the order in which they were asked for; reads have another, so that a long log
/// does not hold up a kill. A read sees every write whose future has ended.
pub struct SqliteStore {
    // Dropped in this order: the last connection to close folds the `-wal` file into the main one, and must be able to.
    pub(crate) reader: Worker,
    pub(crate) writer: Worker,
}

impl SqliteStore {
    /// Opens the file, or makes it. Blocks for a moment: for the start of a program.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path: Arc<Path> = path.as_ref().into();
        let no_thread = |source| OpenError::Unreachable { path: path.to_path_buf(), source };
        let writer = Worker::start("store-write", path.clone(), open::writer(&path)?).map_err(no_thread)?;
        let reader = Worker::start("store-read", path.clone(), open::reader(&path)?).map_err(no_thread)?;
        Ok(Self { reader, writer })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn insert(&self, record: &Record) -> Result<(), StoreError> {
        let record = record.clone();
        self.writer.run("writing a new sandbox", move |db| insert(db, &record)).await
    }

    async fn replace(&self, prev: &Record, next: &Record) -> Result<(), StoreError> {
        let (prev, next) = (prev.clone(), next.clone());
        self.writer.run("writing a sandbox", move |db| replace(db, &prev, &next)).await
    }

    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        self.reader.run("reading all sandboxes", load).await
    }

    async fn prune(&self, before: OffsetDateTime) -> Result<usize, StoreError> {
        self.writer.run("forgetting old sandboxes", move |db| prune(db, before)).await
    }

    async fn append(
        &self,
        logs: &[(SandboxId, LogLine)],
        samples: &[(SandboxId, Sample)],
    ) -> Result<(), StoreError> {
        let (logs, samples) = (logs.to_vec(), samples.to_vec());
        self.writer.run("writing logs and samples", move |db| append(db, &logs, &samples)).await
    }

    async fn logs(&self, id: &SandboxId, query: &LogQuery) -> Result<Vec<LogLine>, StoreError> {
        let (id, query) = (id.clone(), query.clone());
        self.reader.run("reading a log", move |db| logs(db, &id, &query)).await
    }

    async fn samples(
        &self,
        id: &SandboxId,
        from: OffsetDateTime,
        to: OffsetDateTime,
    ) -> Result<Vec<Sample>, StoreError> {
        let id = id.clone();
        self.reader.run("reading samples", move |db| samples(db, &id, from, to)).await
    }

    async fn write_snapshots(&self, snapshots: &[Snapshot]) -> Result<(), StoreError> {
        let snapshots = snapshots.to_vec();
        self.writer.run("writing a snapshot", move |db| write_snapshots(db, &snapshots)).await
    }

    async fn remove_snapshot(&self, id: &SnapshotId) -> Result<(), StoreError> {
        let id = id.clone();
        let remove = move |db: &mut Connection| {
            db.execute("DELETE FROM snapshot WHERE id = ?1", (id.as_str(),))?;
            Ok(())
        };
        self.writer.run("forgetting a snapshot", remove).await
    }

    async fn snapshots(&self) -> Result<Vec<Snapshot>, StoreError> {
        self.reader.run("reading all snapshots", read_snapshots).await
    }

    async fn insert_volume(&self, volume: &Volume) -> Result<(), StoreError> {
        let volume = volume.clone();
        let insert = move |db: &mut Connection| {
            db.execute(
                "INSERT INTO volume (id, record) VALUES (?1, ?2)",
                (volume.id.as_str(), serde_json::to_string(&volume)?),
            )?;
            Ok(())
        };
        self.writer.run("writing a volume", insert).await
    }

    async fn remove_volume(&self, id: &VolumeId) -> Result<(), StoreError> {
        let id = id.clone();
        let remove = move |db: &mut Connection| {
            db.execute("DELETE FROM volume WHERE id = ?1", (id.as_str(),))?;
            Ok(())
        };
        self.writer.run("forgetting a volume", remove).await
    }

    async fn volumes(&self) -> Result<Vec<Volume>, StoreError> {
        let read = |db: &mut Connection| {
            let mut query = db.prepare("SELECT record FROM volume ORDER BY id")?;
            let texts = query.query_map((), |row| row.get::<_, String>(0))?;
            texts.map(|text| Ok(serde_json::from_str(&text?)?)).collect()
        };
        self.reader.run("reading all volumes", read).await
    }

    async fn team_of(&self, key_hash: &[u8; 32]) -> Result<Option<TeamId>, StoreError> {
        self.team_of_key(*key_hash).await
    }
}

fn insert(db: &mut Connection, record: &Record) -> Result<(), Failure> {
    let mut insert =
        db.prepare_cached("INSERT INTO sandbox (id, record, ended_ns, removed) VALUES (?1, ?2, ?3, ?4)")?;
    let (ended_ns, removed) = end_of(record);
    match insert.execute((record.id.as_str(), serde_json::to_string(record)?, ended_ns, removed)) {
        Ok(_) => Ok(()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Err(Failure::Refused(StoreError::Exists(record.id.clone())))
        }
        Err(error) => Err(error.into()),
    }
}

fn replace(db: &mut Connection, prev: &Record, next: &Record) -> Result<(), Failure> {
    let transaction = db.transaction()?;
    let stored: Option<String> = transaction
        .prepare_cached("SELECT record FROM sandbox WHERE id = ?1")?
        .query_row((prev.id.as_str(),), |row| row.get(0))
        .optional()?;
    let unchanged = match stored {
        None => false,
        // The text first: it is quicker, and the same even where a number would not survive being read. The value
        // then: an older program may have written the same record in other words.
        Some(text) => text == serde_json::to_string(prev)? || serde_json::from_str::<Record>(&text)? == *prev,
    };
    if !unchanged {
        return Err(Failure::Refused(StoreError::Conflict(prev.id.clone())));
    }
    let (ended_ns, removed) = end_of(next);
    transaction
        .prepare_cached("UPDATE sandbox SET record = ?2, ended_ns = ?3, removed = ?4 WHERE id = ?1")?
        .execute((prev.id.as_str(), serde_json::to_string(next)?, ended_ns, removed))?;
    Ok(transaction.commit()?)
}

fn load(db: &mut Connection) -> Result<Vec<Record>, Failure> {
    let mut query = db.prepare("SELECT record FROM sandbox ORDER BY ended_ns")?;
    let texts = query.query_map((), |row| row.get::<_, String>(0))?;
    texts.map(|text| Ok(serde_json::from_str(&text?)?)).collect()
}

fn prune(db: &mut Connection, before: OffsetDateTime) -> Result<usize, Failure> {
    const OLD: &str = "SELECT id FROM sandbox WHERE ended_ns < ?1 AND removed = 1";
    let before = nanos(before);
    let transaction = db.transaction()?;
    for table in ["log", "sample"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE sandbox IN ({OLD})"), (before,))?;
    }
    let gone = transaction.execute("DELETE FROM sandbox WHERE ended_ns < ?1 AND removed = 1", (before,))?;
    transaction.commit()?;
    Ok(gone)
}

fn append(
    db: &mut Connection,
    logs: &[(SandboxId, LogLine)],
    samples: &[(SandboxId, Sample)],
) -> Result<(), Failure> {
    let transaction = db.transaction()?;
    {
        let mut insert =
            transaction.prepare_cached("INSERT INTO log (sandbox, at_ns, line) VALUES (?1, ?2, ?3)")?;
        for (id, line) in logs {
            insert.execute((id.as_str(), nanos(line.at), serde_json::to_string(line)?))?;
        }
        let mut insert =
            transaction.prepare_cached("INSERT INTO sample (sandbox, at_ns, sample) VALUES (?1, ?2, ?3)")?;
        for (id, sample) in samples {
            insert.execute((id.as_str(), nanos(sample.at), serde_json::to_string(sample)?))?;
        }
    }
    Ok(transaction.commit()?)
}

fn write_snapshots(db: &mut Connection, snapshots: &[Snapshot]) -> Result<(), Failure> {
    let transaction = db.transaction()?;
    for snapshot in snapshots {
        transaction
            .prepare_cached("INSERT OR REPLACE INTO snapshot (id, record) VALUES (?1, ?2)")?
            .execute((snapshot.id.as_str(), serde_json::to_string(snapshot)?))?;
    }
    Ok(transaction.commit()?)
}

fn read_snapshots(db: &mut Connection) -> Result<Vec<Snapshot>, Failure> {
    let mut query = db.prepare("SELECT record FROM snapshot ORDER BY id")?;
    let texts = query.query_map((), |row| row.get::<_, String>(0))?;
    texts.map(|text| Ok(serde_json::from_str(&text?)?)).collect()
}

/// Reads in order and stops at the limit; what a line must have is said in one place, [`LogQuery::wants`].
fn logs(db: &mut Connection, id: &SandboxId, query: &LogQuery) -> Result<Vec<LogLine>, Failure> {
    let (range, order) = match query.direction {
        Order::Oldest => ("at_ns >= ?2", "ASC"),
        Order::Newest => ("at_ns <= ?2", "DESC"),
    };
    let from = match (query.from, query.direction) {
        (Some(from), _) => nanos(from),
        (None, Order::Oldest) => i64::MIN,
        (None, Order::Newest) => i64::MAX,
    };
    let sql =
        format!("SELECT line FROM log WHERE sandbox = ?1 AND {range} ORDER BY at_ns {order}, seq {order}");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query((id.as_str(), from))?;
    let mut lines = Vec::new();
    while lines.len() < query.limit
        && let Some(row) = rows.next()?
    {
        let line: LogLine = serde_json::from_str(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
        if query.wants(&line) {
            lines.push(line);
        }
    }
    Ok(lines)
}

fn samples(
    db: &mut Connection,
    id: &SandboxId,
    from: OffsetDateTime,
    to: OffsetDateTime,
) -> Result<Vec<Sample>, Failure> {
    let mut query = db.prepare_cached(
        "SELECT sample FROM sample WHERE sandbox = ?1 AND at_ns BETWEEN ?2 AND ?3 ORDER BY at_ns, seq",
    )?;
    let texts = query.query_map((id.as_str(), nanos(from), nanos(to)), |row| row.get::<_, String>(0))?;
    texts.map(|text| Ok(serde_json::from_str(&text?)?)).collect()
}

fn end_of(record: &Record) -> (Option<i64>, bool) {
    record.ended().map_or((None, false), |end| (Some(nanos(end.at)), end.removed))
}

/// Nanoseconds since 1970, at the ends of what fits (the years 1677 and 2262) where they do not.
pub(crate) fn nanos(at: OffsetDateTime) -> i64 {
    let nanos = at.unix_timestamp_nanos();
    nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
