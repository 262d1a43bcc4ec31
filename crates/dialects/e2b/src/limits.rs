//! Every ceiling this dialect keeps, declared once: the constants, and the table for `LIMITS.md`.
//!
//! The data path has none on size or total time of a body.

use std::time::Duration;

use hood_engine::Bytes;
use hood_engine::limits::Limit;

macro_rules! limits {
    ($($name:ident: $kind:ty = $value:expr, $shown:expr, $what:literal, $when_met:literal;)*) => {
        $(
            #[doc = concat!("Ceiling: ", $what, ". When met: ", $when_met, ".")]
            pub const $name: $kind = $value;
        )*

        /// All of them, in the order of the source.
        pub fn inventory() -> Vec<Limit> {
            vec![$(Limit {
                name: stringify!($name),
                value: $shown($name),
                what: $what,
                when_met: $when_met,
            }),*]
        }
    };
}

limits! {
    JSON_BODY: usize = 1 << 20, bytes, "a control-plane request body", "413";
    JSON_BODY_TIME: Duration = Duration::from_secs(30), time, "time for a control-plane request body to arrive", "408";
    UNREAD_BODY: usize = 64 << 20, bytes, "what is still read of a request body after the answer", "the connection is closed";
    UNREAD_BODY_TIME: Duration = Duration::from_secs(10), time, "how long it is read", "the connection is closed";
    PAGE: usize = 100, count, "sandboxes on one page of a listing", "400";
    LOG_LINES: usize = 1000, count, "log lines in one answer", "400";
    METRICS_IDS: usize = 100, count, "sandboxes in one `GET /sandboxes/metrics`", "400";
    REFRESH_SECS: i64 = 3600, secs, "a legacy refresh", "400";
    IDEMPOTENCY_KEY: usize = 255, count, "characters of an idempotency key", "400";
    IDEMPOTENCY_KEYS: usize = 4096, count, "idempotency keys remembered", "the oldest is forgotten";
    IDEMPOTENCY_AGE: Duration = Duration::from_secs(3600), time, "how long an idempotency key is remembered", "it is forgotten";
    END_NOTICE: Duration = Duration::from_millis(250), time, "wait for the news that a sandbox ended, after a service in it hung up without an answer", "502 names the service";
}

/// Seconds that a client is told to wait after a 429.
pub const RETRY_AFTER_SECS: u32 = 1;

/// Seconds a sandbox lives when a `POST /v2/sandboxes`, or a v2 connect, names no timeout (E2B's default).
pub const TIMEOUT_V2_SECS: i64 = 300;

/// The same for `POST /sandboxes` (v1) and the legacy refresh.
pub const TIMEOUT_V1_SECS: i64 = 15;

fn bytes(n: usize) -> String {
    Bytes(n as u64).to_string()
}

fn count(n: usize) -> String {
    n.to_string()
}

fn secs(n: i64) -> String {
    format!("{n} s")
}

fn time(d: Duration) -> String {
    if d.subsec_millis() == 0 { format!("{} s", d.as_secs()) } else { format!("{} ms", d.as_millis()) }
}

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
