//! The client's address behind reverse proxies.
//!
//! A proxy appends the address of its caller, so the list is read from its end while the writers are trusted. The first
//! untrusted address is the client. The client may have invented everything before it.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;

use purser_config::{ForwardedHeader, IpNetwork};

/// Addresses of the trusted proxies, and the header they write.
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

    /// The client's address: the peer, or behind trusted proxies the last address of the list that is not one of them.
    /// If the list ends or is malformed, it is the outermost trusted proxy.
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

/// Splits off the last element of a list. The second part is `None` for the first element. Quotes are counted from the
/// end, so a quote that a client left open can't hide what proxies appended.
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

/// The `for` address of a `Forwarded` element.
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

/// An address, with or without port and brackets. `unknown` and obfuscated names are not addresses.
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
            // The other header is always present, as a client sent it.
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

    // Checks (cases 21 and 51): a forwarded address counts only from a trusted proxy, and only its last untrusted hop.
    #[test]
    fn case_51_forwarded_address_counts_only_from_trusted_proxy() {
        let by = ForwardedHeader::XForwardedFor;
        assert_eq!(client("9.9.9.9", by, &["1.1.1.1"]), "9.9.9.9");
        assert_eq!(client(PROXY, by, &[]), PROXY);
        assert_eq!(client(PROXY, by, &["1.1.1.1, 2.2.2.2", "3.3.3.3, 10.0.0.2"]), "3.3.3.3");
        assert_eq!(client(PROXY, by, &["1.1.1.1", "10.9.9.9", "fd00::7"]), "1.1.1.1");
        assert_eq!(client("::ffff:10.0.0.1", by, &["3.3.3.3:4711"]), "3.3.3.3");
        assert_eq!(client(PROXY, by, &["[2001:db8::1]:4711"]), "2001:db8::1");
        // Only trusted proxies in the list.
        assert_eq!(client(PROXY, by, &["10.0.0.3, 10.0.0.2"]), "10.0.0.3");
    }

    // Checks: a malformed entry ends the list at its writer, so a client's invented entries are never reached.
    #[test]
    fn malformed_entry_ends_the_list_at_its_writer() {
        let by = ForwardedHeader::XForwardedFor;
        assert_eq!(client(PROXY, by, &["1.1.1.1, nonsense"]), PROXY);
        assert_eq!(client(PROXY, by, &["1.1.1.1, unknown, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(client(PROXY, by, &["1.1.1.1,, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(client(PROXY, by, &["1.1.1.1, "]), PROXY);
    }

    // Checks: `Forwarded` is parsed as RFC 7239 defines it, with ports, quotes and names. An open quote of a client
    // hides nothing that the proxy appended.
    #[test]
    fn case_51_forwarded_header_is_read_from_its_end() {
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
