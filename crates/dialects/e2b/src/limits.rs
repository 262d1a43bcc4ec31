//! Every ceiling this dialect keeps, declared once: the constants, and the table for `LIMITS.md`.
//!
//! The data path has none on size or total time of a body.

use std::time::Duration;

hood_limits::limits! {
    JSON_BODY: usize = 1 << 20, bytes, "a control-plane request body", "413";
    JSON_BODY_TIME: Duration = Duration::from_secs(30), "time for a control-plane request body to arrive", "408";
    UNREAD_BODY: usize = 64 << 20, bytes, "what is still read of a request body after the answer", "the connection is closed";
    UNREAD_BODY_TIME: Duration = Duration::from_secs(10), "how long it is read", "the connection is closed";
    PAGE: usize = 100, "sandboxes on one page of a listing", "400";
    SECRETS_PAGE: usize = 100, "secrets on one page of a listing", "400";
    SECRET_NAME: usize = 128, "characters of a secret's name", "400";
    SECRET_VALUE: usize = 64 << 10, bytes, "a secret's value", "400";
    SECRET_LABELS: usize = 32, "entries of a secret's metadata", "400";
    SECRET_LABEL_NAME: usize = 128, bytes, "the name of an entry of a secret's metadata", "400";
    SECRET_LABEL_VALUE: usize = 1024, bytes, "the value of an entry of a secret's metadata", "400";
    SECRET_LABELS_BYTES: usize = 8192, bytes, "a secret's metadata together", "400";
    VOLUME_PATH: usize = 4096, bytes, "a path in a volume", "400";
    VOLUME_DEPTH: usize = 64, "levels in one listing of a volume", "400";
    VOLUME_ENTRIES: usize = 10_000, "entries in one listing of a volume", "400";
    /// As many as every sandbox has.
    VOLUME_IDS: u32 = 65_536, "user and group ids of files in a volume", "400";
    VOLUME_PIECE: usize = 256 << 10, bytes, "what is read of a volume's file at once", "the next piece follows";
    VOLUME_SILENCE: Duration = Duration::from_secs(60), "silence of a client that sends a file for a volume", "408; nothing is kept";
    LOG_LINES: usize = 1000, "log lines in one answer", "400";
    METRICS_IDS: usize = 100, "sandboxes in one `GET /sandboxes/metrics`", "400";
    REFRESH_SECS: i64 = 3600, secs, "a legacy refresh", "400";
    IDEMPOTENCY_KEY: usize = 255, "characters of an idempotency key", "400";
    IDEMPOTENCY_KEYS: usize = 4096, "idempotency keys remembered", "the oldest is forgotten";
    IDEMPOTENCY_AGE: Duration = Duration::from_secs(3600), "how long an idempotency key is remembered", "it is forgotten";
    TIMEOUT_V2_SECS: i64 = 300, secs, "life of a sandbox whose `POST /v2/sandboxes`, or v2 connect, names no timeout (E2B's default)", "it ends", "create call (`timeout`)";
    TIMEOUT_V1_SECS: i64 = 15, secs, "the same for `POST /sandboxes` and the legacy refresh", "it ends", "create call (`timeout`)";
    END_NOTICE: Duration = Duration::from_millis(250), "wait for the news that a sandbox ended, after a service in it hung up without an answer", "502 names the service";
}

/// Seconds that a client is told to wait after a 429.
pub const RETRY_AFTER_SECS: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_unit() {
        let values: Vec<_> = inventory().into_iter().map(|limit| limit.value).collect();
        assert_eq!(&values[..3], ["1 MiB", "30 s", "64 MiB"]);
        assert_eq!(values.last().map(String::as_str), Some("250 ms"));
    }
}
