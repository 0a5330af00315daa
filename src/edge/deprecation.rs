//! Deprecated routes: every response announces the replacement and the sunset date (contract, versioning; RFC 9745, RFC
//! 8594). The setting `versions.deprecated_routes` lists them.

use http::header::{HeaderName, LINK};
use http::{HeaderMap, HeaderValue};

use purser_config::DeprecatedRoute;

/// Headers of each deprecated route.
pub(super) struct DeprecationHeaders(Vec<(String, HeaderMap)>);

impl DeprecationHeaders {
    /// From the settings, which are validated when they are read.
    pub(super) fn new(retirements: &[DeprecatedRoute]) -> Self {
        Self(retirements.iter().map(|r| (r.route.clone(), announcement(r))).collect())
    }

    /// Headers for responses of `path`, if it is deprecated.
    pub(super) fn of(&self, path: &str) -> Option<&HeaderMap> {
        self.0
            .iter()
            .find(|(route, _)| route == path)
            .map(|(_, announced)| announced)
    }
}

fn announcement(retirement: &DeprecatedRoute) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_static("deprecation"), HeaderValue::from_static("true"));
    let link = format!("<{}>; rel=\"successor-version\"", retirement.successor);
    let sunset = retirement.sunset.map(|day| day.to_string());
    for (name, text) in [(LINK, Some(link)), (HeaderName::from_static("sunset"), sunset)] {
        if let Some(value) = text.and_then(|text| HeaderValue::from_str(&text).ok()) {
            headers.insert(name, value);
        }
    }
    headers
}
