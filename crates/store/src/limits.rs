//! Every ceiling of the store, declared once: the constants, and the table for `LIMITS.md`.

use std::time::Duration;

hood_limits::limits! {
    QUEUE: usize = 256, "calls that wait for one connection to the database", "further ones wait for a place";
    AUDIT_PAGE: usize = 1_000, "entries of the audit in one answer", "the rest comes with the next question";
    /// A `hood` command may run beside the server.
    BUSY: Duration = Duration::from_secs(5), "time that one connection waits for another's lock", "the call fails";
    SECRETS: usize = 1000, "secrets of one team", "403 with `secret_limit_reached`";
    SECRETS_PAGE: usize = 100, "secrets on one page of a listing", "400";
}
