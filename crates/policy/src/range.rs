//! Ranges of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Addresses with a common prefix, in one canonical spelling.
///
/// Bits of the address beyond the prefix are cleared (`192.0.2.7/24` is `192.0.2.0/24`, as most tools have it), and a
/// range of IPv4 addresses written as IPv6 (`::ffff:192.0.2.0/120`) is the IPv4 range. Numbers that only some
/// programs take for an address (`0x7f.1`, `127.1`, `010.0.0.1`) are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    address: IpAddr,
    prefix: u8,
}

/// The text is no address and no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address and no range: write `192.0.2.7`, `192.0.2.0/24` or `2001:db8::/32`")]
pub struct ParseRangeError(String);

impl Range {
    /// Every IPv4 address.
    pub const ALL_V4: Self = Self { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), prefix: 0 };
    /// Every IPv6 address.
    pub const ALL_V6: Self = Self { address: IpAddr::V6(Ipv6Addr::UNSPECIFIED), prefix: 0 };

    /// One address.
    pub fn one(address: IpAddr) -> Self {
        Self::of(address, 128)
    }

    /// The addresses that share their first `prefix` bits with this one; a longer prefix than there are bits means
    /// all of them.
    pub fn of(address: IpAddr, prefix: u8) -> Self {
        match address {
            IpAddr::V4(v4) => {
                let prefix = prefix.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
                Self { address: Ipv4Addr::from(u32::from(v4) & mask).into(), prefix }
            }
            IpAddr::V6(v6) => {
                let prefix = prefix.min(128);
                if let (Some(v4), 96..) = (v6.to_ipv4_mapped(), prefix) {
                    return Self::of(v4.into(), prefix - 96);
                }
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
                Self { address: Ipv6Addr::from(u128::from(v6) & mask).into(), prefix }
            }
        }
    }

    /// Whether the address lies in it. An IPv4 address written as IPv6 is the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let one = Self::one(address);
        self.covers(&one)
    }

    /// Whether all of the other lies in it.
    pub fn covers(&self, other: &Self) -> bool {
        self.address.is_ipv4() == other.address.is_ipv4()
            && self.prefix <= other.prefix
            && Self::of(other.address, self.prefix) == *self
    }

    /// Whether it holds every address of its family.
    pub fn is_everything(&self) -> bool {
        self.prefix == 0
    }

    /// Whether together they hold every address of both families.
    pub(crate) fn cover_everything(ranges: &[Self]) -> bool {
        let covered = |is_v4: bool| {
            let halves = ranges.iter().filter(|range| range.address.is_ipv4() == is_v4);
            let mut spans: Vec<_> = halves.map(Self::span).collect();
            spans.sort_unstable();
            let last = if is_v4 { u128::from(u32::MAX) } else { u128::MAX };
            let mut next = Some(0);
            for (from, to) in spans {
                match next {
                    Some(reached) if from > reached => return false,
                    Some(reached) => next = to.max(reached.saturating_sub(1)).checked_add(1),
                    None => return true,
                }
            }
            next.is_none_or(|reached| reached > last)
        };
        covered(true) && covered(false)
    }

    /// Its first and last address, as numbers.
    fn span(&self) -> (u128, u128) {
        match self.address {
            IpAddr::V4(v4) => {
                let first = u32::from(v4);
                let rest = u32::MAX.checked_shr(u32::from(self.prefix)).unwrap_or(0);
                (first.into(), (first | rest).into())
            }
            IpAddr::V6(v6) => {
                let first = u128::from(v6);
                (first, first | u128::MAX.checked_shr(u32::from(self.prefix)).unwrap_or(0))
            }
        }
    }

    /// Whether it is a single address.
    pub(crate) fn is_one(&self) -> bool {
        *self == Self::one(self.address)
    }

    /// Its first address.
    pub(crate) fn first(&self) -> IpAddr {
        self.address
    }

    /// Its last address.
    pub(crate) fn last(&self) -> IpAddr {
        match self.span() {
            (_, last) if self.address.is_ipv4() => Ipv4Addr::from(last as u32).into(),
            (_, last) => Ipv6Addr::from(last).into(),
        }
    }

    /// Whether some address lies in both.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }
}

impl FromStr for Range {
    type Err = ParseRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || ParseRangeError(text.escape_debug().take(80).collect());
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let Some(prefix) = prefix else { return Ok(Self::one(address)) };
        // `+8` and `08` are numbers to Rust's parser and to nobody else's.
        let plain =
            prefix.bytes().all(|byte| byte.is_ascii_digit()) && (prefix == "0" || !prefix.starts_with('0'));
        let prefix = prefix.parse().ok().filter(|_| plain).ok_or_else(bad)?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        if prefix > whole { Err(bad()) } else { Ok(Self::of(address, prefix)) }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.address.is_ipv4() { 32 } else { 128 };
        if self.prefix == whole { self.address.fmt(f) } else { write!(f, "{}/{}", self.address, self.prefix) }
    }
}

impl TryFrom<String> for Range {
    type Error = ParseRangeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Range> for String {
    fn from(range: Range) -> Self {
        range.to_string()
    }
}
