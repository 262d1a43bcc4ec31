//! An engine on fakes behind the dialect's router, and the few words that the tests speak to it.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use hood_dialect_e2b::{App, Keys, Secrets, router};
use hood_engine::TeamId;
use hood_engine::ports::StoreError;
use hood_testkit::{FakeTemplates, Lab};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;
use tower::ServiceExt;

pub(crate) const DOMAIN: &str = "hood.test:8443";
pub(crate) const KEY: &str = "e2b_0000000000000000000000000000000000000000";

pub(crate) struct Bench {
    pub(crate) lab: Lab,
    pub(crate) router: Router,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// One key of one team, beside a second team's.
struct TwoKeys;

#[async_trait]
impl Keys for TwoKeys {
    async fn team_of(&self, key: &str) -> Result<Option<TeamId>, StoreError> {
        Ok(match key {
            KEY => Some(TeamId("team".into())),
            "other" => Some(TeamId("other".into())),
            _ => None,
        })
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::of(|app| app)
    }

    pub(crate) fn with_secrets(secrets: Arc<dyn Secrets>) -> Self {
        Self::of(|app| app.with_secrets(secrets))
    }

    fn of(change: impl FnOnce(App) -> App) -> Self {
        let lab = Lab::new();
        let templates = Arc::new(FakeTemplates::default());
        let app = App::new(lab.engine.clone(), Arc::new(TwoKeys), templates, DOMAIN);
        Self { lab, router: router(change(app)) }
    }

    /// A request with the key.
    pub(crate) async fn ask(&self, method: Method, uri: &str, body: &str) -> Answer {
        let request = Request::builder().method(method).uri(uri).header("x-api-key", KEY);
        self.send(request.body(Body::from(body.to_owned())).expect("a request")).await
    }

    pub(crate) async fn get(&self, uri: &str) -> Answer {
        self.ask(Method::GET, uri, "").await
    }

    pub(crate) async fn post(&self, uri: &str, body: &str) -> Answer {
        self.ask(Method::POST, uri, body).await
    }

    /// A request as it is.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("infallible");
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.expect("a whole body").to_bytes();
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        Answer { status: head.status, headers: head.headers, text }
    }

    /// A new sandbox's id and token.
    pub(crate) async fn create(&self) -> (String, String) {
        self.create_with(r#"{"templateID":"base"}"#).await
    }

    pub(crate) async fn create_with(&self, body: &str) -> (String, String) {
        let made = self.post("/v2/sandboxes", body).await.expect(StatusCode::CREATED);
        let text = |name: &str| made[name].as_str().expect("text").to_owned();
        (text("sandboxID"), text("envdAccessToken"))
    }

    /// Serves the router on a real socket until the handle is dropped.
    pub(crate) async fn listen(&self) -> (SocketAddr, AbortOnDropHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let router = self.router.clone();
        let serve = tokio::spawn(async move { axum::serve(listener, router).await.expect("serving") });
        (address, AbortOnDropHandle::new(serve))
    }

    /// Every port is served by this: it gets the far end and the head of the first request.
    pub(crate) fn serve_inside<F>(&self, service: fn(DuplexStream, String) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.lab.driver.on_connect(move |_, _, mut far| {
            tokio::spawn(async move {
                let head = read_head(&mut far).await;
                service(far, head).await;
            });
            Ok(())
        });
    }
}

impl Answer {
    /// Its JSON, when it has this status; an error's `code` must be the status too.
    #[track_caller]
    pub(crate) fn expect(&self, status: StatusCode) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        let json: Value =
            if self.text.is_empty() { Value::Null } else { serde_json::from_str(&self.text).expect("JSON") };
        if status.is_client_error() || status.is_server_error() {
            assert_eq!(json["code"], status.as_u16(), "{}", self.text);
        }
        json
    }
}

/// A request for a port of a sandbox, by headers.
pub(crate) fn inside(id: &str, port: u16, method: Method, path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1:7070")
        .header("E2b-Sandbox-Id", id)
        .header("E2b-Sandbox-Port", port.to_string())
}

/// The head of a request on a real connection, by headers.
pub(crate) async fn knock(address: SocketAddr, id: &str, rest: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let head = format!("{rest}\r\nHost: h\r\nE2b-Sandbox-Id: {id}\r\nE2b-Sandbox-Port: 49999\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream
}

/// Reads up to and with this text.
pub(crate) async fn read_until(stream: &mut (impl AsyncReadExt + Unpin), end: &str) -> String {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        match stream.read_u8().await {
            Ok(byte) => text.push(byte),
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&text)),
        }
    }
    String::from_utf8(text).expect("text")
}

pub(crate) async fn read_head(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    read_until(stream, "\r\n\r\n").await
}
