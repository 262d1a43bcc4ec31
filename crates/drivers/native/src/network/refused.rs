//! Packets that the kernel has refused: what it tells of them. Numbers: `linux/netfilter/nfnetlink_log.h`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram as StdUnixDatagram;

use hood_driver_api::Refused;
use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};
use tokio::net::UnixDatagram;
use tokio::sync::mpsc;

use super::batch::{Writer, exchange};

/// The group that `data/network.nft` names.
const GROUP: u16 = 1;

/// Reports that wait for the gate; beyond it they are lost. The rules let no more than ten a second through.
pub(crate) const WAITING: usize = 64;

const LOG: u16 = 4 << 8;
const PACKET: u16 = LOG;
const CONFIGURE: u16 = LOG | 1;
const PAYLOAD: u16 = 9;
const HEADER: usize = 16;
const FAMILY_HEADER: usize = 4;

/// A socket on which this thread's network tells of refused packets.
pub(super) fn subscribe() -> io::Result<OwnedFd> {
    const COMMAND: u16 = 1;
    const MODE: u16 = 2;
    const BIND: u8 = 1;
    const COPY_PACKET: u8 = 2;
    /// Of each packet: the longer of the two IP headers, and ports.
    const BYTES: u32 = 64;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::NETFILTER))?;
    let [high, low] = GROUP.to_be_bytes();
    let mut writer = Writer::default();
    writer.message(CONFIGURE, 0, &[0, 0, high, low], |w| {
        w.attribute(COMMAND, &[BIND]);
        let [a, b, c, d] = BYTES.to_be_bytes();
        w.attribute(MODE, &[a, b, c, d, COPY_PACKET, 0]);
    });
    exchange(&socket, &writer.finish(1))?;
    Ok(socket)
}

/// Passes on what the kernel tells, until nobody wants it any more.
pub(crate) async fn report(socket: OwnedFd, to: mpsc::Sender<Refused>) -> io::Result<()> {
    // To receive a message is the same call for every socket that has messages.
    let socket = UnixDatagram::from_std(StdUnixDatagram::from(socket))?;
    let mut buffer = vec![0; 8 << 10];
    loop {
        let received = tokio::select! {
            received = socket.recv(&mut buffer) => received,
            () = to.closed() => return Ok(()),
        };
        match received {
            Ok(n) => {
                for refused in packets(buffer.get(..n).unwrap_or_default()) {
                    // A gate that lags loses reports, as it would in the kernel's own queue.
                    to.try_send(refused).ok();
                }
            }
            // The kernel's queue was full.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Where the packets in one datagram of the kernel's were going.
fn packets(mut bytes: &[u8]) -> Vec<Refused> {
    let mut found = Vec::new();
    while let Some((size, kind)) = head(bytes, 4) {
        let message = bytes.get(..size).unwrap_or(bytes);
        if kind == PACKET {
            found.extend(message.get(HEADER + FAMILY_HEADER..).and_then(payload).and_then(destination));
        }
        let Some(rest) = bytes.get(size.max(HEADER).next_multiple_of(4)..) else { break };
        bytes = rest;
    }
    found
}

/// Size and kind of a message (`width` 4) or attribute (2).
fn head(bytes: &[u8], width: usize) -> Option<(usize, u16)> {
    let size = match bytes.get(..width)? {
        [a, b] => usize::from(u16::from_ne_bytes([*a, *b])),
        [a, b, c, d] => usize::try_from(u32::from_ne_bytes([*a, *b, *c, *d])).ok()?,
        _ => return None,
    };
    let kind = bytes.get(width..width + 2)?;
    Some((size, u16::from_ne_bytes(kind.try_into().ok()?)))
}

fn payload(mut attributes: &[u8]) -> Option<&[u8]> {
    loop {
        let (size, kind) = head(attributes, 2)?;
        let value = attributes.get(4..size)?;
        if kind == PAYLOAD {
            return Some(value);
        }
        attributes = attributes.get(size.next_multiple_of(4)..)?;
    }
}

/// From a packet's header. Extension headers of IPv6 are not followed: the first one is then the protocol.
fn destination(packet: &[u8]) -> Option<Refused> {
    let (to, protocol, start): (IpAddr, u8, usize) = match packet.first()? >> 4 {
        4 => {
            let to: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
            (Ipv4Addr::from(to).into(), *packet.get(9)?, usize::from(packet.first()? & 0xf) * 4)
        }
        6 => {
            let to: [u8; 16] = packet.get(24..40)?.try_into().ok()?;
            (Ipv6Addr::from(to).into(), *packet.get(6)?, 40)
        }
        _ => return None,
    };
    let has_ports = matches!(protocol, 6 | 17 | 33 | 132 | 136);
    let port = packet.get(start + 2..start + 4).filter(|_| has_ports);
    let port = port.and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes);
    Some(Refused { to, protocol, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.message(kind, 0, &[2, 0, 0, GROUP.to_le_bytes()[0]], |w| {
            w.attribute(1, &[8, 0, 3, 0]);
            w.attribute(PAYLOAD, payload);
        });
        writer.finish(1)
    }

    fn v4(protocol: u8) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 29, 0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 0, 2, 224, 0, 0, 251];
        packet.extend([0x9c, 0x40, 0x14, 0xe9, 0, 9, 0, 0, b'q']);
        packet
    }

    #[test]
    fn a_refused_datagram_is_told_with_its_destination() {
        let to = "224.0.0.251".parse().expect("an address");
        let found = packets(&message(PACKET, &v4(17)));
        assert_eq!(found, [Refused { to, protocol: 17, port: Some(5353) }]);
        // Two in one datagram; and what has no ports has none.
        let both = [message(PACKET, &v4(17)), message(PACKET, &v4(1))].concat();
        assert_eq!(packets(&both).last(), Some(&Refused { to, protocol: 1, port: None }));
    }

    #[test]
    fn v6_is_read_too() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 9, 17, 64];
        packet.extend([0; 16]);
        packet.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfb]);
        packet.extend([0, 1, 1, 0xbb]);
        let found = packets(&message(PACKET, &packet));
        assert_eq!(
            found,
            [Refused { to: "ff02::fb".parse().expect("an address"), protocol: 17, port: Some(443) }]
        );
    }

    #[test]
    fn what_is_cut_or_of_another_kind_is_nothing() {
        let whole = message(PACKET, &v4(17));
        for end in 0..whole.len() {
            // A packet of 64 bytes at most is often cut; the ports may be lost, and nothing else happens.
            assert!(packets(&whole[..end]).len() <= 1);
        }
        assert_eq!(packets(&message(CONFIGURE, &v4(17))), []);
        assert_eq!(packets(&[0; 64]), []);
        assert_eq!(packets(&message(PACKET, &[])), []);
    }
}
