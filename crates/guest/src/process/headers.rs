//! What a call says in its headers: how long, and how often to show a sign of life.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::request::Parts;
use tokio::time::Instant;

use crate::connect::{Code, ConnectError};
use crate::limits::SIGN_OF_LIFE;

const TIMEOUT: &str = "connect-timeout-ms";
const KEEPALIVE: &str = "keepalive-ping-interval";

/// Shortest and longest interval a client may ask for; others are moved to the nearer end.
const KEEPALIVE_RANGE: (u64, u64) = (1, 3600);

/// `connect-timeout-ms`: the call's own limit, `None` for no limit. Zero is no limit, as the SDKs mean it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit(pub(super) Option<Duration>);

impl Limit {
    /// The moment it is reached, counted from now.
    pub(super) fn deadline(self) -> Option<Instant> {
        // Beyond what the clock can count is as good as never.
        self.0.and_then(|limit| Instant::now().checked_add(limit))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Limit {
    type Rejection = ConnectError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        limit(&parts.headers)
    }
}

/// `keepalive-ping-interval`, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keepalive(pub(super) Duration);

impl<S: Send + Sync> FromRequestParts<S> for Keepalive {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(keepalive(&parts.headers))
    }
}

fn limit(headers: &HeaderMap) -> Result<Limit, ConnectError> {
    let Some(value) = headers.get(TIMEOUT) else { return Ok(Limit(None)) };
    let ms: Option<u64> = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    match ms {
        Some(0) => Ok(Limit(None)),
        Some(ms) => Ok(Limit(Some(Duration::from_millis(ms)))),
        None => {
            let message = format!("{TIMEOUT} is {value:?}; it must be a number of milliseconds");
            Err(ConnectError::new(Code::InvalidArgument, message))
        }
    }
}

fn keepalive(headers: &HeaderMap) -> Keepalive {
    let seconds: Option<u64> =
        headers.get(KEEPALIVE).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let (shortest, longest) = KEEPALIVE_RANGE;
    Keepalive(seconds.map_or(SIGN_OF_LIFE, |s| Duration::from_secs(s.clamp(shortest, longest))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(
            http::HeaderName::from_static(name),
            http::HeaderValue::from_str(value).expect("valid"),
        )])
    }

    #[test]
    fn limits_are_milliseconds_and_zero_is_none() {
        assert_eq!(limit(&HeaderMap::new()), Ok(Limit(None)));
        assert_eq!(limit(&headers(TIMEOUT, "0")), Ok(Limit(None)));
        assert_eq!(limit(&headers(TIMEOUT, "1500")), Ok(Limit(Some(Duration::from_millis(1500)))));
        assert_eq!(limit(&headers(TIMEOUT, "soon")).expect_err("no number").code, Code::InvalidArgument);
        assert!(limit(&headers(TIMEOUT, "18446744073709551615")).expect("a number").0.is_some());
    }

    #[test]
    fn an_interval_is_never_zero() {
        assert_eq!(keepalive(&HeaderMap::new()).0, SIGN_OF_LIFE);
        assert_eq!(keepalive(&headers(KEEPALIVE, "0")).0, Duration::from_secs(1));
        assert_eq!(keepalive(&headers(KEEPALIVE, "50")).0, Duration::from_secs(50));
    }
}
