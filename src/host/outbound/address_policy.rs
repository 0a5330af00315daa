//! Policy for addresses called on behalf of users: only public addresses, in standard notation, on web ports. The
//! machine itself, its network and a cloud's internal services are blocked.
//!
//! A URL is checked twice. Its text is checked here, before any lookup. The addresses of its host name are checked in
//! the resolver ([`super::resolver`]), which passes exactly those addresses to the client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

#[derive(Clone, Debug)]
pub struct AddressPolicy {
    /// `host:port` as written in a URL, or `host:*`: peers that the operator trusts, allowed at any address.
    allowed_hosts: Vec<String>,
    ports: Vec<u16>,
}

/// A URL that passed. If its host is allowlisted, its addresses are not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedUrl {
    /// Must be called unchanged.
    pub url: Url,
    /// The operator has allowlisted this host and port.
    pub allowlisted: bool,
}

/// Why a URL or an address is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockedUrl {
    /// It cannot be parsed, or is longer than [`AddressPolicy::MAX_URL_LEN`].
    #[error("it is not a URL")]
    Malformed,
    /// Neither http nor https.
    #[error("only http and https are allowed")]
    Scheme,
    /// It contains a user or a password.
    #[error("it contains credentials")]
    Credentials,
    /// The port is not in the policy.
    #[error("its port is not allowed")]
    Port,
    /// An IPv4 address not written as four plain decimal numbers: hexadecimal, octal, one number, shortened.
    #[error("its address is not plainly written")]
    ObfuscatedAddress,
    /// A name that is only valid internally, like `localhost` or `printer.local`.
    #[error("its name is internal")]
    InternalHostname,
    /// The address is not public.
    #[error("its address is internal")]
    InternalAddress,
}

impl BlockedUrl {
    /// The end of an error message: which setting would allow the URL, if one would.
    pub const fn allowlist_hint(self) -> &'static str {
        match self {
            Self::Port | Self::InternalHostname | Self::InternalAddress => {
                ", and outbound.allowed_hosts does not list it"
            }
            Self::Malformed | Self::Scheme | Self::Credentials | Self::ObfuscatedAddress => "",
        }
    }
}

impl AddressPolicy {
    /// Most bytes of a URL.
    pub const MAX_URL_LEN: usize = 2_048;

    /// `listed` names hosts (`host:port`, or `host:*` for every port) that may be called at any address,
    /// besides the given ports.
    pub fn new(ports: &[u16], listed: &[String]) -> Self {
        Self {
            allowed_hosts: listed.iter().map(|host| host.to_ascii_lowercase()).collect(),
            ports: ports.to_vec(),
        }
    }

    /// Checks the text of a URL.
    ///
    /// # Errors
    /// [`BlockedUrl`], the first that applies.
    pub fn check_url(&self, text: &str) -> Result<AllowedUrl, BlockedUrl> {
        // Characters that a parser drops or rewrites can hide the real host from a reader.
        if text.len() > Self::MAX_URL_LEN || !text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
            return Err(BlockedUrl::Malformed);
        }
        let url = Url::parse(text).map_err(|_| BlockedUrl::Malformed)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BlockedUrl::Scheme);
        }
        let written = authority(text).ok_or(BlockedUrl::Malformed)?;
        if written.contains('@') {
            return Err(BlockedUrl::Credentials);
        }
        let host = url.host_str().ok_or(BlockedUrl::Malformed)?.to_owned();
        let port = url.port_or_known_default().ok_or(BlockedUrl::Port)?;
        if self.is_allowlisted(&host, port) {
            return Ok(AllowedUrl { url, allowlisted: true });
        }
        if !self.ports.contains(&port) {
            return Err(BlockedUrl::Port);
        }
        check_host(&host, written)?;
        Ok(AllowedUrl {
            url,
            allowlisted: false,
        })
    }

    fn is_allowlisted(&self, host: &str, port: u16) -> bool {
        let exactly = |listed: &String| *listed == format!("{host}:{port}") || *listed == format!("{host}:*");
        self.allowed_hosts.iter().any(exactly)
    }
}

/// The text between `//` and the path, as written.
fn authority(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    rest.split(['/', '?', '#']).next().filter(|written| !written.is_empty())
}

fn check_host(host: &str, written: &str) -> Result<(), BlockedUrl> {
    if let Some(literal) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address: Ipv6Addr = literal.parse().map_err(|_| BlockedUrl::Malformed)?;
        return check_address(address.into());
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        // The parser accepts every notation; only the plain one is allowed.
        let plain = written.split(':').next() == Some(host);
        check_address(address.into())?;
        return if plain {
            Ok(())
        } else {
            Err(BlockedUrl::ObfuscatedAddress)
        };
    }
    check_hostname(host)
}

/// Blocks names of the machine itself and of home or office networks. Also blocks single words, which a search list
/// could complete.
fn check_hostname(name: &str) -> Result<(), BlockedUrl> {
    const INSIDE: [&str; 13] = [
        "localhost",
        "local",
        "localdomain",
        "internal",
        "intranet",
        "lan",
        "home",
        "corp",
        "private",
        "home.arpa",
        "invalid",
        "test",
        "onion",
    ];
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let ends_with = |inside: &str| {
        let before = name.strip_suffix(inside);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    if !name.contains('.') || INSIDE.into_iter().any(ends_with) {
        return Err(BlockedUrl::InternalHostname);
    }
    Ok(())
}

/// Whether an address is on the public Internet.
///
/// # Errors
/// [`BlockedUrl::InternalAddress`].
pub fn check_address(address: IpAddr) -> Result<(), BlockedUrl> {
    let public = match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    };
    if public {
        Ok(())
    } else {
        Err(BlockedUrl::InternalAddress)
    }
}

/// By the registry of special-purpose addresses (RFC 6890 and its updates), plus the one public address at which a
/// cloud serves its own machines.
fn is_public_v4(address: Ipv4Addr) -> bool {
    const INSIDE: [([u8; 4], u32); 17] = [
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([168, 63, 129, 16], 32),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 31, 196, 0], 24),
        ([192, 52, 193, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        // Multicast, reserved and broadcast.
        ([224, 0, 0, 0], 3),
    ];
    let bits = address.to_bits();
    INSIDE.iter().all(|(network, length)| {
        let shift = 32 - length;
        bits >> shift != u32::from_be_bytes(*network) >> shift
    })
}

/// Only global unicast (2000::/3) is allowed, without documentation, benchmarking, Teredo and 6to4. Every IPv4 address
/// inside an IPv6 one (mapped, compatible, NAT64, ISATAP) is blocked: a public server has its own address.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let s = address.segments();
    let global = s[0] & 0xe000 == 0x2000;
    let special = match s[0] {
        0x2001 => s[1] < 0x0200 || s[1] == 0x0db8,
        0x2002 => true,
        0x3fff => s[1] < 0x1000,
        _ => false,
    };
    let isatap = s[5] == 0x5efe && s[4] & !0x0200 == 0;
    global && !special && !isatap
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn web() -> AddressPolicy {
        AddressPolicy::new(&[80, 443], &[])
    }

    fn blocked(url: &str) -> BlockedUrl {
        web().check_url(url).unwrap_err()
    }

    // Checks (case 59): plain names and public addresses on web ports pass unchanged.
    #[test]
    fn case_59_public_urls_are_called() {
        for valid in [
            "https://shop.example.com/paid?x=1",
            "http://shop.example.com:443/",
            "https://shop.example.com./",
            "https://93.184.215.14/",
            "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/a",
        ] {
            let target = web().check_url(valid).unwrap();
            assert!(!target.allowlisted);
            assert_eq!(target.url, Url::parse(valid).unwrap());
        }
    }

    // Checks (case 59): the machine itself, its network and the cloud's metadata are blocked in every notation that a
    // parser accepts.
    #[test]
    fn case_59_inside_addresses_are_refused_in_every_form() {
        use BlockedUrl::{InternalAddress, ObfuscatedAddress};
        for inside in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://017700000001/",
            "http://0x7f.0.0.1/",
            "http://0x7f000001/",
            "http://0/",
            "http://10.0.0.8/",
            "http://100.100.100.200/",
            "http://168.63.129.16/",
            "http://169.254.169.254/latest/meta-data/",
            "http://172.31.255.255/",
            "http://192.168.1.1/",
            "http://198.19.0.1/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:8.8.8.8]/",
            "http://[::7f00:1]/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[64:ff9b:1::1]/",
            "http://[fe80::1]/",
            "http://[fd00:ec2::254]/",
            "http://[ff02::1]/",
            "http://[2001::1]/",
            "http://[2001:db8::1]/",
            "http://[2002:7f00:1::]/",
            "http://[2606:4700::5efe:7f00:1]/",
            // Full-width digits and dots.
            "http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/",
        ] {
            assert_eq!(blocked(inside), InternalAddress, "{inside}");
        }
        for disguised in [
            "http://134744072/",
            "http://010.010.010.010/",
            "http://0x08080808/",
            "http://8.8.2056/",
        ] {
            assert_eq!(blocked(disguised), ObfuscatedAddress, "{disguised}");
        }
    }

    // Checks: an error names the setting only where it would help, and an allowlisted host is called.
    #[test]
    fn rejection_names_the_setting_that_would_help() {
        for (url, host, helps) in [
            ("http://localhost/", "localhost:*", true),
            ("http://10.0.0.8/", "10.0.0.8:80", true),
            ("https://shop.example.com:8443/", "shop.example.com:8443", true),
            ("ftp://shop.example.com/", "shop.example.com:*", false),
            ("https://user@shop.example.com/", "shop.example.com:*", false),
        ] {
            let names = blocked(url).allowlist_hint().contains("outbound.allowed_hosts");
            let listed = AddressPolicy::new(&[80, 443], &[host.to_owned()]).check_url(url);
            assert_eq!((names, listed.is_ok()), (helps, helps), "{url}");
        }
    }

    // Checks (case 59): internal names, credentials, other schemes and other ports are blocked. So is text that a
    // parser reads differently from a person.
    #[test]
    fn case_59_inside_names_credentials_schemes_and_ports_are_refused() {
        for (url, why) in [
            ("http://localhost/", BlockedUrl::InternalHostname),
            ("http://LOCALHOST./", BlockedUrl::InternalHostname),
            ("http://a.localhost/", BlockedUrl::InternalHostname),
            ("http://printer.local/", BlockedUrl::InternalHostname),
            ("http://printer.local./", BlockedUrl::InternalHostname),
            ("http://metadata.google.internal/", BlockedUrl::InternalHostname),
            ("http://router.home.arpa/", BlockedUrl::InternalHostname),
            ("http://intranet/", BlockedUrl::InternalHostname),
            ("https://user@shop.example.com/", BlockedUrl::Credentials),
            ("https://user:word@shop.example.com/", BlockedUrl::Credentials),
            ("https://@shop.example.com/", BlockedUrl::Credentials),
            ("ftp://shop.example.com/", BlockedUrl::Scheme),
            ("file:///etc/passwd", BlockedUrl::Scheme),
            ("gopher://shop.example.com/", BlockedUrl::Scheme),
            ("http://shop.example.com:22/", BlockedUrl::Port),
            ("https://shop.example.com:8443/", BlockedUrl::Port),
            ("shop.example.com", BlockedUrl::Malformed),
            ("http:shop.example.com", BlockedUrl::Malformed),
            ("http://shop.example.com\\@127.0.0.1/", BlockedUrl::Malformed),
            ("http://shop.example.com\t.evil.com/", BlockedUrl::Malformed),
            ("http://", BlockedUrl::Malformed),
        ] {
            assert_eq!(blocked(url), why, "{url}");
        }
        let long = format!("https://shop.example.com/{}", "a".repeat(AddressPolicy::MAX_URL_LEN));
        assert_eq!(blocked(&long), BlockedUrl::Malformed);
    }

    // Checks: an allowlisted host is only allowed on the listed port.
    #[test]
    fn a_listed_host_is_listed_with_its_port() {
        let policy = AddressPolicy::new(&[80, 443], &["127.0.0.1:4021".to_owned(), "Peer.local:80".to_owned()]);
        assert!(policy.check_url("http://127.0.0.1:4021/paid").unwrap().allowlisted);
        assert!(policy.check_url("http://peer.local/").unwrap().allowlisted);
        assert_eq!(policy.check_url("http://127.0.0.1:4022/"), Err(BlockedUrl::Port));
        assert_eq!(policy.check_url("http://127.0.0.1/"), Err(BlockedUrl::InternalAddress));
        assert_eq!(
            policy.check_url("https://peer.local/"),
            Err(BlockedUrl::InternalHostname)
        );
        assert_eq!(
            policy.check_url("http://u@127.0.0.1:4021/"),
            Err(BlockedUrl::Credentials)
        );
        let any_port = AddressPolicy::new(&[443], &["127.0.0.1:*".to_owned()]);
        assert!(any_port.check_url("http://127.0.0.1:4022/hook").unwrap().allowlisted);
        assert_eq!(
            any_port.check_url("http://127.0.0.2:443/"),
            Err(BlockedUrl::InternalAddress)
        );
    }
}
