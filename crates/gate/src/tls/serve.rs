//! Requests from the program inside, one connection's worth, and the host's answers.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};

use hood_policy::{Reason, Verdict, decide_request};
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex as AsyncMutex;

use super::refusal::{AnyBody, Refusal};
use super::scrub::{Scrubbed, Scrubber};
use super::tasks::Owner;
use super::upstream::{H2, Sender};
use super::{Facts, Seen, Stopped, request, rules};
use crate::limits::{HEAD, STREAMS};
use crate::secrets::Secrets;

/// What every request of a connection needs.
pub(super) struct Service {
    facts: Facts,
    secrets: Arc<dyn Secrets>,
    /// Set by the request that ended HTTP on this connection.
    tunnel: Mutex<Option<(OnUpgrade, OnUpgrade)>>,
}

/// The way to the host, or why there is none.
pub(super) type Reached = Result<Upstream, String>;

type Pump = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// The way to the host.
pub(super) struct Upstream {
    sender: Sender,
    /// Moves its bytes; ends with the connection.
    pump: Pump,
    tasks: Owner,
}

/// Begins to speak HTTP with the host.
pub(super) async fn connect<U>(stream: U, alpn: &[u8]) -> Reached
where
    U: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let tasks = Owner::new();
    let io = TokioIo::new(stream);
    let shaken = if alpn == H2 {
        let mut builder = hyper::client::conn::http2::Builder::new(tasks.tasks());
        builder.max_header_list_size(HEAD as u32);
        builder.handshake(io).await.map(|(sender, pump)| {
            let pump: Pump = Box::pin(pump);
            (Sender::Http2(sender), pump)
        })
    } else {
        let mut builder = hyper::client::conn::http1::Builder::new();
        // As programs write them; some hosts look for `Authorization:` and not for `authorization:`.
        builder.max_buf_size(HEAD).title_case_headers(true);
        builder.handshake(io).await.map(|(sender, pump)| {
            let pump: Pump = Box::pin(pump.with_upgrades());
            (Sender::Http1(AsyncMutex::new(sender)), pump)
        })
    };
    shaken.map(|(sender, pump)| Upstream { sender, pump, tasks }).map_err(|error| error.to_string())
}

/// Answers requests until the program or the host ends the connection.
pub(super) async fn serve<C>(
    client: C,
    alpn: &[u8],
    upstream: Reached,
    service: Service,
) -> Result<(), Stopped>
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, mut pump, _upstream_tasks) = match upstream {
        Ok(Upstream { sender, pump, tasks }) => (Ok(sender), pump, Some(tasks)),
        Err(why) => (Err(why), never(), None),
    };
    let tasks = Owner::new();
    let shared = Arc::new((service, sender));
    let of_request = shared.clone();
    let answer = service_fn(move |request: Request<Incoming>| {
        let shared = of_request.clone();
        async move { Ok::<_, Infallible>(shared.0.answer(request, &shared.1).await) }
    });
    let io = TokioIo::new(client);
    let mut host_is_gone = false;
    if alpn == H2 {
        let mut builder = hyper::server::conn::http2::Builder::new(tasks.tasks());
        builder.max_concurrent_streams(STREAMS).max_header_list_size(HEAD as u32);
        let mut server = pin!(builder.serve_connection(io, answer));
        loop {
            tokio::select! {
                ended = server.as_mut() => return ended.map_err(Stopped::Http),
                _ = &mut pump, if !host_is_gone => {
                    host_is_gone = true;
                    server.as_mut().graceful_shutdown();
                }
            }
        }
    }
    let mut builder = hyper::server::conn::http1::Builder::new();
    // How long a connection may be silent is the budget's business.
    builder.max_buf_size(HEAD).header_read_timeout(None).half_close(true);
    {
        let mut server = pin!(builder.serve_connection(io, answer).with_upgrades());
        loop {
            tokio::select! {
                ended = server.as_mut() => { ended.map_err(Stopped::Http)?; break }
                _ = &mut pump, if !host_is_gone => {
                    host_is_gone = true;
                    // The answer that is on its way is still passed on.
                    server.as_mut().graceful_shutdown();
                }
            }
        }
    }
    let tunnel = shared.0.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(ends) = tunnel {
        let carried = carry(ends);
        if host_is_gone {
            carried.await;
        } else {
            // The host's side of the tunnel is handed over by its pump.
            let mut carried = pin!(carried);
            tokio::select! {
                () = carried.as_mut() => {}
                _ = pump => carried.await,
            }
        }
    }
    Ok(())
}

/// Passes bytes both ways until both have ended.
async fn carry((inner, outer): (OnUpgrade, OnUpgrade)) {
    let (inner, outer) = match tokio::try_join!(inner, outer) {
        Ok(ends) => ends,
        Err(error) => return tracing::debug!(%error, "a tunnel did not open"),
    };
    let (mut inner, mut outer) = (TokioIo::new(inner), TokioIo::new(outer));
    if let Err(error) = tokio::io::copy_bidirectional(&mut inner, &mut outer).await {
        tracing::debug!(%error, "a tunnel broke");
    }
}

fn never() -> Pump {
    Box::pin(std::future::pending())
}

impl Service {
    pub(super) fn new(facts: Facts, secrets: Arc<dyn Secrets>) -> Self {
        Self { facts, secrets, tunnel: Mutex::default() }
    }

    /// The host's answer, or our own page.
    async fn answer(&self, request: Request<Incoming>, sender: &Result<Sender, String>) -> Response<AnyBody> {
        match self.pass(request, sender).await {
            Ok(response) => response,
            Err(refusal) => refusal.page(),
        }
    }

    async fn pass(
        &self,
        request: Request<Incoming>,
        sender: &Result<Sender, String>,
    ) -> Result<Response<AnyBody>, Refusal> {
        let (mut parts, body) = request.into_parts();
        let policy = self.facts.policy.borrow().clone();
        let rule = policy.host_rule(&self.facts.name);
        let (method, path) = (parts.method.to_string(), parts.uri.path().to_owned());
        let host = request::check_host(&parts, &self.facts);
        let verdict = match (&host, rule) {
            (Ok(()), Some(rule)) => decide_request(&policy, rule, &method, &path),
            // Its rule has gone since the connection was opened.
            (Ok(()), None) => Verdict::Allow(Reason::Base),
            (Err(_), _) => Verdict::Deny(Reason::Request(self.facts.name.to_string())),
        };
        (self.facts.seen)(Seen { method: &method, path: &path, verdict: &verdict });
        host?;
        rules::check(&self.facts, &verdict, &method, &path)?;
        rules::strip_otherwise(&mut parts.headers, rule);
        let transform = rule.map(|rule| rule.transform.clone()).unwrap_or_default();
        rules::check_secured(&transform, &self.facts)?;
        let sender = sender
            .as_ref()
            .map_err(|why| Refusal::Unreachable { host: self.facts.name.to_string(), why: why.clone() })?;
        self.send(parts, body, &transform, sender).await
    }

    async fn send(
        &self,
        mut parts: http::request::Parts,
        body: Incoming,
        transform: &hood_policy::Transform,
        sender: &Sender,
    ) -> Result<Response<AnyBody>, Refusal> {
        let websocket = sender.version() == Version::HTTP_11 && request::wants_websocket(&parts);
        let inner = parts.extensions.remove::<OnUpgrade>();
        request::strip_hop(&mut parts.headers);
        if websocket {
            parts.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            parts.headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        }
        let used = super::fill::fill(&mut parts.headers, transform, &self.facts.team, &*self.secrets).await?;
        let scrubber = Scrubber::new(used);
        if scrubber.is_some() {
            // What is compressed cannot be searched.
            parts.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        request::set_target(&mut parts, &self.facts, sender.version());
        let request = Request::from_parts(parts, body.boxed_unsync());
        let mut response = sender.send(request).await.map_err(|error| {
            tracing::debug!(%error, host = %self.facts.name, "a host broke off");
            Refusal::Broken { host: self.facts.name.to_string() }
        })?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return self.switch(response, inner.filter(|_| websocket), scrubber);
        }
        request::strip_hop(response.headers_mut());
        // It would lead to HTTP/3, which no sandbox can speak.
        response.headers_mut().remove(header::ALT_SVC);
        Ok(match scrubber {
            None => response.map(BodyExt::boxed_unsync),
            Some(scrubber) => {
                scrubber.headers(response.headers_mut());
                response.map(|body| Scrubbed::new(body, scrubber).boxed_unsync())
            }
        })
    }

    /// Hands both sides over to a tunnel, if the program asked for one that may be.
    fn switch(
        &self,
        mut response: Response<Incoming>,
        inner: Option<OnUpgrade>,
        scrubber: Option<Scrubber>,
    ) -> Result<Response<AnyBody>, Refusal> {
        let Some(inner) = inner else {
            return Err(Refusal::Broken { host: self.facts.name.to_string() });
        };
        let outer = hyper::upgrade::on(&mut response);
        *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some((inner, outer));
        if let Some(scrubber) = scrubber {
            scrubber.headers(response.headers_mut());
        }
        Ok(response.map(BodyExt::boxed_unsync))
    }
}
