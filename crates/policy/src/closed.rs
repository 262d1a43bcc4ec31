//! Addresses that are closed in every policy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{Ceiling, Range};

/// Addresses where clouds keep credentials, each closed even inside a range that a ceiling opens.
const METADATA_V4: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254), // most clouds
    Ipv4Addr::new(169, 254, 170, 2),   // AWS, credentials of containers
    Ipv4Addr::new(169, 254, 170, 23),  // AWS, credentials of pods
    Ipv4Addr::new(100, 100, 100, 200), // Alibaba
    Ipv4Addr::new(168, 63, 129, 16),   // Azure, a public address
    Ipv4Addr::new(192, 0, 0, 192),     // Oracle, older
];

/// The same in IPv6.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), // AWS
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),  // AWS, credentials of pods
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),  // Google
];

/// The IANA registry of special-purpose IPv4 addresses, and multicast.
const V4: [(Ipv4Addr, u8, &str); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "carrier NAT"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// The IANA registry of special-purpose IPv6 addresses. Those that carry an IPv4 address come first: the word that
/// says how it is spelled tells more than "reserved".
const V6: [(Ipv6Addr, u8, &str); 19] = [
    (Ipv6Addr::UNSPECIFIED, 128, "this network"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::UNSPECIFIED, 96, "IPv4-compatible"),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, "IPv4-translated"),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "NAT64"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "NAT64"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "Teredo"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discard"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
    // Global unicast is 2000::/3; whatever else there is has not been given to anybody.
    (Ipv6Addr::UNSPECIFIED, 3, "reserved"),
    (Ipv6Addr::new(0x4000, 0, 0, 0, 0, 0, 0, 0), 2, "reserved"),
    (Ipv6Addr::new(0x8000, 0, 0, 0, 0, 0, 0, 0), 1, "reserved"),
];

/// Why no policy opens this address, in a word; `None` for one that policies decide on. It sees through every way of
/// writing an IPv4 address into an IPv6 one.
pub fn closed(address: IpAddr) -> Option<&'static str> {
    closed_but_for(address, &[])
}

/// The same under a ceiling that opens some by name. An address is open when it and every address written into it are.
pub fn closed_under(address: IpAddr, ceiling: &Ceiling) -> Option<&'static str> {
    closed_but_for(address, &ceiling.open)
}

fn closed_but_for(address: IpAddr, open: &[Range]) -> Option<&'static str> {
    spellings(address).find_map(|address| alone(address, open))
}

/// An address, and the IPv4 addresses that are written into it.
pub(crate) fn spellings(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let address = address.to_canonical();
    let inner = match address {
        IpAddr::V6(address) => Some(embedded(address)),
        IpAddr::V4(_) => None,
    };
    std::iter::once(address).chain(inner.into_iter().flatten().map(IpAddr::V4))
}

/// The addresses where clouds keep credentials.
pub(crate) fn metadata() -> impl Iterator<Item = IpAddr> {
    METADATA_V4.into_iter().map(IpAddr::V4).chain(METADATA_V6.into_iter().map(IpAddr::V6))
}

/// The word for a range whose every address is closed, if one entry of the registry says so.
pub(crate) fn closed_whole(range: &Range) -> Option<&'static str> {
    fn find<Net: Into<IpAddr> + Copy>(
        range: &Range,
        table: &[(Net, u8, &'static str)],
    ) -> Option<&'static str> {
        let holds = |net: Net, prefix| Range::of(net.into(), prefix).covers(range);
        table.iter().find(|(net, prefix, _)| holds(*net, *prefix)).map(|(.., word)| *word)
    }
    if range.is_one() && metadata().any(|address| range.contains(address)) {
        return Some("metadata");
    }
    find(range, &V4).or_else(|| find(range, &V6))
}

/// One address, not looked into.
fn alone(address: IpAddr, open: &[Range]) -> Option<&'static str> {
    if metadata().any(|metadata| metadata == address) {
        // Opening a whole network is seldom meant to hand out credentials.
        return (!open.contains(&Range::one(address))).then_some("metadata");
    }
    if open.iter().any(|range| range.contains(address)) {
        return None;
    }
    closed_whole(&Range::one(address))
}

/// The IPv4 addresses that an IPv6 one may carry. RFC 4291 (compatible), 2765 (translated), 6052 and 8215 (NAT64),
/// 3056 (6to4), 4380 (Teredo: the server, and the client inverted), 5214 (ISATAP).
fn embedded(address: Ipv6Addr) -> impl Iterator<Item = Ipv4Addr> {
    let bits = u128::from(address);
    // `skip` bits from the right.
    let at = |skip: u32| Ipv4Addr::from((bits >> skip) as u32);
    let segments = address.segments();
    let tail = match segments {
        [0, 0, 0, 0, 0, 0, g, h] => g != 0 || h > 1,
        // The last form in whatever network: an interface of that name hands its packets to the IPv4 address in it.
        [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] | [.., 0 | 0x200, 0x5efe, _, _] => true,
        _ => false,
    };
    let found = match segments {
        // Prefixes of 48, 56, 64 and 96 bits; the octet in the middle is passed over.
        [0x64, 0xff9b, 1, ..] => {
            let whole = bits & ((1 << 64) - 1) & !(0xff << 56) | (bits >> 64 & 0xffff) << 56;
            let at = |skip: u32| Ipv4Addr::from((whole >> skip) as u32);
            [Some(at(40)), Some(at(32)), Some(at(24)), Some(at(0))]
        }
        [0x2002, ..] => [Some(at(80)), None, None, None],
        [0x2001, 0, ..] => [Some(at(64)), Some(Ipv4Addr::from(!(bits as u32))), None, None],
        _ => [None; 4],
    };
    found.into_iter().flatten().chain(tail.then(|| at(0)))
}
