//! Errors as E2B's clients expect them: one shape, one match from [`Kind`] to a status.

use std::error::Error;
use std::fmt;

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hood_engine::{CreateError, Explain, Kind, LookupError};
use serde::Serialize;

use crate::limits;

/// Python's client retries 429, 502, 503 and 504 unless this header says `false`.
pub(crate) const SHOULD_RETRY: HeaderName = HeaderName::from_static("should-retry");

/// Characters of an error id after `err_`, from the alphabet below: 10^9 ids, few enough to be read aloud.
const ID_LEN: usize = 6;
const ID_ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// An error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// E2B's machine-readable name, where its clients know one.
    pub(crate) error_code: Option<&'static str>,
}

/// Clients read the status from `code` (JavaScript) or from the status line (Python), so both must say the same.
#[derive(Serialize)]
struct Shape<'a> {
    code: u16,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
}

// === impl Reply ===

impl Reply {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), error_code: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The protocol has it, this server does not. 501 is what no client retries and every client shows.
    pub(crate) fn absent(what: &str) -> Self {
        Self::new(
            StatusCode::NOT_IMPLEMENTED,
            format!("this server does not have {what} yet; nothing was changed"),
        )
    }

    /// Our fault: the client gets an id, the log gets the id and the causes.
    pub(crate) fn internal(doing: &str, cause: &dyn Error) -> Self {
        let id = logged(doing, cause);
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: format!(
                "internal error while {doing} ({id}); the server's log names the cause under this id"
            ),
            error_code: Some("internal_server_error"),
        }
    }

    pub(crate) fn with_code(mut self, error_code: &'static str) -> Self {
        self.error_code = Some(error_code);
        self
    }

    fn explained(doing: &str, error: &(impl Explain + 'static)) -> Self {
        let kind = error.kind();
        if kind == Kind::Internal {
            let mut reply = Self::internal(doing, error);
            if let Some(step) = error.next_step() {
                reply.message = format!("{}; {step}", reply.message);
            }
            return reply;
        }
        let message = match error.next_step() {
            Some(step) => format!("{error}; {step}"),
            None => error.to_string(),
        };
        Self::new(status_of(kind), message)
    }
}

impl From<CreateError> for Reply {
    fn from(error: CreateError) -> Self {
        let reply = Self::explained("creating a sandbox", &error);
        match error.kind() {
            Kind::Exhausted | Kind::NoSpace => reply.with_code("sandbox_capacity_unavailable"),
            Kind::Internal => reply.with_code("sandbox_create_failed"),
            Kind::Invalid | Kind::NotFound | Kind::Conflict | Kind::Unreachable => reply,
        }
    }
}

impl From<LookupError> for Reply {
    fn from(error: LookupError) -> Self {
        Self::explained("reaching a sandbox", &error)
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let shape = Shape { code: self.status.as_u16(), message: &self.message, error_code: self.error_code };
        let mut response = (self.status, Json(shape)).into_response();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, limits::RETRY_AFTER_SECS.into());
        }
        if self.status == StatusCode::BAD_GATEWAY {
            response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }
}

/// The dialect's one translation of the engine's kinds.
fn status_of(kind: Kind) -> StatusCode {
    match kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Exhausted => StatusCode::TOO_MANY_REQUESTS,
        Kind::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        Kind::Unreachable => StatusCode::BAD_GATEWAY,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Writes an internal error to the log and returns the id under which it stands there.
pub(crate) fn logged(doing: &str, cause: &dyn Error) -> String {
    let id = error_id();
    tracing::error!(error.id = %id, doing, causes = %Chain(cause), "internal error");
    id
}

fn error_id() -> String {
    let bytes: [u8; ID_LEN] = rand::random();
    let letters = bytes.iter().map(|b| char::from(ID_ALPHABET[usize::from(b % 32)]));
    "err_".chars().chain(letters).collect()
}

/// An error with everything beneath it.
struct Chain<'a>(&'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(f, ": {cause}")?;
            next = cause.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use hood_engine::ports::StoreError;

    use super::*;

    #[test]
    fn an_internal_error_shows_its_id_and_hides_its_causes() {
        let disk = StoreError::Failed {
            doing: "writing",
            source: Box::new(io::Error::other("/dev/sda1 is on fire")),
        };
        let reply = Reply::internal("creating a sandbox", &CreateError::Store(disk));
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(
            reply.message.starts_with("internal error while creating a sandbox (err_"),
            "{}",
            reply.message
        );
        assert!(!reply.message.contains("fire"), "{}", reply.message);
    }

    #[test]
    fn the_log_gets_the_whole_chain() {
        let disk = StoreError::Failed { doing: "writing", source: Box::new(io::Error::other("on fire")) };
        let chain = Chain(&CreateError::Store(disk)).to_string();
        assert_eq!(chain, "sandbox could not be recorded: the store failed while writing: on fire");
    }
}
