//! Which encodings of messages are spoken: JSON, alone and in envelopes.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};

use super::{Code, ConnectError};

/// A layer that refuses every other encoding with 415, as the Connect protocol asks. A missing content type passes:
/// people try things with `curl`.
pub(crate) async fn require_json(request: Request, next: Next) -> Response {
    match foreign(request.headers()) {
        None => next.run(request).await,
        Some(codec) => {
            let message = format!(
                "messages of type `{codec}` are not supported; send `application/json`, or \
                 `application/connect+json` for a streaming method"
            );
            let mut response = ConnectError::new(Code::Unimplemented, message).into_response();
            *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            response
        }
    }
}

fn foreign(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?;
    let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
    let kind = value.split(';').next().unwrap_or_default().trim();
    (!matches!(kind, "application/json" | "application/connect+json")).then(|| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content_type: &'static str, expected: Option<&str>) {
        let headers =
            HeaderMap::from_iter([(header::CONTENT_TYPE, http::HeaderValue::from_static(content_type))]);
        assert_eq!(foreign(&headers).as_deref(), expected);
    }

    #[test]
    fn only_json_is_spoken() {
        check("application/json", None);
        check("Application/JSON; charset=utf-8", None);
        check("application/connect+json", None);
        check("application/proto", Some("application/proto"));
        check("application/connect+proto", Some("application/connect+proto"));
        assert_eq!(foreign(&HeaderMap::new()), None);
    }
}
