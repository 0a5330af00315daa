//! Where the service's own pages are. A service at a loopback address has them at `localhost`, because browsers bind no
//! passkey to an IP address. The API and its payments stay where clients call them.

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, HOST, LOCATION, REFERRER_POLICY};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

use crate::identity::origin::Origin;

/// Origins of one service: where clients call it, and where its pages are.
#[derive(Clone, Debug)]
pub struct PageAddress {
    called: Origin,
    pages: Origin,
}

impl PageAddress {
    /// For a service that is called at this origin. `owns_localhost` is false if another program has its port at
    /// `localhost`: then the pages stay where clients call.
    pub fn new(called: Origin, owns_localhost: bool) -> Self {
        let pages = if owns_localhost {
            called.of_pages()
        } else {
            called.clone()
        };
        Self { called, pages }
    }

    /// Origin of the pages, to which passkeys are bound.
    pub const fn origin(&self) -> &Origin {
        &self.pages
    }

    /// Every origin of a page of this service. A page opened at the loopback address works there too, without passkeys.
    pub fn origins(&self) -> [&str; 2] {
        [self.pages.as_str(), self.called.as_str()]
    }

    /// Leads a browser that opens a page at the loopback address to the same page at `localhost`. Other requests stay: a
    /// program that reads the page, and one that a proxy passed on under another name.
    pub fn redirect(&self, headers: &HeaderMap, uri: &Uri) -> Option<Response> {
        let opens_page =
            is_only(headers, "sec-fetch-mode", "navigate") && is_only(headers, "sec-fetch-dest", "document");
        if self.pages == self.called || !opens_page || !is_only(headers, HOST.as_str(), self.called.domain()) {
            return None;
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let location = HeaderValue::from_str(&format!("{}{path}", self.pages.as_str())).ok()?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        let sent = response.headers_mut();
        sent.insert(LOCATION, location);
        sent.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // The URL may have the code of a login link.
        sent.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        Some(response)
    }
}

/// Whether the request has this header once, with this value.
fn is_only(headers: &HeaderMap, name: &str, value: &str) -> bool {
    let mut sent = headers.get_all(name).iter();
    let first = sent.next().and_then(|sent| sent.to_str().ok());
    first.is_some_and(|first| first.eq_ignore_ascii_case(value)) && sent.next().is_none()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn location(called: &str, owns: bool, headers: &[(&'static str, &str)]) -> Option<String> {
        let address = PageAddress::new(Origin::parse(called).unwrap(), owns);
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            sent.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let response = address.redirect(&sent, &"/login?code=abc".parse().unwrap())?;
        assert_eq!(response.status(), StatusCode::TEMPORARY_REDIRECT);
        Some(response.headers()[LOCATION].to_str().unwrap().to_owned())
    }

    // Checks: only a browser that opens a page at the loopback address itself is led on, to the same page of the same port.
    #[test]
    fn browsers_at_a_loopback_address_are_led_to_localhost() {
        const CALLED: &str = "http://127.0.0.1:8402";
        let opens = [
            ("host", "127.0.0.1:8402"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        let led = Some("http://localhost:8402/login?code=abc".to_owned());
        assert_eq!(location(CALLED, true, &opens), led);
        assert_eq!(location(CALLED, false, &opens), None);
        assert_eq!(location(CALLED, true, &opens[..1]), None);
        for (at, value) in [(0, "localhost:8402"), (0, "127.0.0.1"), (1, "cors"), (2, "iframe")] {
            let mut other = opens;
            other[at].1 = value;
            assert_eq!(location(CALLED, true, &other), None, "{value}");
        }
        let twice = [opens[0], opens[1], opens[2], ("host", "evil.example")];
        assert_eq!(location(CALLED, true, &twice), None);
        for other in ["https://pay.example", "http://localhost:8402", "http://192.0.2.1:8402"] {
            let host = other.split("://").nth(1).unwrap();
            let headers = [("host", host), opens[1], opens[2]];
            assert_eq!(location(other, true, &headers), None, "{other}");
        }
    }
}
