//! One turn over HTTP: the request, the stream, and as many attempts as make sense within the time given.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use reqwest::{Client, RequestBuilder, Response, Url, header, redirect};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{
    ApiKey, Config, ConfigError, Delta, Deltas, ModelError, Patience, Stop, Turn,
    complaint::{Again, Complaint},
    sse::{SseEvent, SseParser},
};
use crate::{limits, text::one_line};

/// What is different between the providers.
pub(crate) trait Wire: Send + Sync {
    /// Adds the headers that carry the key and the protocol's version.
    fn authorise(&self, request: RequestBuilder, key: Option<&ApiKey>) -> RequestBuilder;
    /// Begins to read a stream.
    fn fold(&self) -> Box<dyn Fold>;
    /// Reads an answer that came whole, from an endpoint that does not stream.
    fn whole(&self, answer: &Value) -> Result<Turn, Fault>;
}

/// Reads one stream.
pub(crate) trait Fold: Send {
    /// Takes an event.
    fn take(&mut self, event: &SseEvent, on: Deltas<'_>) -> Result<Flow, Fault>;
    /// The turn, if the stream got as far as to say why it stopped.
    fn finish(self: Box<Self>) -> Option<Turn>;
}

/// Whether a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    Done,
}

/// What can be wrong with an answer that has begun well.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not in the protocol.
    NotUnderstood(String),
    /// It is an error that came in the stream.
    Said(Complaint),
}

/// A model's address, with what is needed to ask there.
#[derive(Debug)]
pub(crate) struct Endpoint {
    client: Client,
    base_url: Url,
    shown: String,
    key: Option<ApiKey>,
    model: String,
    patience: Patience,
}

/// A failed attempt.
struct Setback {
    error: ModelError,
    again: Again,
    /// The endpoint's own wish.
    after: Option<Duration>,
}

// === impl Endpoint ===

impl Endpoint {
    pub(crate) fn new(config: Config) -> Result<Self, ConfigError> {
        // Redirects are not followed: `x-api-key` would go along to wherever they point.
        let mut client = Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(limits::CONNECT)
            .user_agent(concat!("fumehood/", env!("CARGO_PKG_VERSION")));
        if matches!(config.base_url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
            client = client.no_proxy();
        }
        Ok(Self {
            client: client.build().map_err(ConfigError::Client)?,
            shown: without_userinfo(&config.base_url),
            base_url: config.base_url,
            key: config.key,
            model: config.model,
            patience: config.patience,
        })
    }

    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn path(&self) -> &str {
        self.base_url.path()
    }

    pub(crate) fn without_key(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }

    /// Posts `body` to `path` beneath the base URL until a turn comes of it.
    pub(crate) async fn turn(
        &self,
        wire: &dyn Wire,
        path: &str,
        body: &Value,
        on: Deltas<'_>,
    ) -> Result<Turn, ModelError> {
        let deadline = Instant::now() + self.patience.turn;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let setback = match timeout_at(deadline, self.attempt(wire, path, body, on)).await {
                Ok(Ok(turn)) => return Ok(turn),
                Ok(Err(setback)) => setback,
                Err(_) => return Err(ModelError::TooSlow { limit: self.patience.turn }),
            };
            let Some(after) = setback.pause(attempts, rand::random_range(0.5..1.0)) else {
                return Err(setback.error.after(attempts));
            };
            if Instant::now() + after >= deadline {
                return Err(setback.error.after(attempts));
            }
            tracing::debug!(
                attempt = attempts,
                after_ms = after.as_millis() as u64,
                "asking the model again"
            );
            on(Delta::Retry { why: setback.error.after(attempts).to_string(), after });
            sleep(after).await;
        }
    }

    async fn attempt(
        &self,
        wire: &dyn Wire,
        path: &str,
        body: &Value,
        on: Deltas<'_>,
    ) -> Result<Turn, Setback> {
        let mut url = self.base_url.clone();
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
        let request = wire.authorise(self.client.post(url).json(body), self.key.as_ref());
        let sent = timeout(self.patience.idle, request.send()).await.map_err(|_| self.silent())?;
        let response = sent.map_err(|source| self.unreachable(source))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let is_stream = header_text(&response, &header::CONTENT_TYPE).starts_with("text/event-stream");
        let turn = if is_stream {
            self.read_stream(wire.fold(), response.bytes_stream(), on).await?
        } else {
            self.read_whole(wire, response, on).await?
        };
        if turn.text.trim().is_empty() && turn.calls.is_empty() && turn.stop == Stop::Finished {
            return Err(Setback::passing(ModelError::Empty { attempts: 1 }));
        }
        Ok(turn)
    }

    async fn read_stream(
        &self,
        mut fold: Box<dyn Fold>,
        mut chunks: impl Stream<Item = reqwest::Result<bytes::Bytes>> + Unpin,
        on: Deltas<'_>,
    ) -> Result<Turn, Setback> {
        let mut parser = SseParser::default();
        'stream: while let Some(chunk) =
            timeout(self.patience.idle, chunks.next()).await.map_err(|_| self.silent())?
        {
            // A connection that breaks here has brought a part of the answer: the same as an early end.
            let Ok(chunk) = chunk else { break };
            let events = parser.push(&chunk).map_err(|_| self.not_understood("an event is too long"))?;
            for event in &events {
                if fold.take(event, on).map_err(|fault| self.fault(fault))? == Flow::Done {
                    break 'stream;
                }
            }
        }
        fold.finish().ok_or_else(|| Setback::passing(ModelError::CutOff { attempts: 1 }))
    }

    async fn read_whole(&self, wire: &dyn Wire, response: Response, on: Deltas<'_>) -> Result<Turn, Setback> {
        let Some(body) = self.read_body(response, limits::EVENT_BYTES).await? else {
            return Err(Setback::passing(ModelError::CutOff { attempts: 1 }));
        };
        let answer = serde_json::from_slice(&body).map_err(|_| {
            self.not_understood(&format!(
                "`{}`",
                one_line(&String::from_utf8_lossy(&body), limits::SAID_BYTES)
            ))
        })?;
        let turn = wire.whole(&answer).map_err(|fault| self.fault(fault))?;
        if !turn.text.is_empty() {
            on(Delta::Text(turn.text.clone()));
        }
        Ok(turn)
    }

    /// The body as far as `limit`; `None` when the connection broke.
    async fn read_body(&self, response: Response, limit: usize) -> Result<Option<Vec<u8>>, Setback> {
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = timeout(self.patience.idle, chunks.next()).await.map_err(|_| self.silent())? {
            let Ok(chunk) = chunk else { return Ok(None) };
            let room = limit - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if body.len() == limit {
                break;
            }
        }
        Ok(Some(body))
    }

    async fn refused(&self, response: Response) -> Setback {
        let status = response.status().as_u16();
        let after = header_text(&response, &header::RETRY_AFTER).trim().parse().ok().map(Duration::from_secs);
        let body = match self.read_body(response, limits::ERROR_BYTES).await {
            Ok(body) => body.unwrap_or_default(),
            Err(setback) => return setback,
        };
        let body = self.without_key(&String::from_utf8_lossy(&body));
        let (error, again) = Complaint::read(status, &body).judge(&self.shown, &self.model);
        Setback { error, again, after }
    }

    fn fault(&self, fault: Fault) -> Setback {
        match fault {
            Fault::NotUnderstood(what) => self.not_understood(&what),
            Fault::Said(complaint) => {
                let complaint = Complaint { said: self.without_key(&complaint.said), ..complaint };
                let (error, again) = complaint.judge(&self.shown, &self.model);
                Setback { error, again, after: None }
            }
        }
    }

    fn not_understood(&self, what: &str) -> Setback {
        let (endpoint, what) = (self.shown.clone(), self.without_key(what));
        Setback { error: ModelError::NotUnderstood { endpoint, what }, again: Again::Never, after: None }
    }

    fn silent(&self) -> Setback {
        Setback::passing(ModelError::Silent { limit: self.patience.idle, attempts: 1 })
    }

    fn unreachable(&self, source: reqwest::Error) -> Setback {
        // The URL of the error may hold a user name and a password.
        let (endpoint, source) = (self.shown.clone(), source.without_url());
        Setback::passing(ModelError::Unreachable { endpoint, source })
    }
}

// === impl Setback ===

impl Setback {
    fn passing(error: ModelError) -> Self {
        Self { error, again: Again::BackOff, after: None }
    }

    /// How long to wait before the next attempt; `None` for no further one. `jitter` is between 0.5 and 1: many
    /// agents that were refused together should not come back together.
    fn pause(&self, attempts: u32, jitter: f64) -> Option<Duration> {
        if self.again == Again::Never || attempts >= limits::ATTEMPTS {
            return None;
        }
        if let Some(after) = self.after {
            return (after <= limits::RETRY_AFTER_LONGEST).then_some(after);
        }
        let doubled = limits::BACKOFF_FIRST * 2_u32.saturating_pow(attempts - 1);
        Some(doubled.min(limits::BACKOFF_LONGEST).mul_f64(jitter))
    }
}

fn without_userinfo(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for URLs without a host, and `Config` takes none of those.
    if url.set_username("").is_err() || url.set_password(None).is_err() {
        return "the endpoint".to_owned();
    }
    url.as_str().trim_end_matches('/').to_owned()
}

fn header_text<'a>(response: &'a Response, name: &header::HeaderName) -> &'a str {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(after: Option<u64>) -> Setback {
        let error = ModelError::RateLimited { attempts: 1, said: String::new() };
        Setback { error, again: Again::BackOff, after: after.map(Duration::from_secs) }
    }

    #[test]
    fn pauses_double_and_stay_below_the_longest() {
        let pauses: Vec<_> = (1..=4).map(|n| limited(None).pause(n, 1.0).unwrap().as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000]);
        assert_eq!(limited(None).pause(1, 0.5), Some(Duration::from_millis(250)));
        assert_eq!(limited(None).pause(limits::ATTEMPTS, 1.0), None);
    }

    #[test]
    fn the_endpoints_wish_is_kept_unless_it_is_too_long() {
        assert_eq!(limited(Some(7)).pause(1, 0.5), Some(Duration::from_secs(7)));
        assert_eq!(limited(Some(3600)).pause(1, 0.5), None);
    }

    #[test]
    fn a_password_in_the_url_is_not_shown() {
        let url = Url::parse("https://user:secret@host/v1/").unwrap();
        assert_eq!(without_userinfo(&url), "https://host/v1");
    }
}
