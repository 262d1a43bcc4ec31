//! Our own extractors, so that whatever is wrong with a request is answered in the protocol's shape.

use std::future::Future;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use hood_engine::TeamId;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::limits;
use crate::reply::Reply;

/// The team whose key came with the request.
pub(crate) struct Caller(pub(crate) TeamId);

/// A JSON body of bounded size; an absent one counts as `{}`, since clients send either.
pub(crate) struct Body<T> {
    pub(crate) value: T,
    /// As it came, for the idempotency check.
    pub(crate) bytes: Bytes,
}

/// The one parameter of a path, percent-decoded after routing: `%2F` in a name does not make a new segment.
pub(crate) struct Name(pub(crate) String);

/// The query string, decoded once.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

// === impl Caller ===

impl FromRequestParts<App> for Caller {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Reply> {
        team_of(app, &parts.headers).await.map(Self)
    }
}

/// Whose key the request carries.
pub(crate) async fn team_of(app: &App, headers: &HeaderMap) -> Result<TeamId, Reply> {
    let Some(key) = api_key(headers) else {
        return Err(Reply::new(
            StatusCode::UNAUTHORIZED,
            "no API key came with the request; send it as `X-API-Key`, or run `eval \"$(hood env)\"` for the SDKs",
        ));
    };
    match app.keys.team_of(key).await {
        Ok(Some(team)) => Ok(team),
        Ok(None) => Err(Reply::new(
            StatusCode::UNAUTHORIZED,
            "this API key is not known here; `hood env` prints the one of this server",
        )),
        Err(cause) => Err(Reply::internal("checking the API key", &cause)),
    }
}

/// Older releases send the key as a bearer token on some calls.
fn api_key(headers: &HeaderMap) -> Option<&str> {
    let own = headers.get("x-api-key").and_then(|v| v.to_str().ok());
    let bearer = || headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ");
    own.or_else(bearer).map(str::trim).filter(|key| !key.is_empty())
}

// === impl Body ===

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Reply;

    async fn from_request(request: Request, _: &App) -> Result<Self, Reply> {
        let bytes = read(request).await?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let value = serde_json::from_slice(text).map_err(|error| {
            // serde_json's text ends with the line and the column.
            let what = if error.is_data() {
                "the request body does not fit"
            } else {
                "the request body is not JSON"
            };
            Reply::invalid(format!("{what}: {error}"))
        })?;
        Ok(Self { value, bytes })
    }
}

async fn read(request: Request) -> Result<Bytes, Reply> {
    let body = Limited::new(request.into_body(), limits::JSON_BODY).collect();
    match tokio::time::timeout(limits::JSON_BODY_TIME, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Reply::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the request body is larger than {} bytes", limits::JSON_BODY),
        )),
        Ok(Err(error)) => Err(Reply::invalid(format!("the request body broke off: {error}"))),
        Err(_) => Err(Reply::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("the request body did not arrive within {} s", limits::JSON_BODY_TIME.as_secs()),
        )),
    }
}

// === impl Name ===

impl FromRequestParts<App> for Name {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Reply> {
        match Path::<String>::from_request_parts(parts, app).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(rejection) => Err(Reply::invalid(rejection.body_text())),
        }
    }
}

// === impl Query ===

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Reply;

    fn from_request_parts(parts: &mut Parts, _: &S) -> impl Future<Output = Result<Self, Reply>> + Send {
        let parsed = Self::parse(parts.uri.query().unwrap_or_default())
            .map_err(|NotUtf8| Reply::invalid("the query string holds bytes that are not UTF-8"));
        std::future::ready(parsed)
    }
}

/// The decoded bytes are not text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotUtf8;

impl Query {
    /// Parses `application/x-www-form-urlencoded` text.
    pub(crate) fn parse(text: &str) -> Result<Self, NotUtf8> {
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(&key.replace('+', " "))?, decode(&value.replace('+', " "))?))
        };
        text.split('&').filter(|p| !p.is_empty()).map(pair).collect::<Result<_, _>>().map(Self)
    }

    /// The first value of that name; an empty one counts as absent, since clients leave empties in.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).filter(|v| !v.is_empty())
    }

    /// The first value of that name, be it empty.
    pub(crate) fn raw(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A whole number between two bounds.
    pub(crate) fn number(&self, name: &str, min: i64, max: i64) -> Result<Option<i64>, Reply> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => Ok(Some(number)),
            _ => Err(Reply::invalid(format!(
                "`{name}` must be a whole number from {min} to {max}, not `{}`",
                shown(text)
            ))),
        }
    }

    pub(crate) fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }
}

/// Percent-decodes once.
pub(crate) fn decode(text: &str) -> Result<String, NotUtf8> {
    percent_decode_str(text).decode_utf8().map(std::borrow::Cow::into_owned).map_err(|_| NotUtf8)
}

/// A client's text short enough for a message.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN: usize = 64;
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded_once() {
        let query = Query::parse("a=b+c&metadata=a%252520b%3Dc%252526d&&empty=").expect("text");
        assert_eq!(query.get("a"), Some("b c"));
        assert_eq!(query.get("metadata"), Some("a%2520b=c%2526d"));
        assert_eq!(query.get("empty"), None);
        assert_eq!(Query::parse("a=%ff"), Err(NotUtf8));
    }

    #[test]
    fn numbers_outside_their_bounds_are_named() {
        let query = Query::parse("limit=500&word=x").expect("text");
        let message = query.number("limit", 1, 100).expect_err("too large").message;
        assert_eq!(message, "`limit` must be a whole number from 1 to 100, not `500`");
        assert!(query.number("word", 1, 100).is_err());
        assert_eq!(query.number("none", 1, 100), Ok(None));
    }

    #[test]
    fn a_key_may_come_as_a_bearer_token() {
        let mut headers = HeaderMap::new();
        assert_eq!(api_key(&headers), None);
        headers.insert(header::AUTHORIZATION, "Bearer e2b_old".parse().expect("a value"));
        assert_eq!(api_key(&headers), Some("e2b_old"));
        headers.insert("x-api-key", "e2b_new".parse().expect("a value"));
        assert_eq!(api_key(&headers), Some("e2b_new"));
    }
}
