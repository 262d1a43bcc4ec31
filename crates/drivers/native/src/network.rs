//! The network of a sandbox: a namespace from which no interface leads out, with rules that bring every connection to
//! the gate's listeners and refuse all else at once.
//!
//! The rules are data (`data/network.nft`); they and the addresses become two netlink messages once per builder, and
//! each sandbox's first process sends them ([`Network::raise`]) while it is root in U, who owns the namespace: root
//! inside S cannot change them. The listeners are opened by the server afterwards (`listen`), before the guest is told
//! who it is, hence before any program inside could take their place.
//!
//! The addresses are from a range that no network uses (RFC 7335: for a host's own use), lest a sandbox's own address
//! hides a machine of the user's. IPv6 is brought to the gate like IPv4: a program that finds both prefers IPv4,
//! because of the local address's kind (RFC 6724), and none can tell whether the host has IPv6.

mod batch;
mod links;
mod listen;
mod parse;
mod refused;
mod rule;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::sys::namespaces;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, netlink, socket_with};

pub(crate) use listen::{BACKLOG, Listeners, open as listen};
pub(crate) use refused::{WAITING as REPORTS_WAITING, report};

use batch::exchange;

/// The sandbox's own addresses.
const OWN: (Ipv4Addr, Ipv6Addr) =
    (Ipv4Addr::new(192, 0, 0, 2), Ipv6Addr::new(0xfd68, 0x6f6f, 0x64, 0, 0, 0, 0, 2));

/// Where the gate listens, and whom programs inside ask for names.
pub(crate) const GATE: (Ipv4Addr, Ipv6Addr) =
    (Ipv4Addr::new(192, 0, 0, 1), Ipv6Addr::new(0xfd68, 0x6f6f, 0x64, 0, 0, 0, 0, 1));

/// The gate's port for connections.
const CONNECTIONS: u16 = 1;

/// The gate's port for questions about names. Not 53: that stays free for a name server inside.
const NAMES: u16 = 2;

/// The step that needs `nf_tables`, by its name in errors.
pub(crate) const RULES_STEP: &str = "network rules";

/// The step that needs the table of connections, by its name in errors.
pub(crate) const SETTINGS_STEP: &str = "network settings";

const RULES: &str = include_str!("../data/network.nft");

/// Settings of the namespace. An entry for a closed connection stays for two minutes by default, and a program that
/// opens a hundred connections a second would fill the kernel's memory.
const SETTINGS: [(&str, &str); 5] = [
    // Root in S owns no network, so ports below 1024 would be closed to it.
    ("ipv4/ip_unprivileged_port_start", "0"),
    ("netfilter/nf_conntrack_tcp_timeout_time_wait", "1"),
    ("netfilter/nf_conntrack_tcp_timeout_close", "1"),
    ("netfilter/nf_conntrack_udp_timeout", "10"),
    ("netfilter/nf_conntrack_udp_timeout_stream", "10"),
];

/// How long an address may take to be of use; it takes some ten microseconds, and longer on a busy host.
pub(crate) const SETTLE_LIMIT: Duration = Duration::from_secs(5);

/// Between two looks at it.
const SETTLE_PAUSE: Duration = Duration::from_micros(100);

/// Everything of the network that is the same for all sandboxes, ready to be sent.
pub(crate) struct Network {
    v4: Vec<u8>,
    v6: Vec<u8>,
    rules: Vec<u8>,
}

impl Network {
    /// From the data in this crate.
    pub(crate) fn shipped() -> io::Result<Self> {
        let rules = parse::ruleset(RULES).map_err(io::Error::other)?;
        Ok(Self { v4: links::v4(OWN.0, GATE.0), v6: links::v6(OWN.1), rules: batch::ruleset(&rules) })
    }

    /// Puts up the network of this thread's namespace. The error names the step.
    pub(crate) fn raise(&self) -> Result<Up, (&'static str, io::Error)> {
        let route = netlink_socket(None).map_err(|e| ("loopback", e))?;
        exchange(&route, &self.v4).map_err(|e| ("loopback", e))?;
        let v6 = exchange(&route, &self.v6);
        let up = Up { v6: v6.is_ok() };
        match v6 {
            // The host has IPv6 switched off, or forbids it on loopback: then there is none inside either.
            Err(error) if !is_without_v6(&error) => return Err(("loopback", error)),
            _ => {}
        }
        let filter = netlink_socket(Some(netlink::NETFILTER)).map_err(|e| (RULES_STEP, e))?;
        exchange(&filter, &self.rules).map_err(|e| (RULES_STEP, e))?;
        for (name, value) in SETTINGS {
            std::fs::write(format!("/proc/sys/net/{name}"), value).map_err(|e| (SETTINGS_STEP, e))?;
        }
        Ok(up)
    }
}

/// Whether the kernel takes the rules: they are loaded in a network namespace of a thread's own, which ends with it.
/// Needs root of the host.
pub(crate) fn try_out() -> io::Result<()> {
    let attempt = || {
        namespaces::unshare(libc::CLONE_NEWNET)?;
        let named =
            |(step, error): (&str, io::Error)| io::Error::new(error.kind(), format!("{step}: {error}"));
        Network::shipped()?.raise().map(drop).map_err(named)
    };
    let thread = std::thread::Builder::new().name("rules".to_owned()).spawn(attempt)?;
    thread.join().map_err(|_| io::Error::other("the attempt panicked"))?
}

/// A network that has been put up.
pub(crate) struct Up {
    v6: bool,
}

impl Up {
    /// Waits until the IPv6 address can be a source: the kernel has said yes at once, and begins to use it on a worker
    /// of its own. Usually there is no wait.
    #[expect(clippy::disallowed_methods, reason = "a process of one thread that has nothing else to do")]
    pub(crate) fn settle(&self) -> io::Result<()> {
        if !self.v6 {
            return Ok(());
        }
        let end = Instant::now() + SETTLE_LIMIT;
        loop {
            let socket = socket_with(AddressFamily::INET6, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
            match bind(&socket, &SocketAddr::from((OWN.1, 0))) {
                Err(rustix::io::Errno::ADDRNOTAVAIL) if Instant::now() < end => {
                    std::thread::sleep(SETTLE_PAUSE);
                }
                other => return Ok(other?),
            }
        }
    }
}

fn is_without_v6(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EAFNOSUPPORT | libc::EACCES | libc::ENODEV))
}

fn netlink_socket(protocol: Option<rustix::net::Protocol>) -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?)
}
