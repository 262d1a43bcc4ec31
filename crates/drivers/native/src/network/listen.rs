//! The gate's listeners in a sandbox's network.
//!
//! They belong to the server, which opens them inside. Programs inside see them in `/proc/net/tcp`, and cannot take
//! their place: none of them shares its port.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use hood_driver_api::Outlets;
use rustix::net::sockopt::{set_ip_freebind, set_ipv6_freebind, set_ipv6_v6only};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use super::refused;
use super::{CONNECTIONS, GATE, NAMES};

/// Connections that a listener holds until the gate takes them; the kernel allows no more by default.
pub(crate) const BACKLOG: u32 = 4096;

/// What the server holds of a sandbox's network.
pub(crate) struct Listeners {
    pub(crate) outlets: Outlets,
    /// Where the kernel tells of packets that it has refused.
    pub(crate) refused: OwnedFd,
}

/// Opens all of them in this thread's network.
pub(crate) fn open() -> io::Result<Listeners> {
    let mut outlets = Outlets::default();
    for gate in [IpAddr::V4(GATE.0), IpAddr::V6(GATE.1)] {
        let connections = match socket(gate, SocketType::STREAM, CONNECTIONS) {
            // The host has IPv6 switched off.
            Err(error) if gate.is_ipv6() && error.raw_os_error() == Some(libc::EAFNOSUPPORT) => continue,
            other => other?,
        };
        outlets.tcp.push(hear(connections)?);
        outlets.dns_tcp.push(hear(socket(gate, SocketType::STREAM, NAMES)?)?);
        outlets.dns_udp.push(UdpSocket::from(socket(gate, SocketType::DGRAM, NAMES)?));
    }
    Ok(Listeners { outlets, refused: refused::subscribe()? })
}

fn hear(socket: OwnedFd) -> io::Result<TcpListener> {
    listen(&socket, BACKLOG.cast_signed())?;
    Ok(TcpListener::from(socket))
}

fn socket(address: IpAddr, kind: SocketType, port: u16) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    // The gate's address is on no interface.
    if address.is_ipv4() {
        set_ip_freebind(&socket, true)?;
    } else {
        set_ipv6_freebind(&socket, true)?;
        set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &SocketAddr::new(address, port))?;
    Ok(socket)
}
