//! The address of a provider: over TLS, or on this machine.

use super::found::ConfigErrors;

pub(super) fn check_provider_url(url: &reqwest::Url, key: &str, found: &mut ConfigErrors) {
    let near = url.host_str().is_some_and(|host| {
        let literal = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || literal.is_ok_and(|address| address.is_loopback())
    });
    found.require(
        url.scheme() == "https" || (url.scheme() == "http" && near),
        key.to_owned(),
        "must be https, or http on this machine",
    );
    found.require(
        url.query().is_none() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none(),
        key.to_owned(),
        "must have no query, fragment, user or password",
    );
}
