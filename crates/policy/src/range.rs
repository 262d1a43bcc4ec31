//! Ranges of addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    pub const ALL_V4: Self = Self { address: IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), prefix: 0 };
    /// Every IPv6 address.
    pub const ALL_V6: Self = Self { address: IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED), prefix: 0 };

    /// Whether the address lies in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                (u32::from(ours) ^ u32::from(theirs)).checked_shr(32 - u32::from(self.prefix)).unwrap_or(0)
                    == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                (u128::from(ours) ^ u128::from(theirs)).checked_shr(128 - u32::from(self.prefix)).unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Range {
    type Err = ParseRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || ParseRangeError(text.escape_debug().take(80).collect());
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(whole), str::parse).map_err(|_| bad())?;
        if prefix > whole { Err(bad()) } else { Ok(Self { address, prefix }) }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
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
