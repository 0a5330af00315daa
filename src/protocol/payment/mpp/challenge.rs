//! The fields of a challenge, the MAC that is its id, and its text.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::money::Usdc;
use serde::Deserialize;

use super::{BoundRequest, IssuedChallenge};
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
        header_text(id, &self.header_middle(description), self.expires, self.opaque)
    }

    /// Part of the header between the id and the expiry, quotes included.
    fn header_middle(&self, description: &str) -> String {
        // Base64url, host names and times contain nothing that must be escaped.
        let mut text = format!(
            "\", realm=\"{}\", method=\"{}\", intent=\"{}\", request=\"{}\"",
            self.realm, self.method, self.intent, self.request
        );
        if !description.is_empty() && description.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            let escaped = description.replace('\\', "\\\\").replace('"', "\\\"");
            // Writing to a String cannot fail.
            let _ = write!(text, ", description=\"{escaped}\"");
        }
        text.push_str(", expires=\"");
        text
    }
}

fn header_text(id: &str, middle: &str, expires: &str, opaque: &str) -> String {
    let mut text = String::with_capacity(32 + id.len() + middle.len() + expires.len() + opaque.len());
    for part in ["Payment id=\"", id, middle, expires, "\""] {
        text.push_str(part);
    }
    if !opaque.is_empty() {
        for part in [", opaque=\"", opaque, "\""] {
            text.push_str(part);
        }
    }
    text
}

/// What all challenges for one request at one price have in common. Number and expiry make each unique.
#[derive(Debug)]
pub struct ChallengeTemplate {
    /// The key over every field before the expiry.
    key: MacKey,
    header_middle: String,
    /// The parameter `opaque` behind its number, before it is encoded.
    opaque: String,
    pub(super) lifetime_ms: u64,
}

impl ChallengeTemplate {
    /// `expires`, `digest` and `opaque` of the fields are ignored.
    pub(super) fn new(
        fields: &ChallengeFields<'_>,
        key: &MacKey,
        bound: &BoundRequest<'_>,
        description: &str,
        lifetime_ms: u64,
    ) -> Self {
        let [realm, between, method, _, intent, _, request, ..] = fields.parts();
        Self {
            key: key.after(&[realm, between, method, between, intent, between, request, between]),
            header_middle: fields.header_middle(description),
            opaque: OpaqueRequest::after_number(bound),
            lifetime_ms,
        }
    }

    pub(super) fn issue(&self, serial: u64, expires: &str) -> IssuedChallenge {
        let opaque = URL_SAFE_NO_PAD.encode(format!("{{\"n\":\"{serial:016x}{}", self.opaque));
        // No digest between the last two separators.
        let parts: [&[u8]; 3] = [expires.as_bytes(), b"||", opaque.as_bytes()];
        let id = URL_SAFE_NO_PAD.encode(self.key.tag(&parts));
        let header = header_text(&id, &self.header_middle, expires, &opaque).into();
        IssuedChallenge { id, header }
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
    #[serde(rename = "n")]
    _n: String,
    request: String,
    route: String,
}

impl OpaqueRequest {
    /// The text from the end of `n` on: members in the order of RFC 8785; route paths contain nothing that JSON escapes.
    fn after_number(bound: &BoundRequest<'_>) -> String {
        let request = URL_SAFE_NO_PAD.encode(bound.request);
        format!("\",\"request\":\"{request}\",\"route\":\"{}\"}}", bound.route)
    }

    pub(super) fn read(wire: &str) -> Option<Self> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(wire).ok()?).ok()
    }

    pub(super) fn is_for(&self, bound: &BoundRequest<'_>) -> bool {
        self.route == bound.route && self.request == URL_SAFE_NO_PAD.encode(bound.request)
    }
}
