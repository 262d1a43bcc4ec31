//! The engine's store on SQLite: one file, no set-up.
//!
//! May not know: HTTP, drivers, dialects; of the engine only its records and [`hood_engine::ports::Store`]. Start at
//! [`SqliteStore`]; `open.rs` says what a file must be, `worker.rs` how blocking calls stay off tokio's threads, and
//! `schema/` holds the migrations.
#![forbid(unsafe_code)]

mod audit;
mod keys;
pub mod limits;
mod open;
mod secrets;
mod sqlite;
mod worker;

pub use audit::{AuditFound, AuditQuery, AuditRow};
pub use open::OpenError;
pub use secrets::{SealError, Secret, SecretError, SecretStore};
pub use sqlite::SqliteStore;
