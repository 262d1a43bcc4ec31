//! The gate's records. What an entry says is the gate's matter; here it is text with the columns that are searched.

use hood_engine::TeamId;
use hood_engine::ports::StoreError;
use time::OffsetDateTime;

use crate::SqliteStore;
use crate::limits::AUDIT_PAGE;
use crate::sqlite::nanos;

/// One entry as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// When it happened.
    pub at: OffsetDateTime,
    /// Whose sandbox.
    pub team: TeamId,
    /// Which sandbox.
    pub sandbox: String,
    /// It was, or would have been, refused.
    pub denied: bool,
    /// The entry as JSON.
    pub entry: String,
}

/// Which entries are wanted: those of a team, oldest first.
#[derive(Debug, Clone)]
pub struct AuditQuery {
    /// Whose.
    pub team: TeamId,
    /// Only those of this sandbox.
    pub sandbox: Option<String>,
    /// Only what was, or would have been, refused.
    pub denied: bool,
    /// Only those after this one, by [`AuditFound::seq`].
    pub after: i64,
    /// Only those from this moment on.
    pub from: Option<OffsetDateTime>,
    /// At most this many, and never more than [`AUDIT_PAGE`].
    pub limit: usize,
}

/// An entry with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFound {
    /// Its place among all.
    pub seq: i64,
    /// The entry as JSON.
    pub entry: String,
}

impl SqliteStore {
    /// Appends entries, in one transaction.
    pub async fn append_audit(&self, rows: Vec<AuditRow>) -> Result<(), StoreError> {
        self.writer
            .run("writing the audit", move |db| {
                let transaction = db.transaction()?;
                {
                    let mut insert = transaction.prepare_cached(
                        "INSERT INTO audit (at_ns, team, sandbox, denied, entry) VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?;
                    for row in &rows {
                        insert.execute((nanos(row.at), &row.team.0, &row.sandbox, row.denied, &row.entry))?;
                    }
                }
                Ok(transaction.commit()?)
            })
            .await
    }

    /// The entries that a query wants.
    pub async fn audit(&self, query: AuditQuery) -> Result<Vec<AuditFound>, StoreError> {
        self.reader
            .run("reading the audit", move |db| {
                let mut select = db.prepare_cached(
                    "SELECT seq, entry FROM audit
                     WHERE team = ?1 AND seq > ?2 AND (?3 IS NULL OR sandbox = ?3) AND denied >= ?4 AND at_ns >= ?5
                     ORDER BY seq LIMIT ?6",
                )?;
                let from = query.from.map_or(i64::MIN, nanos);
                let limit = query.limit.min(AUDIT_PAGE) as i64;
                let wanted = (query.team.0, query.after, query.sandbox, query.denied, from, limit);
                let found =
                    select.query_map(wanted, |row| Ok(AuditFound { seq: row.get(0)?, entry: row.get(1)? }))?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// Forgets entries from before this moment; says how many.
    pub async fn prune_audit(&self, before: OffsetDateTime) -> Result<usize, StoreError> {
        self.writer
            .run("forgetting old audit entries", move |db| {
                Ok(db.execute("DELETE FROM audit WHERE at_ns < ?1", (nanos(before),))?)
            })
            .await
    }
}
