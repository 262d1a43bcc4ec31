//! What can go wrong with file contents, and the HTTP status of each.

use std::io;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use super::multipart::MultipartError;
use crate::filesystem::metadata::MetadataError;
use crate::http::PlainError;
use crate::launch::LaunchError;
use crate::paths::PathError;

/// A refusal of `/files`.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilesError {
    #[error("missing or wrong X-Access-Token, and no signature in the query")]
    NoCredential,
    #[error("invalid signature")]
    BadSignature,
    #[error("signature is already expired")]
    Expired,
    #[error(transparent)]
    Account(#[from] LaunchError),
    #[error("the query is not percent-encoded UTF-8")]
    BadQuery,
    #[error("the query has no `path`")]
    NoPath,
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("path '{0}' ends with a slash, which names a directory")]
    TrailingSlash(String),
    #[error("path '{0}' does not exist")]
    NotFound(String),
    #[error("path '{0}' is a directory")]
    Directory(String),
    #[error("path '{0}' is not a regular file")]
    Irregular(String),
    #[error("no permission for '{0}': the call's user may not; where root is meant, name it as the user")]
    Forbidden(String),
    #[error(
        "the sandbox's disk is full: '{0}' was not written; remove files or create a sandbox with more disk"
    )]
    Full(String),
    #[error("'{path}': {source}")]
    Unusable { path: String, source: io::Error },
    #[error("'{path}': {source}")]
    Io { path: String, source: io::Error },
    #[error("no acceptable encoding: 'identity' and 'gzip' are supported")]
    NotAcceptable,
    #[error("the range is not within the {0} bytes of the file")]
    Range(u64),
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    #[error("'{0}' is on a file system that keeps no metadata")]
    NoMetadata(String),
    #[error("unsupported Content-Encoding '{0}': 'identity' and 'gzip' are supported")]
    Encoding(String),
    #[error("unsupported Content-Type: send multipart/form-data or application/octet-stream")]
    ContentType,
    #[error(transparent)]
    Multipart(#[from] MultipartError),
    #[error("path '{0}' is uploaded twice in one request")]
    Duplicate(String),
    #[error("a request with `path` in its query holds exactly one part named `file`, this one has {0}")]
    PartCount(&'static str),
    #[error("the body ended early: {0}; nothing is left of '{1}'")]
    Aborted(String, String),
    #[error("the body is not valid gzip: {0}")]
    BadGzip(io::Error),
    #[error("the guest's worker was cut short")]
    Cut,
}

impl FilesError {
    /// From a failed system call on `path`.
    pub(super) fn from_io(source: io::Error, path: &str) -> Self {
        use io::ErrorKind as K;
        let path = path.to_owned();
        match source.kind() {
            K::NotFound => Self::NotFound(path),
            K::IsADirectory => Self::Directory(path),
            K::PermissionDenied | K::ReadOnlyFilesystem => Self::Forbidden(path),
            K::StorageFull | K::QuotaExceeded => Self::Full(path),
            K::NotADirectory | K::InvalidFilename | K::InvalidInput | K::ExecutableFileBusy => {
                Self::Unusable { path, source }
            }
            _ => match source.raw_os_error() {
                // A pipe without a reader, a socket, a device without a driver.
                Some(libc::ENXIO | libc::ENODEV) => Self::Irregular(path),
                Some(libc::ELOOP) => Self::Unusable { path, source },
                Some(libc::EOPNOTSUPP) => Self::NoMetadata(path),
                _ => Self::Io { path, source },
            },
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::NoCredential
            | Self::BadSignature
            | Self::Expired
            | Self::Account(LaunchError::UnknownUser(_)) => StatusCode::UNAUTHORIZED,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Full(_) => StatusCode::INSUFFICIENT_STORAGE,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::Range(_) => StatusCode::RANGE_NOT_SATISFIABLE,
            Self::Encoding(_) | Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Account(_) | Self::Io { .. } | Self::Cut => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

impl IntoResponse for FilesError {
    fn into_response(self) -> Response {
        let mut response = PlainError::new(self.status(), self.to_string()).into_response();
        if let Self::Range(size) = self {
            let value = HeaderValue::from_str(&format!("bytes */{size}")).expect("digits are a header value");
            response.headers_mut().insert(header::CONTENT_RANGE, value);
        }
        response
    }
}
