//! The address, the key, and how an answer becomes a value or an error.

use std::error::Error;
use std::net::IpAddr;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{ClientError, Code};
use crate::limits;

/// One server, with the key that it is spoken to with. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
}

/// The shapes that errors come in: control plane and proxy (`code` is the status), Connect (`code` is a name).
#[derive(Debug, Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    code: Value,
    message: String,
    #[serde(rename = "sandboxId")]
    sandbox_id: Option<String>,
    port: Option<u16>,
    reason: Option<String>,
}

// === impl Client ===

impl Client {
    /// Nothing is sent yet.
    pub fn new(url: &str, key: &str) -> Result<Self, ClientError> {
        let bad = || ClientError::BadUrl { given: url.to_owned() };
        let base = Url::parse(url).map_err(|_| bad())?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() || base.query().is_some() {
            return Err(bad());
        }
        let mut key = HeaderValue::from_str(key.trim()).map_err(|_| ClientError::BadKey)?;
        if key.is_empty() {
            return Err(ClientError::BadKey);
        }
        key.set_sensitive(true);
        let mut builder = reqwest::Client::builder()
            .connect_timeout(limits::CONNECT)
            .user_agent(concat!("hood/", env!("CARGO_PKG_VERSION")))
            .default_headers(HeaderMap::from_iter([("x-api-key".parse().expect("a valid name"), key)]));
        if is_this_machine(&base) {
            // A proxy for the outside cannot reach what listens on loopback.
            builder = builder.no_proxy();
        }
        Ok(Self { http: builder.build().map_err(ClientError::SetUp)?, base })
    }

    /// Where the server is, without a slash at the end.
    pub fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Whether a server answers there.
    pub async fn health(&self) -> Result<(), ClientError> {
        let request = self.request(Method::GET, &["health"]).timeout(limits::PROBE);
        self.send("reach the server", request).await.map(drop)
    }

    /// A request to the path made of `segments`, each encoded as one.
    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        self.http.request(method, url)
    }

    /// Sends it; any status but success is an error.
    pub(crate) async fn send(
        &self,
        doing: &'static str,
        request: RequestBuilder,
    ) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|source| self.unsent(doing, source))?;
        if response.status().is_success() { Ok(response) } else { Err(refusal(doing, response).await) }
    }

    fn unsent(&self, doing: &'static str, source: reqwest::Error) -> ClientError {
        if source.is_connect() {
            ClientError::NoServer { url: self.url().to_owned(), why: innermost(&source) }
        } else if source.is_timeout() {
            ClientError::Silent { doing, after: limits::CALL }
        } else {
            ClientError::Broken { doing, source: Some(source) }
        }
    }
}

fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

/// The answer's body as JSON, if it is not too long.
pub(crate) async fn json<T: DeserializeOwned>(
    doing: &'static str,
    response: Response,
) -> Result<T, ClientError> {
    let body = whole(doing, response, limits::ANSWER).await?;
    serde_json::from_slice(&body).map_err(|source| not_understood(doing, source))
}

pub(crate) fn not_understood(
    doing: &'static str,
    source: impl Into<Box<dyn Error + Send + Sync>>,
) -> ClientError {
    ClientError::NotUnderstood { doing, source: source.into() }
}

async fn whole(doing: &'static str, mut response: Response, limit: usize) -> Result<Vec<u8>, ClientError> {
    let mut body = Vec::new();
    while let Some(bytes) = next(doing, &mut response).await? {
        if body.len() + bytes.len() > limit {
            return Err(not_understood(doing, format!("it is longer than {} MiB", limit >> 20)));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// The next bytes of a body; `None` at its end.
pub(crate) async fn next(doing: &'static str, response: &mut Response) -> Result<Option<Bytes>, ClientError> {
    match tokio::time::timeout(limits::SILENCE, response.chunk()).await {
        Ok(chunk) => chunk.map_err(|source| ClientError::Broken { doing, source: Some(source) }),
        Err(_elapsed) => Err(ClientError::Silent { doing, after: limits::SILENCE }),
    }
}

/// What an unsuccessful answer says.
async fn refusal(doing: &'static str, mut response: Response) -> ClientError {
    let status = response.status();
    let mut body = Vec::new();
    while body.len() < limits::ERROR {
        match next(doing, &mut response).await {
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            // What came is enough to say that it was refused.
            Ok(None) | Err(_) => break,
        }
    }
    if let Ok(error) = serde_json::from_slice::<ErrorBody>(&body) {
        return error.into_error(doing, status.as_u16());
    }
    let text = String::from_utf8_lossy(&body).trim().to_owned();
    let message = if text.is_empty() { status.to_string() } else { text };
    ClientError::Refused { doing, status: status.as_u16(), message }
}

// === impl ErrorBody ===

impl ErrorBody {
    fn into_error(self, doing: &'static str, status: u16) -> ClientError {
        match (self.sandbox_id, self.port, self.code) {
            (Some(id), None, _) if status == 502 => ClientError::Gone { id, why: self.reason },
            (_, _, Value::String(name)) => {
                let code = serde_json::from_value(Value::String(name)).unwrap_or(Code::Other);
                ClientError::Failed { doing, code, message: self.message }
            }
            _ => ClientError::Refused { doing, status, message: self.message },
        }
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, body: &str, expected: &str) {
        let body: ErrorBody = serde_json::from_str(body).unwrap();
        assert_eq!(format!("{:?}", body.into_error("try", status)), expected);
    }

    #[test]
    fn every_shape_of_error_is_read() {
        check(
            404,
            r#"{"code":404,"message":"no"}"#,
            r#"Refused { doing: "try", status: 404, message: "no" }"#,
        );
        check(
            404,
            r#"{"code":"not_found","message":"no"}"#,
            r#"Failed { doing: "try", code: NotFound, message: "no" }"#,
        );
        check(
            502,
            r#"{"sandboxId":"i1","message":"The sandbox was not found","code":502,"reason":"it was killed"}"#,
            r#"Gone { id: "i1", why: Some("it was killed") }"#,
        );
        check(
            502,
            r#"{"sandboxId":"i1","message":"port","port":1,"code":502}"#,
            r#"Refused { doing: "try", status: 502, message: "port" }"#,
        );
    }

    #[test]
    fn addresses_and_keys_are_checked() {
        for bad in ["localhost:7070", "ftp://host", "", "http://host?x=1"] {
            assert!(matches!(Client::new(bad, "k"), Err(ClientError::BadUrl { .. })), "{bad}");
        }
        assert!(matches!(Client::new("http://host", " "), Err(ClientError::BadKey)));
        assert_eq!(Client::new("http://127.0.0.1:7070/", "k").unwrap().url(), "http://127.0.0.1:7070");
    }

    #[test]
    fn loopback_is_this_machine() {
        let is = |url| is_this_machine(&Url::parse(url).unwrap());
        assert!(is("http://127.0.0.1:1") && is("http://[::1]:1") && is("http://localhost"));
        assert!(!is("http://10.0.0.1") && !is("http://localhost.example"));
    }
}
