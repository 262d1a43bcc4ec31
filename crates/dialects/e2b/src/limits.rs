//! Every ceiling this dialect keeps, with what happens when it is met.

use std::time::Duration;

/// Bytes of a control-plane request body; more is refused with 413. The data path has no such ceiling.
pub const JSON_BODY: usize = 1 << 20;

/// Time for a control-plane request body to arrive; later is refused with 408.
pub const JSON_BODY_TIME: Duration = Duration::from_secs(30);

/// Sandboxes on one page of a listing; a larger `limit` is refused with 400.
pub const PAGE: usize = 100;

/// Log lines in one answer; a larger `limit` is refused with 400.
pub const LOG_LINES: usize = 1000;

/// Sandboxes in one `GET /sandboxes/metrics`; more ids are refused with 400.
pub const METRICS_IDS: usize = 100;

/// Idempotency keys remembered; beyond it the oldest is forgotten.
pub const IDEMPOTENCY_KEYS: usize = 4096;

/// How long an idempotency key is remembered.
pub const IDEMPOTENCY_AGE: Duration = Duration::from_secs(3600);

/// Characters of an idempotency key; more is refused with 400.
pub const IDEMPOTENCY_KEY: usize = 255;

/// How long to wait, after a service inside hung up without an answer, for the news that its sandbox has ended.
pub const END_NOTICE: Duration = Duration::from_millis(250);

/// Seconds that a client is told to wait after a 429.
pub const RETRY_AFTER_SECS: u32 = 1;

/// Seconds a sandbox lives when a `POST /v2/sandboxes`, or a v2 connect, names no timeout (E2B's default).
pub const TIMEOUT_V2_SECS: i64 = 300;

/// The same for `POST /sandboxes` (v1), the legacy resume and the legacy refresh.
pub const TIMEOUT_V1_SECS: i64 = 15;

/// Longest legacy refresh, in seconds; more is refused with 400.
pub const REFRESH_SECS: i64 = 3600;
