//! The 402 challenge: for stock x402 v2 clients in the header and for other clients in the body.
//!
//! The header contains the plain v2 object. The body is the same object plus the contract's fields in each
//! `accepts` entry (`maxAmountRequired`, `resource` as text, `description`, `mimeType`), for clients that only
//! read bodies. Each text is written directly into one buffer: this response is free and requested often, so it must be
//! cheap.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::terms::{Payee, Terms};

/// `error` of a first response, with @x402's text.
pub const PAYMENT_REQUIRED_ERROR: &str = "Payment required";

/// The product, as the client requested it.
#[derive(Clone, Copy, Debug)]
pub struct Resource<'a> {
    /// Absolute URL of the request with its query, under our configured public origin.
    pub url: &'a str,
    /// One short sentence.
    pub description: &'a str,
    /// Content type of the paid response.
    pub mime_type: &'a str,
}

/// All inputs of a challenge.
#[derive(Clone, Copy, Debug)]
pub struct ChallengeInput<'a> {
    pub resource: Resource<'a>,
    /// Accepted terms, the preferred first: stock clients take the first they can pay.
    pub terms: &'a [Terms],
    /// [`PAYMENT_REQUIRED_ERROR`], or the reason of a rejected payment.
    pub error: &'a str,
    /// The contract's `code`: `payment_required`, `payment_invalid`, `sign_in_required`.
    pub code: &'a str,
    /// JSON object of x402 extensions, for header and body.
    pub extensions: Option<&'a str>,
    /// More members of the body: JSON without braces and outer commas, as in `"message":"…","terminal":false`.
    pub body_members: Option<&'a str>,
}

/// A challenge ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Value of `PAYMENT-REQUIRED`: padded standard base64, so always a valid header value.
    pub header: Bytes,
    /// Body of type `application/json`.
    pub body: Bytes,
    /// Where the further members begin in the body, or would: behind `code`.
    pub members_at: usize,
}

/// Builds the challenge. Send it with status 402 and `Cache-Control: no-store`.
pub fn challenge(parts: &ChallengeInput<'_>) -> Challenge {
    let mut resource = JsonResource::new(&parts.resource);
    let mut json = String::with_capacity(1024);
    json.push_str("{\"x402Version\":2,\"error\":");
    push_json_string(&mut json, parts.error);
    let after_error = json.len();
    resource.push_object(&mut json);
    json.push_str(",\"accepts\":[");
    let mut entries = Vec::with_capacity(parts.terms.len());
    for (index, terms) in parts.terms.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        let start = json.len();
        push_entry(&mut json, terms);
        entries.push(start..json.len());
        json.push('}');
    }
    json.push(']');
    push_extensions(&mut json, parts.extensions);
    json.push('}');

    resource.finish_tail();
    let extensions = parts.extensions.map_or(0, str::len);
    let members = parts.body_members.map_or(0, str::len);
    let tail = resource.tail.len() + 64;
    let mut body = String::with_capacity(json.len() + entries.len() * tail + members + extensions + 64);
    body.push_str(&json[..after_error]);
    body.push_str(",\"code\":");
    push_json_string(&mut body, parts.code);
    let members_at = body.len();
    if let Some(members) = parts.body_members {
        body.push(',');
        body.push_str(members);
    }
    resource.push_object(&mut body);
    body.push_str(",\"accepts\":[");
    for (index, (entry, terms)) in entries.into_iter().zip(parts.terms).enumerate() {
        if index > 0 {
            body.push(',');
        }
        body.push_str(&json[entry]);
        body.push_str(",\"maxAmountRequired\":\"");
        push_number(&mut body, terms.amount.atomic());
        body.push_str(&resource.tail);
    }
    body.push(']');
    push_extensions(&mut body, parts.extensions);
    body.push('}');
    Challenge {
        header: Bytes::from(STANDARD.encode(json)),
        body: Bytes::from(body),
        members_at,
    }
}

/// The texts of the resource, escaped once and used in up to four places.
struct JsonResource {
    url: String,
    description: String,
    mime_type: String,
    tail: String,
}

impl JsonResource {
    fn new(resource: &Resource<'_>) -> Self {
        let quoted = |text: &str| {
            let mut json = String::with_capacity(text.len() + 8);
            push_json_string(&mut json, text);
            json
        };
        Self {
            url: quoted(resource.url),
            description: quoted(resource.description),
            mime_type: quoted(resource.mime_type),
            tail: String::new(),
        }
    }

    fn push_object(&self, json: &mut String) {
        json.push_str(",\"resource\":{\"url\":");
        json.push_str(&self.url);
        json.push_str(",\"description\":");
        json.push_str(&self.description);
        json.push_str(",\"mimeType\":");
        json.push_str(&self.mime_type);
        json.push('}');
    }

    /// The end of an entry of the body, from the closing quote of `maxAmountRequired`.
    fn finish_tail(&mut self) {
        self.tail
            .reserve(self.url.len() + self.description.len() + self.mime_type.len() + 48);
        self.tail.push_str("\",\"resource\":");
        self.tail.push_str(&self.url);
        self.tail.push_str(",\"description\":");
        self.tail.push_str(&self.description);
        self.tail.push_str(",\"mimeType\":");
        self.tail.push_str(&self.mime_type);
        self.tail.push('}');
    }
}

/// An entry of `accepts` without its closing brace.
fn push_entry(json: &mut String, terms: &Terms) {
    let payee = match &terms.payee {
        Payee::Base(payee) => Some(&payee.json),
        Payee::Solana(payee) => payee.json_for(terms.fee_payer.as_ref()),
    };
    // A payee on Solana has a fee payer, and a text for each.
    let Some(payee) = payee else { return };
    json.push_str(&payee.before);
    push_number(json, terms.amount.atomic());
    json.push_str(&payee.middle);
    push_number(json, u64::from(terms.max_timeout_seconds));
    json.push_str(&payee.extra);
    if let (Payee::Solana(_), Some(recent)) = (&terms.payee, &terms.recent) {
        json.push_str(&recent.json);
    }
    json.push('}');
}

fn push_extensions(json: &mut String, extensions: Option<&str>) {
    if let Some(extensions) = extensions {
        json.push_str(",\"extensions\":");
        json.push_str(extensions);
    }
}

fn push_number(json: &mut String, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    json.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

/// Appends a JSON string (RFC 8259 section 7), quotes included.
pub(super) fn push_json_string(json: &mut String, text: &str) {
    json.push('"');
    let mut plain_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        json.push_str(&text[plain_from..at]);
        plain_from = at + 1;
        match byte {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                json.push_str("\\u00");
                json.push(char::from(HEX[usize::from(control >> 4)]));
                json.push(char::from(HEX[usize::from(control & 15)]));
            }
        }
    }
    json.push_str(&text[plain_from..]);
    json.push('"');
}
