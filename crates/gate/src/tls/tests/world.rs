//! The three parties of a test.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use hood_policy::{HostRule, Policy, Protocol, Transform, Verdict};
use http::{HeaderMap, Request, Response, StatusCode, Version, request};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Collected, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::ca::Authority;
use crate::secrets::{RevealError, SecretValue, Secrets};
use crate::tls::{Facts, Interceptor, Secured, Seen, TlsConfig, handshake, upstream};

pub(super) const HOST: &str = "api.test";
pub(super) const SECRET: &str = "sk-live-0123456789";

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Any stream.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

pub(super) struct World {
    interceptor: Arc<Interceptor>,
    gate_root: rustls::pki_types::CertificateDer<'static>,
    policy: watch::Sender<Arc<Policy>>,
    host: Arc<Host>,
    gate_tasks: Mutex<JoinSet<()>>,
    seen: Arc<Mutex<Vec<String>>>,
}

/// The real host.
struct Host {
    leaf: Arc<rustls::sign::CertifiedKey>,
    dials: AtomicUsize,
    requests: Mutex<Vec<Sent>>,
    tasks: Mutex<JoinSet<()>>,
    go_on: Notify,
    ended: Arc<Notify>,
}

/// A request as it came to the host.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) version: Version,
    pub(super) target: String,
    pub(super) headers: HeaderMap,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) version: Version,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

pub(super) struct Client {
    sender: ClientSender,
    _tasks: JoinSet<()>,
}

enum ClientSender {
    Http1(hyper::client::conn::http1::SendRequest<Full<Bytes>>),
    Http2(hyper::client::conn::http2::SendRequest<Full<Bytes>>),
}

pub(super) struct Pieces(Incoming);

struct OneSecret;

#[async_trait]
impl Secrets for OneSecret {
    async fn reveal(&self, team: &str, name: &str) -> Result<Option<SecretValue>, RevealError> {
        Ok((team == "team" && name == "token").then(|| SecretValue::new(SECRET.to_owned())))
    }
}

/// A policy that sets `authorization`.
pub(super) fn rule(value: &str) -> Policy {
    let headers = BTreeMap::from([("Authorization".to_owned(), value.to_owned())]);
    let rule =
        HostRule { host: HOST.parse().unwrap(), transform: Transform { headers }, requests: Vec::new() };
    Policy { hosts: vec![rule], ..Policy::default() }
}

pub(super) fn get(path: &str) -> request::Builder {
    Request::get(format!("https://{HOST}{path}"))
}

impl World {
    pub(super) fn new(policy: Policy) -> Self {
        Self::build(policy, true, HOST)
    }

    pub(super) fn of_unknown_authority() -> Self {
        Self::build(rule("Bearer ${e2b.secrets.token}"), false, HOST)
    }

    pub(super) fn with_certificate_for(name: &str) -> Self {
        Self::build(rule("Bearer ${e2b.secrets.token}"), true, name)
    }

    fn build(policy: Policy, trusted: bool, certificate_for: &str) -> Self {
        let hosts_own = Authority::generate("host").unwrap();
        let leaf =
            hosts_own.issue(&[certificate_for.to_owned()], std::time::Duration::from_secs(60)).unwrap();
        let authority = Authority::generate("gate").unwrap();
        let gate_root = authority.certificate().clone();
        let extra_roots = if trusted { vec![hosts_own.certificate().clone()] } else { Vec::new() };
        let interceptor =
            Interceptor::new(TlsConfig { authority, extra_roots }, Arc::new(OneSecret)).unwrap();
        Self {
            interceptor: Arc::new(interceptor),
            gate_root,
            policy: watch::Sender::new(Arc::new(policy)),
            host: Arc::new(Host {
                leaf,
                dials: AtomicUsize::new(0),
                requests: Mutex::default(),
                tasks: Mutex::new(JoinSet::new()),
                go_on: Notify::new(),
                ended: Arc::new(Notify::new()),
            }),
            gate_tasks: Mutex::new(JoinSet::new()),
            seen: Arc::default(),
        }
    }

    /// A connection through the gate, in whose middle TLS has not begun.
    fn connect(&self, protocol: Protocol) -> DuplexStream {
        let (inner, outer) = duplex(1 << 16);
        let seen = self.seen.clone();
        let facts = Facts {
            team: "team".to_owned(),
            name: HOST.parse().unwrap(),
            to: if protocol == Protocol::Tls { "192.0.2.1:443" } else { "192.0.2.1:80" }.parse().unwrap(),
            protocol,
            policy: self.policy.subscribe(),
            seen: Arc::new(move |request: Seen<'_>| {
                let refused = if matches!(request.verdict, Verdict::Deny(_)) { " refused" } else { "" };
                seen.lock().unwrap().push(format!("{} {}{refused}", request.method, request.path));
            }),
        };
        let (interceptor, host) = (self.interceptor.clone(), self.host.clone());
        let secured = facts.secured();
        self.gate_tasks.lock().unwrap().spawn(async move {
            let dial = || async { Ok::<_, io::Error>(host.dialled(secured)) };
            if let Err(stopped) = interceptor.run(outer, dial, facts).await {
                assert!(!stopped.to_string().contains(SECRET));
            }
        });
        inner
    }

    /// A connection with TLS as the program inside makes it.
    async fn shake(
        &self,
        alpn: &[&str],
        name: &str,
    ) -> io::Result<tokio_rustls::client::TlsStream<DuplexStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.gate_root.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|alpn| alpn.as_bytes().to_vec()).collect();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, self.connect(Protocol::Tls)).await
    }

    pub(super) async fn tls(&self, alpn: &[&str], name: &str) -> io::Result<Client> {
        let stream = self.shake(alpn, name).await?;
        let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Client::new(stream, h2).await)
    }

    pub(super) async fn http(&self) -> Client {
        Client::new(self.connect(Protocol::Http), false).await
    }

    pub(super) async fn raw(&self, name: &str) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(self.shake(&[], name).await?))
    }

    pub(super) fn raw_http(&self) -> Box<dyn Stream> {
        Box::new(self.connect(Protocol::Http))
    }

    pub(super) fn upstream(&self) -> Sent {
        self.host.requests.lock().unwrap().last().expect("a request").clone()
    }

    pub(super) fn requests(&self) -> usize {
        self.host.requests.lock().unwrap().len()
    }

    pub(super) fn dials(&self) -> usize {
        self.host.dials.load(Ordering::SeqCst)
    }

    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn replace(&self, policy: Policy) {
        self.policy.send_replace(Arc::new(policy));
    }

    pub(super) fn go_on(&self) {
        self.host.go_on.notify_one();
    }

    pub(super) fn upstream_ended(&self) -> Arc<Notify> {
        self.host.ended.clone()
    }

    pub(super) fn stop_gate(&self) {
        self.gate_tasks.lock().unwrap().abort_all();
    }
}

impl Host {
    fn dialled(self: Arc<Self>, secured: Secured) -> DuplexStream {
        self.dials.fetch_add(1, Ordering::SeqCst);
        let (near, far) = duplex(1 << 16);
        let host = self.clone();
        self.tasks.lock().unwrap().spawn(async move {
            match secured {
                Secured::No => host.clone().serve(far, false).await,
                Secured::Yes => {
                    let Ok(hello) = handshake::hello(far).await else { return };
                    let offered = hello.offered();
                    let alpn = handshake::chosen(offered.first().map(Vec::as_slice));
                    let Ok(stream) = hello.accept(host.leaf.clone(), alpn).await else { return };
                    host.clone().serve(stream, alpn == upstream::H2).await;
                }
            }
            host.ended.notify_one();
        });
        near
    }

    async fn serve(self: Arc<Self>, stream: impl Stream + 'static, h2: bool) {
        let host = self.clone();
        let service = service_fn(move |request| host.clone().answer(request));
        let io = TokioIo::new(stream);
        // How it ends is not what is tested.
        if h2 {
            hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(io, service)
                .await
                .ok();
        } else {
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(io, service);
            connection.with_upgrades().await.ok();
        }
    }

    async fn answer(self: Arc<Self>, mut request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        self.requests.lock().unwrap().push(Sent {
            version: request.version(),
            target: request.uri().path_and_query().unwrap().to_string(),
            headers: request.headers().clone(),
        });
        let echoed = request.headers().get("authorization").cloned();
        let path = request.uri().path().to_owned();
        if path == "/ws" {
            let upgrade = hyper::upgrade::on(&mut request);
            self.tasks.lock().unwrap().spawn(async move {
                let (mut read, mut write) = tokio::io::split(TokioIo::new(upgrade.await.unwrap()));
                tokio::io::copy(&mut read, &mut write).await.ok();
            });
            let response = Response::builder()
                .status(101)
                .header("connection", "upgrade")
                .header("upgrade", "websocket");
            return Ok(response.body(text("")).unwrap());
        }
        if path == "/events" {
            return Ok(Response::new(self.events()));
        }
        let mut out: String = request.headers().iter().fold(String::new(), |text, (name, value)| {
            text + &format!("{name}: {}\n", value.to_str().unwrap())
        });
        let body = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
        out.push_str(std::str::from_utf8(&body).unwrap());
        let mut response = Response::new(text(&out));
        if let Some(echoed) = echoed {
            response.headers_mut().insert("x-echo", echoed);
        }
        Ok(response)
    }

    fn events(self: Arc<Self>) -> Body {
        let (send, receive) = mpsc::channel::<Bytes>(1);
        let host = self.clone();
        self.tasks.lock().unwrap().spawn(async move {
            send.send(Bytes::from_static(b"data: 1\n\n")).await.ok();
            host.go_on.notified().await;
            send.send(Bytes::from_static(b"data: 2\n\n")).await.ok();
        });
        let stream = futures_util::stream::unfold(receive, |mut receive| async move {
            receive.recv().await.map(|bytes| (Ok(Frame::data(bytes)), receive))
        });
        StreamBody::new(stream).boxed_unsync()
    }
}

fn text(text: &str) -> Body {
    Full::new(Bytes::copy_from_slice(text.as_bytes())).boxed_unsync()
}

impl Client {
    async fn new(stream: impl Stream + 'static, h2: bool) -> Self {
        let mut tasks = JoinSet::new();
        let io = TokioIo::new(stream);
        let sender = if h2 {
            let (sender, pump) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            tasks.spawn(async move { drop(pump.await) });
            ClientSender::Http2(sender)
        } else {
            let (sender, pump) = hyper::client::conn::http1::handshake(io).await.unwrap();
            tasks.spawn(async move { drop(pump.await) });
            ClientSender::Http1(sender)
        };
        Self { sender, _tasks: tasks }
    }

    pub(super) async fn send(&mut self, request: request::Builder) -> Answer {
        self.send_with(request, "").await
    }

    pub(super) async fn send_with(&mut self, request: request::Builder, body: &str) -> Answer {
        let response = self.response(request, body).await;
        let (parts, body) = response.into_parts();
        let text =
            String::from_utf8(body.collect().await.expect("a whole body").to_bytes().to_vec()).unwrap();
        Answer { status: parts.status, version: parts.version, headers: parts.headers, text }
    }

    pub(super) async fn open(&mut self, request: request::Builder) -> Pieces {
        Pieces(self.response(request, "").await.into_body())
    }

    async fn response(&mut self, request: request::Builder, body: &str) -> Response<Incoming> {
        let mut request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap();
        match &mut self.sender {
            ClientSender::Http2(sender) => sender.send_request(request).await.expect("an answer"),
            ClientSender::Http1(sender) => {
                let host = request.uri().authority().unwrap().to_string();
                request.headers_mut().insert("host", host.parse().unwrap());
                *request.uri_mut() = request.uri().path_and_query().unwrap().to_string().parse().unwrap();
                sender.send_request(request).await.expect("an answer")
            }
        }
    }
}

impl Pieces {
    pub(super) async fn next_text(&mut self) -> String {
        let frame = self.0.frame().await.expect("more").expect("whole");
        String::from_utf8(frame.into_data().expect("bytes").to_vec()).unwrap()
    }
}
