//! Posts events to webhook endpoints, signed as [`purser_protocol::webhook_signature`] says.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use http::{HeaderMap, HeaderValue, Method, header};
use purser_actors::id::CardId;
use purser_actors::port::{
    BoxFuture, Clock, ErrorKind, ExternalText, PortError, WebhookPostError, WebhookPostRequest, WebhookResponse,
    WebhookSender,
};
pub use purser_protocol::webhook_signature::{ID, SIGNATURE, SigningSecret, TIMESTAMP, headers};

use crate::outbound::address_policy::BlockedUrl;
use crate::outbound::client::{OutboundClient, OutboundError, OutboundRequest};
use crate::vault::{Vault, VaultError};

/// Bytes read of a response.
const EXCERPT_BYTES: usize = 512;
/// Lengths of digit runs and alphanumeric runs that are redacted in an excerpt: card numbers, keys, tokens.
const MAX_DIGITS: usize = 8;
const MAX_RUN: usize = 24;

/// Seals an endpoint's secret as this record of the vault.
///
/// # Errors
/// When the vault fails.
pub fn seal_secret(secret: &SigningSecret, vault: &Vault, record: u128) -> Result<Vec<u8>, VaultError> {
    vault.seal_bytes(CardId(record), secret.expose())
}

/// Opens the secret in this record of the vault.
///
/// # Errors
/// When the vault cannot open it, or it is not a secret.
pub fn open_secret(vault: &Vault, record: u128, sealed: &[u8]) -> Result<SigningSecret, VaultError> {
    let plain = vault.open_bytes(CardId(record), sealed)?;
    let bytes = <[u8; 32]>::try_from(plain.as_slice()).map_err(|_| VaultError::Sealed("content"))?;
    Ok(SigningSecret::of_bytes(bytes))
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
            secrets.push(open_secret(&self.vault, *record, sealed).map_err(internal_error)?);
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
        BlockedUrl::Scheme => "only http and https are allowed",
        BlockedUrl::Credentials => "it contains credentials",
        BlockedUrl::Port => "its port is not allowed",
        BlockedUrl::ObfuscatedAddress => "its address is not plainly written",
        BlockedUrl::InternalHostname => "its name is internal",
        BlockedUrl::InternalAddress => "its address is internal",
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
