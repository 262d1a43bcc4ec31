//! Opening the way out: straight, or through the policy's proxy.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use hood_policy::{Ceiling, Name, Policy, Socks5, closed_under};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::dns::Resolver;
use crate::limits::DIAL;
use crate::socks;
use crate::visitors::{Visit, Visitors};

/// A way out.
pub(crate) enum Out {
    /// Plain, which can be carried without copying more than needed.
    Plain(TcpStream),
    /// Through TLS to a proxy.
    Sealed(Box<dyn Stream>),
}

/// Both halves of a stream.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// How to get out.
pub(crate) struct Dialer {
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) ceiling: Arc<Ceiling>,
    /// This server's own listener, which is reached straight, and the list of who comes to it from here.
    pub(crate) ingress: Option<(SocketAddr, Visitors)>,
    pub(crate) visits: Mutex<Vec<Visit>>,
}

/// Whether this host has the address itself: what listens there is the host's, not the internet's. Where that cannot be
/// found out, as when there are no descriptors left, it counts as the host's.
pub(crate) fn is_this_host(address: IpAddr) -> bool {
    match std::net::UdpSocket::bind((address, 0)) {
        Err(error) => error.kind() != io::ErrorKind::AddrNotAvailable,
        Ok(_) => true,
    }
}

/// Whether the ceiling opens the address by name.
pub(crate) fn is_opened(ceiling: &Ceiling, address: IpAddr) -> bool {
    ceiling.open.iter().any(|range| range.contains(address))
}

impl Dialer {
    /// Opens it, within [`DIAL`].
    pub(crate) async fn dial(&self, to: SocketAddr) -> io::Result<Out> {
        let dialling = async {
            if let Some((_, visitors)) = self.ingress.as_ref().filter(|(ingress, _)| *ingress == to) {
                let stream = straight(to).await?;
                let visit = visitors.enter(stream.local_addr()?);
                self.visits.lock().unwrap_or_else(PoisonError::into_inner).push(visit);
                return Ok(Out::Plain(stream));
            }
            match &self.policy.proxy {
                None => straight(to).await.map(Out::Plain),
                Some(proxy) => self.through(proxy, to).await,
            }
        };
        tokio::time::timeout(DIAL, dialling).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    async fn through(&self, proxy: &Socks5, to: SocketAddr) -> io::Result<Out> {
        let (host, port) = proxy
            .address
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host.trim_matches(['[', ']']), port.parse::<u16>().ok()?)))
            .ok_or_else(|| io::Error::other("the proxy's address is not `host:port`"))?;
        let mut stream = straight(SocketAddr::new(self.address_of(host).await?, port)).await?;
        let login = proxy.username.as_deref().zip(Some(proxy.password.as_deref().unwrap_or_default()));
        let Some(tls) = &proxy.tls else {
            socks::connect(&mut stream, login, to).await?;
            return Ok(Out::Plain(stream));
        };
        let name = tls.server_name.as_deref().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name).map_err(io::Error::other)?;
        let config = crate::tls::proxy_config(tls.ca.as_deref())?;
        let mut stream = tokio_rustls::TlsConnector::from(config).connect(name, stream).await?;
        socks::connect(&mut stream, login, to).await?;
        Ok(Out::Sealed(Box::new(stream)))
    }

    /// The proxy is named by whoever made the sandbox, so it is no way into closed ranges or this host either.
    async fn address_of(&self, host: &str) -> io::Result<IpAddr> {
        let candidates = if let Ok(address) = host.parse::<IpAddr>() {
            vec![address]
        } else {
            let name: Name = host.parse().map_err(io::Error::other)?;
            self.resolver.addresses(&name).await?
        };
        let may = |address: &IpAddr| {
            closed_under(*address, &self.ceiling).is_none()
                && (is_opened(&self.ceiling, *address) || !is_this_host(*address))
        };
        candidates.into_iter().find(may).ok_or_else(|| {
            io::Error::new(io::ErrorKind::PermissionDenied, "the proxy has no address that may be reached")
        })
    }
}

async fn straight(to: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
