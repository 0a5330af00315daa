//! Settings of the reverse proxies in front of the service.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The header in which a trusted proxy reports the client's address. Only this one is read: a proxy that sets one of
/// them passes on the other as the client sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedHeader {
    /// Set by most proxies.
    XForwardedFor,
    /// The header of RFC 7239.
    Forwarded,
}

/// A network such as `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    first: IpAddr,
    /// Prefix length in bits, of 32 or 128.
    prefix: u32,
}

/// The text is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is neither an address nor a network such as 10.0.0.0/8, with nothing behind its prefix and not of everybody"
)]
pub struct ParseNetworkError(String);

impl IpNetwork {
    /// Whether an address is in the network; IPv4-mapped IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (own, other) = (bits(self.first), bits(address.to_canonical()));
        let width = own.1;
        // A prefix is at least 1, so the shift is less than the full width.
        own.1 == other.1 && (own.0 ^ other.0) >> (width - self.prefix) == 0
    }
}

/// An address as a number, and its length in bits.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

impl FromStr for IpNetwork {
    type Err = ParseNetworkError;

    fn from_str(text: &str) -> Result<Self, ParseNetworkError> {
        let wrong = || ParseNetworkError(text.to_owned());
        let Some((address, prefix)) = text.split_once('/') else {
            let first = text.parse::<IpAddr>().map_err(|_| wrong())?.to_canonical();
            let prefix = bits(first).1;
            return Ok(Self { first, prefix });
        };
        let first: IpAddr = address.parse().map_err(|_| wrong())?;
        let (number, width) = bits(first);
        let prefix = prefix.parse().ok().filter(|prefix| (1..=width).contains(prefix));
        let range = Self {
            first,
            prefix: prefix.ok_or_else(wrong)?,
        };
        // IPv4-mapped IPv6 is compared as IPv4, so such a network would contain nothing.
        let is_mapped = matches!(first, IpAddr::V6(v6) if Ipv6Addr::to_ipv4_mapped(&v6).is_some());
        let beyond = number & !(u128::MAX << (width - range.prefix));
        if is_mapped || beyond != 0 {
            Err(wrong())
        } else {
            Ok(range)
        }
    }
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

impl<'de> Deserialize<'de> for IpNetwork {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn has(range: &str, address: &str) -> bool {
        range.parse::<IpNetwork>().unwrap().contains(address.parse().unwrap())
    }

    // Checks: a network contains the addresses with its prefix, to the bit, and none of the other family.
    #[test]
    fn a_range_holds_what_begins_alike() {
        assert!(has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.0"));
        assert!(has("192.0.2.128/25", "192.0.2.128") && !has("192.0.2.128/25", "192.0.2.127"));
        assert!(has("10.0.0.1", "10.0.0.1") && !has("10.0.0.1", "10.0.0.2"));
        assert!(has("10.0.0.0/8", "::ffff:10.1.2.3") && has("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(has("fd00::/8", "fdff::1") && !has("fd00::/8", "fe00::1") && !has("fd00::/8", "10.0.0.1"));
        assert!(has("::/1", "7fff::1") && !has("::/1", "8000::"));
    }

    // Checks: typing errors are rejected: bits behind the prefix, an invalid prefix, a network of all addresses.
    #[test]
    fn what_is_no_range_is_refused() {
        let wrong = [
            "10.0.0.1/8",
            "10.0.0.0/33",
            "0.0.0.0/0",
            "::/0",
            "fd00::/129",
            "10.0.0.0/",
            "10.0.0/8",
            "localhost",
            "",
            "::ffff:10.0.0.0/104",
            "10.0.0.0/-1",
        ];
        for text in wrong {
            assert!(text.parse::<IpNetwork>().is_err(), "{text}");
        }
    }
}
