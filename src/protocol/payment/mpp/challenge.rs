//! The fields of a challenge, the MAC that is its id, and its text.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::money::Usdc;
use serde::Deserialize;

use super::BoundRequest;
use crate::payment::terms::BasePayee;
use purser_host::secret::MacKey;

/// All fields that an id covers. Absent ones are empty.
#[derive(Clone, Copy, Debug)]
pub struct ChallengeFields<'a> {
    /// Our host name.
    pub realm: &'a str,
    pub method: &'a str,
    pub intent: &'a str,
    /// The payment request: base64url of JSON (RFC 8785).
    pub request: &'a str,
    /// Expiry time (RFC 3339).
    pub expires: &'a str,
    /// Digest of the body; never in our challenges, because no paid route has a body.
    pub digest: &'a str,
    /// Server data that the client returns unchanged: base64url of JSON (RFC 8785).
    pub opaque: &'a str,
}

impl ChallengeFields<'_> {
    /// The id under a key: base64url of HMAC-SHA256 over the values with `|` between them.
    ///
    /// None of our values contains a `|`, so the number of separators proves that no other values give the same text.
    pub fn id(&self, key: &MacKey) -> String {
        URL_SAFE_NO_PAD.encode(key.tag(&self.parts()))
    }

    /// Whether the whole id is the one under this key, in constant time.
    pub fn matches_id(&self, id: &str, key: &MacKey) -> bool {
        let tag = URL_SAFE_NO_PAD.decode(id);
        tag.is_ok_and(|tag| tag.len() == 32 && key.verify(&self.parts(), &tag))
    }

    fn parts(&self) -> [&[u8]; 13] {
        let [realm, method, intent] = [self.realm, self.method, self.intent].map(str::as_bytes);
        let [request, expires, digest, opaque] =
            [self.request, self.expires, self.digest, self.opaque].map(str::as_bytes);
        [
            realm, b"|", method, b"|", intent, b"|", request, b"|", expires, b"|", digest, b"|", opaque,
        ]
    }

    /// Value of `WWW-Authenticate`. A description is only shown to people; one that is not plain ASCII is left out.
    pub fn header(&self, id: &str, description: &str) -> String {
        let mut text = String::with_capacity(128 + self.request.len() + self.opaque.len() + description.len());
        // Writing to a String cannot fail. Base64url, host names and times contain nothing that must be escaped.
        let _ = write!(
            text,
            "Payment id=\"{id}\", realm=\"{}\", method=\"{}\", intent=\"{}\", request=\"{}\"",
            self.realm, self.method, self.intent, self.request
        );
        if !description.is_empty() && description.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            let escaped = description.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = write!(text, ", description=\"{escaped}\"");
        }
        let _ = write!(text, ", expires=\"{}\"", self.expires);
        if !self.opaque.is_empty() {
            let _ = write!(text, ", opaque=\"{}\"", self.opaque);
        }
        text
    }
}

/// The parameter `request`: this amount to this payee.
pub fn request(payee: &BasePayee, amount: Usdc) -> String {
    URL_SAFE_NO_PAD.encode(format!("{{\"amount\":\"{}{}", amount.atomic(), payee.mpp))
}

/// The parameter `opaque`: the request that the challenge is for.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpaqueRequest {
    n: String,
    request: String,
    route: String,
}

impl OpaqueRequest {
    pub(super) fn new(bound: &BoundRequest<'_>, serial: u64) -> Self {
        Self {
            n: format!("{serial:016x}"),
            request: URL_SAFE_NO_PAD.encode(bound.request),
            route: bound.route.to_owned(),
        }
    }

    /// Members in the order of RFC 8785; route paths contain nothing that JSON escapes.
    pub(super) fn wire(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!(
            "{{\"n\":\"{}\",\"request\":\"{}\",\"route\":\"{}\"}}",
            self.n, self.request, self.route
        ))
    }

    pub(super) fn read(wire: &str) -> Option<Self> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(wire).ok()?).ok()
    }

    pub(super) fn is_for(&self, bound: &BoundRequest<'_>) -> bool {
        self.route == bound.route && self.request == URL_SAFE_NO_PAD.encode(bound.request)
    }
}
