//! Where the connections of a sandbox's programs arrive.

use std::net::{TcpListener, UdpSocket};

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
}
