//! One request message, one answer.

use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Code, ConnectError};
use crate::limits::MAX_MESSAGE;

/// The message of a unary call. An empty body is an empty message.
pub(crate) struct Unary<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Unary<T> {
    type Rejection = ConnectError;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let body = Limited::new(request.into_body(), MAX_MESSAGE).collect().await.map_err(|error| {
            ConnectError::new(
                Code::ResourceExhausted,
                format!("message not read: {error}; at most {MAX_MESSAGE} bytes"),
            )
        })?;
        parse(&body.to_bytes()).map(Self)
    }
}

/// The answer of a unary call.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ConnectError> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes)
        .map_err(|error| ConnectError::new(Code::InvalidArgument, format!("malformed message: {error}")))
}
