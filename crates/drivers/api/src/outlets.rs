//! Where the connections of a sandbox's programs arrive.

use std::net::{IpAddr, TcpListener, UdpSocket};

use tokio::sync::mpsc;

/// The listeners in a sandbox's network, opened there by the host: whatever a program inside connects to, it reaches
/// one of these. All are non-blocking. Empty where the driver gives its sandboxes no way out at all.
#[derive(Debug, Default)]
pub struct Outlets {
    /// Connections to anywhere; the kernel knows where they were meant for (`SO_ORIGINAL_DST`).
    pub tcp: Vec<TcpListener>,
    /// Questions to any name server, as datagrams.
    pub dns_udp: Vec<UdpSocket>,
    /// Questions to any name server, as streams.
    pub dns_tcp: Vec<TcpListener>,
    /// What the kernel has refused already, since it is neither. A sample where a program sends more than some ten
    /// packets a second. Ends with the sandbox.
    pub refused: Option<mpsc::Receiver<Refused>>,
}

/// A packet that was neither of a connection nor a question about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Where it was going.
    pub to: IpAddr,
    /// Its protocol as in the IP header: 17 is UDP.
    pub protocol: u8,
    /// The port, where the protocol has ports.
    pub port: Option<u16>,
}
