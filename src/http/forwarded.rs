//! The client's address behind reverse proxies.
//!
//! A proxy appends whom it was called by, so the list is read from its end, for as long as those who wrote it are trusted:
//! the first that is not is the client, and what stands before it is the client's own invention.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;

use crate::config::{ForwardedHeader, IpNetwork};

/// Whose word counts, and where they write it.
#[derive(Clone, Debug)]
pub(super) struct TrustedProxies {
    trusted: Vec<IpNetwork>,
    header: ForwardedHeader,
}

impl TrustedProxies {
    pub(super) const fn new(trusted: Vec<IpNetwork>, header: ForwardedHeader) -> Self {
        Self { trusted, header }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|range| range.contains(address))
    }

    /// The client: the peer, or behind trusted proxies the last address of the list that is none of theirs. Where the list
    /// ends or cannot be read, it is the furthest of them.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.trusts(client) {
            return client;
        }
        let (name, read): (_, fn(&str) -> Option<IpAddr>) = match self.header {
            ForwardedHeader::XForwardedFor => ("x-forwarded-for", node),
            ForwardedHeader::Forwarded => ("forwarded", element),
        };
        let mut lines: Vec<_> = headers.get_all(name).iter().collect();
        while let Some(line) = lines.pop() {
            let Ok(mut rest) = line.to_str() else { return client };
            while let Some((before, last)) = split_last(rest) {
                let Some(address) = read(last.trim()) else {
                    return client;
                };
                client = address;
                if !self.trusts(client) {
                    return client;
                }
                rest = before;
            }
        }
        client
    }
}

/// The last element of a list and what stands before it, `None` behind the first. Quotes are counted from the end: one
/// that a client left open swallows nothing of what proxies have appended.
fn split_last(list: &str) -> Option<(&str, &str)> {
    if list.is_empty() {
        return None;
    }
    let mut quoted = false;
    for (at, byte) in list.bytes().enumerate().rev() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => return Some((&list[..at], &list[at + 1..])),
            _ => {}
        }
    }
    Some(("", list))
}

/// The node of a `Forwarded` element.
fn element(text: &str) -> Option<IpAddr> {
    let pairs = text.split(';').filter_map(|pair| pair.trim().split_once('='));
    let mut named = pairs.filter(|(name, _)| name.trim_end().eq_ignore_ascii_case("for"));
    let (Some((_, value)), None) = (named.next(), named.next()) else {
        return None;
    };
    let value = value.trim();
    let inside = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    node(inside.unwrap_or(value))
}

/// An address, also with a port, also in brackets. `unknown` and made-up names are none.
fn node(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse::<IpAddr>().ok();
    let address = address.or_else(|| text.parse::<SocketAddr>().ok().map(|with_port| with_port.ip()))?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn client(peer: &str, by: ForwardedHeader, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            // The other header is always there, as a client sent it.
            let (own, other) = match by {
                ForwardedHeader::XForwardedFor => ("x-forwarded-for", "forwarded"),
                ForwardedHeader::Forwarded => ("forwarded", "x-forwarded-for"),
            };
            headers.append(own, line.parse().unwrap());
            headers.append(other, "for=6.6.6.6".parse().unwrap());
        }
        let trusted = ["10.0.0.0/8", "fd00::/8"].map(|range| range.parse().unwrap());
        let proxies = TrustedProxies::new(trusted.into(), by);
        proxies.client(peer.parse().unwrap(), &headers).to_string()
    }

    // Aim (cases 21 and 51): a forwarded address counts only from a proxy we trust, and only its last foreign hop.
    #[test]
    fn case_51_forwarded_addresses_are_not_believed() {
        let by = ForwardedHeader::XForwardedFor;
        assert_eq!(client("9.9.9.9", by, &["1.1.1.1"]), "9.9.9.9");
        assert_eq!(client(PROXY, by, &[]), PROXY);
        assert_eq!(client(PROXY, by, &["1.1.1.1, 2.2.2.2", "3.3.3.3, 10.0.0.2"]), "3.3.3.3");
        assert_eq!(client(PROXY, by, &["1.1.1.1", "10.9.9.9", "fd00::7"]), "1.1.1.1");
        assert_eq!(client("::ffff:10.0.0.1", by, &["3.3.3.3:4711"]), "3.3.3.3");
        assert_eq!(client(PROXY, by, &["[2001:db8::1]:4711"]), "2001:db8::1");
        // Nobody beyond the proxies.
        assert_eq!(client(PROXY, by, &["10.0.0.3, 10.0.0.2"]), "10.0.0.3");
    }

    // Aim: what cannot be read ends the list at whoever wrote it; it does not reach through to what a client invented.
    #[test]
    fn what_cannot_be_read_counts_against_its_writer() {
        let by = ForwardedHeader::XForwardedFor;
        assert_eq!(client(PROXY, by, &["1.1.1.1, nonsense"]), PROXY);
        assert_eq!(client(PROXY, by, &["1.1.1.1, unknown, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(client(PROXY, by, &["1.1.1.1,, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(client(PROXY, by, &["1.1.1.1, "]), PROXY);
    }

    // Aim: RFC 7239 is read as it is written, ports, quotes and names included; a quote that a client left open hides
    // nothing of what the proxy appended.
    #[test]
    fn case_51_the_forwarded_header_is_read_from_its_end() {
        let by = ForwardedHeader::Forwarded;
        assert_eq!(client("9.9.9.9", by, &["for=1.1.1.1"]), "9.9.9.9");
        assert_eq!(
            client(PROXY, by, &["for=1.1.1.1, For=2.2.2.2;proto=https;by=10.0.0.1"]),
            "2.2.2.2"
        );
        assert_eq!(
            client(PROXY, by, &[r#"for="[2001:db8::1]:4711";host="a,b""#]),
            "2001:db8::1"
        );
        assert_eq!(
            client(PROXY, by, &["for=3.3.3.3, for=10.0.0.2", r#"for="10.0.0.3:80""#]),
            "3.3.3.3"
        );
        assert_eq!(client(PROXY, by, &[r#"for="1.1.1.1, for=4.4.4.4"#]), "4.4.4.4");
        for unreadable in [
            "for=_secret",
            "for=unknown",
            "proto=https",
            "for=1.1.1.1;for=2.2.2.2",
            r#"for="1.1.1.1"#,
        ] {
            assert_eq!(client(PROXY, by, &[unreadable]), PROXY, "{unreadable}");
        }
    }
}
