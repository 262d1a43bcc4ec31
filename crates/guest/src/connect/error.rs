//! Connect errors: a code from a closed list and a message.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;

use crate::launch::LaunchError;

/// The codes this guest uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Code {
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Unimplemented,
    Internal,
    Unauthenticated,
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Self::InvalidArgument | Self::FailedPrecondition => StatusCode::BAD_REQUEST,
            Self::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::AlreadyExists => StatusCode::CONFLICT,
            Self::PermissionDenied => StatusCode::FORBIDDEN,
            Self::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Self::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
        }
    }
}

/// The error of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ConnectError {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl ConnectError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// From a failed system call on `path`, in the codes that the SDKs turn into their own exceptions.
    pub(crate) fn from_io(error: &std::io::Error, path: &str) -> Self {
        use std::io::ErrorKind as K;
        match error.kind() {
            K::NotFound => Self::new(Code::NotFound, format!("path '{path}' does not exist")),
            K::PermissionDenied => Self::new(Code::PermissionDenied, format!("no permission for '{path}'")),
            K::AlreadyExists => Self::new(Code::AlreadyExists, format!("path already exists: {path}")),
            K::StorageFull | K::QuotaExceeded => {
                Self::new(Code::ResourceExhausted, format!("no space left in the sandbox for '{path}'"))
            }
            K::NotADirectory | K::IsADirectory | K::InvalidInput | K::InvalidFilename => {
                Self::new(Code::InvalidArgument, format!("'{path}': {error}"))
            }
            _ if error.raw_os_error() == Some(libc::ELOOP) => {
                Self::new(Code::FailedPrecondition, format!("'{path}': {error}"))
            }
            _ => Self::new(Code::Internal, format!("'{path}': {error}")),
        }
    }
}

impl From<LaunchError> for ConnectError {
    fn from(error: LaunchError) -> Self {
        let code = match &error {
            LaunchError::UnknownUser(_) => Code::Unauthenticated,
            LaunchError::NoDirectory(_) | LaunchError::BadString { .. } | LaunchError::TooLong { .. } => {
                Code::InvalidArgument
            }
            LaunchError::Exhausted(_) => Code::ResourceExhausted,
            LaunchError::Spawn(spawn) => match spawn.source.kind() {
                std::io::ErrorKind::NotFound => Code::NotFound,
                std::io::ErrorKind::PermissionDenied => Code::PermissionDenied,
                _ => Code::Internal,
            },
            LaunchError::Io(_) => Code::Internal,
        };
        Self::new(code, error.to_string())
    }
}

impl IntoResponse for ConnectError {
    fn into_response(self) -> Response {
        (self.code.status(), axum::Json(self)).into_response()
    }
}
