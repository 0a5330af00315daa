//! The public origin under which clients reach the service.

/// A text that is not an http(s) origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an origin of the form https://host[:port]: {0}")]
pub struct OriginError(pub &'static str);

/// Scheme, host and port of the service (RFC 6454), normalised as browsers do: lower case, default port left out.
///
/// Sign-in clients compare it with the URL they called, and do nothing when it differs; behind a proxy it must be the
/// proxy's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    text: String,
    /// Where the host begins in `text`.
    authority_at: usize,
}

impl Origin {
    /// Parses `https://host[:port]`, one trailing slash allowed. User info, paths and other schemes are rejected.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let lower = text.to_ascii_lowercase();
        let (scheme, rest) = lower.split_once("://").ok_or(OriginError("no scheme"))?;
        let default_port = match scheme {
            "https" => "443",
            "http" => "80",
            _ => return Err(OriginError("the scheme is neither https nor http")),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = split_port(authority)?;
        check_host(host)?;
        let mut origin = format!("{scheme}://{host}");
        if let Some(port) = port {
            let number: u16 = port
                .parse()
                .map_err(|_| OriginError("the port is not a number up to 65535"))?;
            if port.starts_with(['0', '+']) {
                return Err(OriginError("the port begins with a zero or sign"));
            }
            if port != default_port {
                origin.push_str(&format!(":{number}"));
            }
        }
        Ok(Self {
            authority_at: scheme.len() + 3,
            text: origin,
        })
    }

    /// `https://host[:port]`, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `host[:port]`: the `domain` of a sign-in message (EIP-4361 calls it the authority).
    pub fn domain(&self) -> &str {
        &self.text[self.authority_at..]
    }

    /// The host without its port, an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        let domain = self.domain();
        split_port(domain).map_or(domain, |(host, _)| host)
    }

    /// Whether clients use TLS.
    pub fn is_https(&self) -> bool {
        self.text.starts_with("https://")
    }

    /// Whether only this machine can be a client: `localhost` or a loopback address.
    pub fn is_loopback(&self) -> bool {
        let host = self.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Origin of the pages of a service that clients call here. Browsers bind no passkey to an IP address, so the pages
    /// of `127.0.0.1` and `[::1]` without TLS are at `localhost`; all others are where clients call.
    #[must_use]
    pub fn of_pages(&self) -> Self {
        let host = self.host();
        if self.is_https() || !matches!(host, "127.0.0.1" | "[::1]") {
            return self.clone();
        }
        let port = self.domain().strip_prefix(host).unwrap_or_default();
        Self {
            authority_at: self.authority_at,
            text: format!("http://localhost{port}"),
        }
    }

    /// Whether an absolute URI has this origin.
    pub fn contains(&self, uri: &str) -> bool {
        let Some(at) = uri.find("://") else { return false };
        let end = uri[at + 3..]
            .find(['/', '?', '#'])
            .map_or(uri.len(), |end| at + 3 + end);
        Self::parse(&uri[..end]).is_ok_and(|other| other == *self)
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<&str>), OriginError> {
    if authority.starts_with('[') {
        let end = authority
            .find(']')
            .ok_or(OriginError("the IPv6 address is not closed"))?
            + 1;
        return match authority[end..].strip_prefix(':') {
            Some(port) => Ok((&authority[..end], Some(port))),
            None if authority.len() == end => Ok((authority, None)),
            None => Err(OriginError("something follows the IPv6 address")),
        };
    }
    Ok(authority
        .split_once(':')
        .map_or((authority, None), |(host, port)| (host, Some(port))))
}

fn check_host(host: &str) -> Result<(), OriginError> {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner
            .parse::<std::net::Ipv6Addr>()
            .map(drop)
            .map_err(|_| OriginError("not an IPv6 address"));
    }
    if host.is_empty() || host.len() > 253 {
        return Err(OriginError("the host is empty or longer than 253 characters"));
    }
    match host
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
    {
        true => Ok(()),
        false => Err(OriginError(
            "the host has other characters than letters, digits, dot and hyphen",
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Checks: our host and origin equal those in a client's URL.
    #[test]
    fn an_origin_is_normalised_as_browsers_do() {
        for (text, origin, domain) in [
            ("https://API.example.com", "https://api.example.com", "api.example.com"),
            (
                "https://api.example.com:443/",
                "https://api.example.com",
                "api.example.com",
            ),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://[::1]:80", "http://[::1]", "[::1]"),
        ] {
            let parsed = Origin::parse(text).unwrap();
            assert_eq!((parsed.as_str(), parsed.domain()), (origin, domain), "{text}");
        }
    }

    /// Checks: anything but scheme, host and port is rejected, so no crafted URL is accepted as ours.
    #[test]
    fn invalid_origin_is_rejected() {
        for text in [
            "api.example.com",
            "ftp://api.example.com",
            "https://",
            "https://user@api.example.com",
            "https://api.example.com/auth",
            "https://api.example.com:",
            "https://api.example.com:0443",
            "https://api.example.com:65536",
            "https://api.example.com\\@evil.example",
            "https://[::1",
            "https://exämple.com",
        ] {
            assert!(Origin::parse(text).is_err(), "{text}");
        }
    }

    /// Checks: same origin means scheme, host and port, never a prefix of the text.
    #[test]
    fn a_uri_is_ours_only_with_the_same_scheme_host_and_port() {
        let origin = Origin::parse("https://api.example.com").unwrap();
        for uri in [
            "https://api.example.com",
            "https://api.example.com:443/auth",
            "https://API.example.com?x#y",
        ] {
            assert!(origin.contains(uri), "{uri}");
        }
        for uri in [
            "http://api.example.com/auth",
            "https://api.example.com.evil.example/auth",
            "https://api.example.com@evil.example/auth",
            "https://api.example.com:8443/auth",
            "//api.example.com/auth",
            "/auth",
            "",
        ] {
            assert!(!origin.contains(uri), "{uri}");
        }
    }

    /// Checks: pages of a loopback address are at `localhost` with the same port, and all others stay where they are.
    #[test]
    fn pages_of_a_loopback_address_are_at_localhost() {
        for (called, pages) in [
            ("http://127.0.0.1:8402", "http://localhost:8402"),
            ("http://[::1]:8402", "http://localhost:8402"),
            ("http://127.0.0.1", "http://localhost"),
            ("http://localhost:8402", "http://localhost:8402"),
            // `localhost` leads to neither of these.
            ("http://127.0.0.2:8402", "http://127.0.0.2:8402"),
            ("http://192.0.2.1:8402", "http://192.0.2.1:8402"),
            ("https://127.0.0.1:8402", "https://127.0.0.1:8402"),
            ("https://pay.example", "https://pay.example"),
        ] {
            let origin = Origin::parse(called).unwrap().of_pages();
            assert_eq!(origin, Origin::parse(pages).unwrap(), "{called}");
        }
    }

    /// Checks: loopback is recognised by address, not by a name that only starts like one.
    #[test]
    fn loopback_is_this_machine_only() {
        for (text, loopback) in [
            ("http://localhost:8080", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:8080", true),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Origin::parse(text).unwrap().is_loopback(), loopback, "{text}");
        }
    }
}
