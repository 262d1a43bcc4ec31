//! Opening a file: its rights, its settings, its schema.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::limits::BUSY;

/// The schema's versions, oldest first; `user_version` in the file counts those applied.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
];

/// The file cannot be used as a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be made or opened.
    #[error("cannot open the store `{}`", path.display())]
    Unreachable {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It holds something else, or is damaged.
    #[error(
        "the store `{}` is damaged or is no database; move it away together with its `-wal` file and start again: \
         API keys and the history of ended sandboxes are lost, nothing else",
        path.display()
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// A newer program wrote it.
    #[error("the store `{}` has schema version {found}, this program knows up to {known}: use a newer one", path.display())]
    TooNew {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: usize,
        /// The newest we know.
        known: usize,
    },
    /// The disk is full.
    #[error("no space left for the store `{}`", path.display())]
    Full {
        /// Which file.
        path: PathBuf,
    },
    /// SQLite fails for another reason.
    #[error("the store `{}` cannot be used", path.display())]
    Failed {
        /// Which file.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
}

impl OpenError {
    fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged { path, source },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            _ => Self::Failed { path, source },
        }
    }
}

/// The connection that writes. Brings the schema up to date.
pub(crate) fn writer(path: &Path) -> Result<Connection, OpenError> {
    make_private(path).map_err(|source| OpenError::Unreachable { path: path.to_owned(), source })?;
    let failed = |source| OpenError::from_sqlite(path, source);
    let mut connection =
        Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_WRITE)).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
    // With WAL this outlives the death of our process without a sync at every commit. A power cut may cost the last
    // few commits, but it ends all sandboxes too, and the start after it sweeps whatever the records say.
    connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// The connection that only reads.
pub(crate) fn reader(path: &Path) -> Result<Connection, OpenError> {
    let failed = |source| OpenError::from_sqlite(path, source);
    let connection =
        Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_ONLY)).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    Ok(connection)
}

/// Each connection lives on one thread, so SQLite's own locks are not needed.
fn flags(access: OpenFlags) -> OpenFlags {
    access | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::from_sqlite(path, source);
    let found: usize =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
    let Some(missing) = MIGRATIONS.get(found..) else {
        return Err(OpenError::TooNew { path: path.to_owned(), found, known: MIGRATIONS.len() });
    };
    for (version, sql) in (found + 1..).zip(missing) {
        let transaction = connection.transaction().map_err(failed)?;
        transaction.execute_batch(sql).map_err(failed)?;
        transaction.pragma_update(None, "user_version", version).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

/// The file holds the tokens of sandboxes: its owner alone may read it. SQLite gives its side files the same rights.
fn make_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}
