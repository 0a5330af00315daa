//! Posts events to webhook endpoints in the format of [Standard Webhooks](https://www.standardwebhooks.com): three
//! headers. One of them holds a signature by each active secret over `id.seconds.body`.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use purser_actors::id::CardId;
use purser_actors::port::{
    BoxFuture, Clock, Entropy, ErrorKind, ExternalText, PortError, WebhookPostError, WebhookPostRequest,
    WebhookResponse, WebhookSender,
};

use crate::identity::secret::{Key32, MacKey, SecretText};
use crate::outbound::address_policy::BlockedUrl;
use crate::outbound::client::{OutboundClient, OutboundError, OutboundRequest};
use crate::vault::{Vault, VaultError};

/// `webhook-id`: id of the message, the same on every attempt.
pub const ID: HeaderName = HeaderName::from_static("webhook-id");
/// `webhook-timestamp`: Unix seconds of the attempt. It uses the wall clock because verifiers compare with
/// theirs.
pub const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
/// `webhook-signature`: `v1,` and base64, one per secret, separated by spaces.
pub const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

const PREFIX: &str = "whsec_";
/// Bytes read of a response.
const EXCERPT_BYTES: usize = 512;
/// Lengths of digit runs and alphanumeric runs that are redacted in an excerpt: card numbers, keys, tokens.
const MAX_DIGITS: usize = 8;
const MAX_RUN: usize = 24;

/// The secret of one endpoint: 32 bytes that only its owner and this service know.
#[derive(Clone, Debug)]
pub struct SigningSecret(Key32);

impl SigningSecret {
    pub fn new(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&entropy.random().to_be_bytes());
        bytes[16..].copy_from_slice(&entropy.random().to_be_bytes());
        Self(Key32::new(bytes))
    }

    /// From the owner's form: `whsec_` and base64.
    ///
    /// # Errors
    /// For any other text, or another length than 32 bytes.
    pub fn of_text(text: &SecretText) -> Option<Self> {
        let bytes = STANDARD.decode(text.expose().strip_prefix(PREFIX)?).ok()?;
        Some(Self(Key32::new(bytes.try_into().ok()?)))
    }

    /// The owner's form, for the only response that contains it.
    pub fn to_text(&self) -> SecretText {
        SecretText::new(format!("{PREFIX}{}", STANDARD.encode(self.0.expose())))
    }

    /// Seals it as this record of the vault.
    ///
    /// # Errors
    /// When the vault fails.
    pub fn seal(&self, vault: &Vault, record: u128) -> Result<Vec<u8>, VaultError> {
        vault.seal_bytes(CardId(record), self.0.expose())
    }

    /// Opens this record of the vault.
    ///
    /// # Errors
    /// When the vault cannot open it, or it is not a secret.
    pub fn open(vault: &Vault, record: u128, sealed: &[u8]) -> Result<Self, VaultError> {
        let plain = vault.open_bytes(CardId(record), sealed)?;
        let bytes = <[u8; 32]>::try_from(plain.as_slice()).map_err(|_| VaultError::Sealed("content"))?;
        Ok(Self(Key32::new(bytes)))
    }

    pub fn sign(&self, id: &str, seconds: u64, body: &[u8]) -> String {
        let (key, at) = (MacKey::new(&self.0), seconds.to_string());
        let tag = key.tag(&[id.as_bytes(), b".", at.as_bytes(), b".", body]);
        format!("v1,{}", STANDARD.encode(tag))
    }
}

/// The three headers of a message.
pub fn headers(secrets: &[SigningSecret], id: &str, seconds: u64, body: &[u8]) -> Vec<(HeaderName, HeaderValue)> {
    let signatures: Vec<String> = secrets.iter().map(|secret| secret.sign(id, seconds, body)).collect();
    let value = |text: &str| HeaderValue::from_str(text).ok();
    let written = [
        (ID, value(id)),
        (TIMESTAMP, Some(HeaderValue::from(seconds))),
        (SIGNATURE, value(&signatures.join(" "))),
    ];
    written
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// Posts events through the address filter.
pub struct HttpWebhookSender {
    outbound: OutboundClient,
    vault: Arc<Vault>,
    /// The machine's clock, never the sandbox's: receivers compare with theirs.
    wall_clock: Arc<dyn Clock>,
}

impl HttpWebhookSender {
    /// `vault` holds the secrets; `wall_clock` is the machine's clock.
    pub const fn new(outbound: OutboundClient, vault: Arc<Vault>, wall_clock: Arc<dyn Clock>) -> Self {
        Self {
            outbound,
            vault,
            wall_clock,
        }
    }

    /// Checks the text of a URL and returns its normalized form.
    ///
    /// # Errors
    /// The filter's error.
    pub fn check_url(&self, url: &str) -> Result<String, BlockedUrl> {
        Ok(self.outbound.check_url(url)?.url.into())
    }

    async fn send(&self, posting: WebhookPostRequest<'_>) -> Result<WebhookResponse, WebhookPostError> {
        // A URL that was public at registration may be blocked now.
        let target = self
            .outbound
            .check_url(posting.url)
            .map_err(|why| WebhookPostError::Failed(wire_summary(why)))?;
        let mut secrets = Vec::with_capacity(posting.secrets.len());
        for (record, sealed) in &posting.secrets {
            secrets.push(SigningSecret::open(&self.vault, *record, sealed).map_err(internal_error)?);
        }
        if secrets.is_empty() {
            return Err(internal_error(VaultError::Sealed("an endpoint has no secret")));
        }
        let (id, body) = (posting.event.to_string(), posting.body.as_bytes());
        let mut headers = headers(&secrets, &id, self.wall_clock.now().seconds(), body);
        headers.push((header::USER_AGENT, HeaderValue::from_static("purser-webhooks/1")));
        let asking = OutboundRequest {
            method: Method::POST,
            headers,
            body: Some(body.to_vec()),
        };
        match self.outbound.send_and_forget(&target, asking, EXCERPT_BYTES).await {
            Ok(answered) => Ok(WebhookResponse {
                status: answered.status,
                retry_after_ms: self.retry_after(&answered.headers),
                excerpt: excerpt(&answered.body),
            }),
            Err(error) => Err(WebhookPostError::Failed(match error {
                OutboundError::Blocked(why) => wire_summary(why),
                OutboundError::Unreachable => "it cannot be reached",
                OutboundError::Disconnected => "the connection broke off",
                OutboundError::Timeout => "no answer in time",
                OutboundError::TooLarge => "its headers are too large",
            })),
        }
    }

    /// Seconds, or an HTTP date.
    fn retry_after(&self, headers: &HeaderMap) -> Option<u64> {
        let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
        if let Ok(seconds) = text.parse::<u64>() {
            return Some(seconds.saturating_mul(1_000));
        }
        Some(http_date(text)?.saturating_sub(self.wall_clock.now().0))
    }
}

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT` to milliseconds since the epoch.
fn http_date(text: &str) -> Option<u64> {
    let time = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(time.as_millis()).ok()
}

fn internal_error(error: VaultError) -> WebhookPostError {
    WebhookPostError::Internal(PortError {
        // It can succeed once the key is back.
        kind: ErrorKind::Temporary,
        operation: "open a webhook's secret",
        message: error.to_string(),
    })
}

/// The filter's reason, for the owner of the URL.
pub const fn wire_summary(why: BlockedUrl) -> &'static str {
    match why {
        BlockedUrl::Malformed => "it is not a URL",
        BlockedUrl::Scheme => "only http and https are called",
        BlockedUrl::Credentials => "it carries credentials",
        BlockedUrl::Port => "its port is not called",
        BlockedUrl::ObfuscatedAddress => "its address is not plainly written",
        BlockedUrl::InternalHostname => "its name is an inside one",
        BlockedUrl::InternalAddress => "its address is an inside one",
    }
}

/// The start of a response, with possible card numbers, keys and tokens redacted.
fn excerpt(body: &[u8]) -> Option<ExternalText> {
    let text = String::from_utf8_lossy(body);
    let hidden = redact_excerpt(&text);
    (!hidden.trim().is_empty()).then(|| ExternalText::from(hidden.trim()))
}

fn redact_excerpt(text: &str) -> String {
    let is_run = |c: char| c.is_alphanumeric() || matches!(c, '+' | '/' | '=' | '_' | '-' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // Digits may be grouped.
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ' ' | '-')));
        let digits = &rest[..digits.unwrap_or(rest.len())];
        let run = &rest[..rest.find(|c| !is_run(c)).unwrap_or(rest.len())];
        if first.is_ascii_digit() && digits.bytes().filter(u8::is_ascii_digit).count() > MAX_DIGITS {
            out.push_str("[hidden]");
            rest = &rest[digits.trim_end().len()..];
        } else if run.len() > MAX_RUN {
            out.push_str("[hidden]");
            rest = &rest[run.len()..];
        } else {
            let step = match first.is_ascii_digit() {
                true => digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()),
                false => first.len_utf8(),
            };
            out.push_str(&rest[..step]);
            rest = &rest[step..];
        }
    }
    out
}

impl WebhookSender for HttpWebhookSender {
    fn post<'a>(&'a self, posting: WebhookPostRequest<'a>) -> BoxFuture<'a, Result<WebhookResponse, WebhookPostError>> {
        Box::pin(self.send(posting))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: the format is that of Standard Webhooks; the expected signature comes from Python's `hmac` and
    // `base64`. A secret's text parses to the same secret.
    #[test]
    fn a_signature_is_that_of_standard_webhooks() {
        let secret = SigningSecret(Key32::new([7; 32]));
        assert_eq!(
            secret.sign("msg_1", 1_795_176_000, b"{\"a\":1}"),
            "v1,4qKGV6sbgKzU3vtJSwOZr4B+yQfs3hl8uTYI32UyHKo="
        );
        let again = SigningSecret::of_text(&secret.to_text()).unwrap();
        assert_eq!(again.sign("a", 1, b"b"), secret.sign("a", 1, b"b"));
        assert!(SigningSecret::of_text(&SecretText::new("whsec_AAAA".into())).is_none());
    }

    // Checks: two secrets make one header with two signatures, each as it is alone.
    #[test]
    fn case_62_two_secrets_make_two_signatures() {
        let (new, old) = (SigningSecret(Key32::new([1; 32])), SigningSecret(Key32::new([2; 32])));
        let both = headers(&[new.clone(), old.clone()], "evt_1", 5, b"x");
        let expected = format!("{} {}", new.sign("evt_1", 5, b"x"), old.sign("evt_1", 5, b"x"));
        assert_eq!(both[2], (SIGNATURE, HeaderValue::from_str(&expected).unwrap()));
        assert_eq!(
            (both[0].1.to_str().unwrap(), both[1].1.to_str().unwrap()),
            ("evt_1", "5")
        );
    }

    // Checks: an excerpt of a receiver's response is stored, without anything that could be a card number, a key or a
    // token.
    #[test]
    fn case_70_an_excerpt_hides_what_could_be_secret() {
        let said = |text: &str| excerpt(text.as_bytes()).map(|said| said.to_string());
        assert_eq!(said("no such order 12345"), Some("no such order 12345".into()));
        assert_eq!(
            said("card 4000 0012 3456 7899 is bad"),
            Some("card [hidden] is bad".into())
        );
        assert_eq!(said("card 4000001234567899."), Some("card [hidden].".into()));
        let token = format!("Bearer {} no", "aB3".repeat(20));
        assert_eq!(said(&token), Some("Bearer [hidden] no".into()));
        assert_eq!(
            said(&"x ".repeat(400)).map(|said| said.len()),
            Some(ExternalText::MAX_CHARS)
        );
        assert_eq!(said(" \n"), None);
        assert!(excerpt(&[0xff, b'a']).is_some());
    }

    // Checks: both forms of `Retry-After` are parsed.
    #[test]
    fn dates_of_http_are_read() {
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000));
        for bad in ["Sun, 06 Nov 1994 08:49:37", "Sun, 06 ovN 1994 08:49:37 GMT", "7 s", ""] {
            assert_eq!(http_date(bad), None, "{bad}");
        }
    }
}
