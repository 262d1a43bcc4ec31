//! One request, passed into a sandbox.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, Version};
use axum::response::Response;
use hood_engine::{ConnectError, Link, Record, SandboxId};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioExecutor, TokioIo};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::cut::CutBody;
use super::deaf::Deaf;
use super::reset::Reset;
use super::signature::Signed;
use super::target::Address;
use super::tunnel::Tunnel;
use super::{answer, head};
use crate::app::App;
use crate::limits;
use crate::reply::logged;
use crate::wire::Notes;

/// The guest's own file and process service: it has a token of its own and is never behind the traffic token.
const ENVD_PORT: u16 = 49983;

/// A conversation with a service inside that has begun.
struct Started {
    response: hyper::Response<Incoming>,
    connection: AbortOnDropHandle<()>,
    cut: CancellationToken,
}

/// Passes a signed request to the sandbox whose token signed it.
pub(crate) async fn forward_signed(app: &App, signed: &Signed, request: Request) -> Response {
    match app.engine.find_by_token(&|token| signed.is_by(token)) {
        Some(record) => {
            let address = Address { id: record.id.to_string(), port: ENVD_PORT };
            let mut response = pass(app, &address, &record, request).await;
            head::defuse(response.headers_mut());
            response
        }
        None => answer::not_signed(),
    }
}

/// Passes a request to its address.
pub(crate) async fn forward(app: &App, to: Address, request: Request) -> Response {
    let awake = match to.id.parse::<SandboxId>() {
        Ok(id) => app.engine.awake(&id).await,
        Err(_) => None,
    };
    match awake {
        Some(record) if !admits(&record, &to, &request) => answer::private(&to.id),
        Some(record) => pass(app, &to, &record, request).await,
        None => answer::not_found(&to.id, app.engine.fate(&to.id)),
    }
}

/// Whether the request has the token that a sandbox without public traffic asks for.
fn admits(record: &Record, to: &Address, request: &Request) -> bool {
    match Notes::traffic_token(record) {
        None => true,
        Some(_) if to.port == ENVD_PORT => true,
        Some(token) => {
            head::traffic_token(request.headers()).is_some_and(|given| token.as_bytes().ct_eq(given).into())
        }
    }
}

/// A connection of its own for every request: it costs a socket in the sandbox's namespace (well under a
/// millisecond), and in return no request can meet a connection that a dying service has half closed.
async fn pass(app: &App, to: &Address, record: &Record, mut request: Request) -> Response {
    let link = match app.engine.link(&record.id, to.port).await {
        Ok(link) => link,
        Err(error) => return unreachable(to, error),
    };
    let client = head::upgrade(request.headers()).map(|_| hyper::upgrade::on(&mut request));
    let reset = request.extensions().get::<Reset>().cloned().unwrap_or_default();
    let mask = Notes::host_mask(record)
        .filter(|_| to.port != ENVD_PORT)
        .and_then(|mask| head::masked(mask, to.port));
    let hop = if head::is_grpc(&request) { Hop::Http2 } else { Hop::Http1 };
    match start(link, hop, head::outgoing(request, mask)).await {
        Ok(mut started) => {
            if to.port != ENVD_PORT {
                head::keep_cookies_home(started.response.headers_mut());
            }
            answer_with(app, to, started, client, reset)
        }
        Err(Failed { cut, error }) => failed(app, to, &cut, error).await,
    }
}

/// The service gave no answer.
struct Failed {
    cut: CancellationToken,
    /// None when the sandbox ended meanwhile.
    error: Option<hyper::Error>,
}

/// What a service inside is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hop {
    Http1,
    Http2,
}

/// Sends the request and waits for the head of the answer, however long that takes: idle limits are the client's.
async fn start(Link { stream, cut }: Link, hop: Hop, request: Request) -> Result<Started, Failed> {
    let failed = |error| Failed { cut: cut.clone(), error };
    let stream = TokioIo::new(Deaf::new(stream));
    let (mut sender, connection) = match hop {
        Hop::Http1 => {
            // As E2B's proxy writes them; some programs look for `Host:` and not for `host:`.
            let (sender, connection) = http1::Builder::new()
                .title_case_headers(true)
                .handshake::<_, Body>(stream)
                .await
                .map_err(|error| failed(Some(error)))?;
            (Sender::Http1(sender), drive(connection.with_upgrades()))
        }
        Hop::Http2 => {
            let (sender, connection) = http2::handshake::<_, _, Body>(TokioExecutor::new(), stream)
                .await
                .map_err(|error| failed(Some(error)))?;
            (Sender::Http2(sender), drive(connection))
        }
    };
    // The cut first: an answer that comes with the sandbox's end is not trusted to be whole.
    tokio::select! {
        biased;
        () = cut.cancelled() => Err(failed(None)),
        answer = sender.send(request) => match answer {
            Ok(response) => Ok(Started { response, connection, cut }),
            Err(error) => Err(failed(Some(error))),
        },
    }
}

/// The half of a connection that takes requests.
enum Sender {
    Http1(http1::SendRequest<Body>),
    Http2(http2::SendRequest<Body>),
}

impl Sender {
    async fn send(&mut self, request: Request) -> hyper::Result<hyper::Response<Incoming>> {
        match self {
            Self::Http1(sender) => sender.send_request(request).await,
            Self::Http2(sender) => sender.send_request(head::for_http2(request)).await,
        }
    }
}

/// The half that moves bytes, in a task of its own.
fn drive(connection: impl Future<Output = hyper::Result<()>> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection into a sandbox broke off");
        }
    }))
}

fn answer_with(
    app: &App,
    to: &Address,
    started: Started,
    client: Option<OnUpgrade>,
    reset: Reset,
) -> Response {
    let Started { mut response, connection, cut } = started;
    let switching = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let protocol = head::upgrade(response.headers());
    head::strip(response.headers_mut());
    // Ours, not the service's: an answer passed on as HTTP/1.0 would end with the connection, and a cut look whole.
    *response.version_mut() = Version::HTTP_11;
    match (switching, client, protocol) {
        (false, ..) => response.map(|body| Body::new(CutBody::new(body, cut, reset, connection))),
        (true, Some(client), Some(protocol)) => {
            let service = hyper::upgrade::on(&mut response);
            app.tasks.spawn(Tunnel { client, service, connection, cut }.run());
            head::switch(response.headers_mut(), protocol);
            response.map(|_| Body::empty())
        }
        (true, ..) => answer::broken(
            &to.id,
            to.port,
            "the service switched protocols without having been asked".to_owned(),
        ),
    }
}

/// Whoever hung up on us may have done so because the sandbox is ending; the engine knows in a moment, and then that
/// is the better answer.
async fn failed(app: &App, to: &Address, cut: &CancellationToken, error: Option<hyper::Error>) -> Response {
    let ended = match error {
        None => true,
        Some(_) => tokio::time::timeout(limits::END_NOTICE, cut.cancelled()).await.is_ok(),
    };
    match error {
        Some(error) if !ended => {
            tracing::debug!(sandbox.id = %to.id, port = to.port, %error, "a service inside did not answer");
            answer::broken(
                &to.id,
                to.port,
                "the service closed the connection without a whole answer".to_owned(),
            )
        }
        _ => answer::not_found(&to.id, app.engine.fate(&to.id)),
    }
}

fn unreachable(to: &Address, error: ConnectError) -> Response {
    match error {
        ConnectError::NotRunning { ended } => answer::not_found(&to.id, ended),
        ConnectError::PortClosed(port) => answer::port_closed(&to.id, port),
        ConnectError::Dial(source) => {
            let id = logged("connecting to a sandbox", &source);
            answer::broken(&to.id, to.port, format!("no connection to the port ({id})"))
        }
    }
}
