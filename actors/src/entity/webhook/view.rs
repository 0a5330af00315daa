//! An endpoint as its owner sees it.

use std::borrow::Cow;

use serde::Serialize;

use super::{DisabledReason, State};
use crate::answer::Time;
use crate::id::WebhookId;

/// A webhook endpoint, as in its events.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = Webhook))]
pub struct WebhookView<'a> {
    /// `wh_…` is the id of the endpoint.
    pub webhook_id: WebhookId,
    /// URL that receives events.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub url: Cow<'a, str>,
    /// Event types that are sent; empty for all.
    pub types: &'a [String],
    /// `active`, `disabled` or `deleted`.
    pub status: State,
    /// `gone`: it answered 410. `failing`: all attempts failed for too long.
    #[cfg_attr(feature = "documents", schema(required))]
    pub disabled_reason: Option<DisabledReason>,
    /// Time since when all attempts have failed.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failing_since: Option<Time>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// Scheme and host of a URL. Path, query and user name may carry secrets.
pub fn url_origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}

impl WebhookView<'_> {
    /// The view for those who see of the URL its scheme and host only.
    #[must_use]
    pub fn without_url(self) -> Self {
        Self {
            url: Cow::Owned(url_origin(&self.url)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::url_origin;

    // Checks: nothing of a URL but its scheme, host and port.
    #[test]
    fn agents_see_the_origin_of_a_url_only() {
        for (url, origin) in [
            ("https://hooks.example/T0/B0/secret?key=1#x", "https://hooks.example"),
            ("http://127.0.0.1:9000/a", "http://127.0.0.1:9000"),
            ("https://user:secret@hooks.example", "https://hooks.example"),
            ("https://hooks.example?key=a@b", "https://hooks.example"),
            ("https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443"),
        ] {
            assert_eq!(url_origin(url), origin);
        }
    }
}
