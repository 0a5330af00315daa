//! Iris, Circle's attestation service: messages of a burn, fees, re-attestation.
//!
//! Circle's limit is 35 requests a second; a caller above it is blocked for five minutes, so every 429 is honoured.

use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::burn::{BurnOrder, FeeRate};
use super::message::{BurnMessage, MAX_BYTES, MessageError};
use super::{DOMAIN_BASE, DOMAIN_SOLANA, Deployment};
use crate::solana::Signature;
use crate::solana::address::base58;

/// Maximum size of a response body in bytes.
pub const MAX_RESPONSE_BYTES: usize = 256 * 1024;
/// How long Circle blocks a caller above its limit, if the response does not say.
pub const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(300);
/// Maximum wait that is accepted from a response.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);
/// Maximum number of messages of one transaction.
const MAX_MESSAGES: usize = 64;
/// Size of one attester's signature in bytes.
const SIGNATURE_BYTES: usize = 65;

/// Why Iris gave no result. None of these is evidence about the burn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IrisError {
    /// Response with status 429.
    #[error("iris: rate limited, retry after {} s", retry_after.as_secs())]
    RateLimited {
        /// Time until the next request may succeed.
        retry_after: Duration,
    },
    /// Another failure status.
    #[error("iris: HTTP status {0}")]
    Status(u16),
    /// No connection, a broken one, or no complete response in time.
    #[error("iris: unreachable")]
    Unreachable,
    /// Not the documented form.
    #[error("iris: {0}")]
    Malformed(&'static str),
}

impl IrisError {
    /// Whether the same request may succeed later. False for a 4xx other than 429.
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Unreachable | Self::Malformed(_) => true,
            Self::Status(status) => *status >= 500,
        }
    }
}

/// State of a message's attestation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttestationStatus {
    /// Waits for finality or an allowance, or has a status that is unknown here.
    Pending,
    Complete,
    /// The attestation expired before it was used.
    Expired,
}

/// A message listed by Iris.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IrisMessage {
    /// State of its attestation.
    pub status: AttestationStatus,
    /// Nonce of the message, once known.
    pub nonce: Option<[u8; 32]>,
    /// Bytes of the message; empty until known.
    pub message: Vec<u8>,
    /// The attesters' signatures; empty until complete.
    pub attestation: Vec<u8>,
    /// Why it is delayed, in Iris's terms; external text of at most 64 bytes.
    pub delay_reason: Option<String>,
}

/// The attestation of one order's burn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attestation {
    /// Not yet attested, or the burn was not seen yet.
    Pending {
        /// The reason, if Iris gives one.
        delay_reason: Option<String>,
    },
    /// [`Iris::reattest`] requests a new attestation.
    Expired {
        /// Identifies the message.
        nonce: [u8; 32],
    },
    /// Ready to mint.
    Complete {
        /// The message, parsed and checked against the order.
        message: Box<BurnMessage>,
        /// The attested bytes of the message.
        bytes: Vec<u8>,
        /// The attesters' signatures.
        attestation: Vec<u8>,
    },
}

/// Fee rates of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFee {
    /// Finality threshold of the rate.
    pub finality_threshold: u32,
    /// Smallest fee, as a share of the amount.
    pub rate: FeeRate,
}

/// A client of Iris.
#[derive(Clone, Debug)]
pub struct Iris {
    client: reqwest::Client,
    base: Url,
    timeout: Duration,
}

impl Iris {
    /// Creates a client for the service at `base`, with this timeout for a whole exchange. `None` if no paths can be
    /// added to `base`.
    pub fn new(client: reqwest::Client, base: &str, timeout: Duration) -> Option<Self> {
        let base = Url::parse(base).ok().filter(|url| !url.cannot_be_a_base())?;
        Some(Self { client, base, timeout })
    }

    /// The messages of a transaction on Solana; empty if Iris has not seen it.
    ///
    /// # Errors
    /// See [`IrisError`].
    pub async fn messages(&self, burn: &Signature) -> Result<Vec<IrisMessage>, IrisError> {
        let mut url = self.url(&["v2", "messages", &DOMAIN_SOLANA.to_string()])?;
        url.query_pairs_mut().append_pair("transactionHash", &base58(burn));
        match self.exchange(Method::GET, url).await {
            Ok(body) => decode_messages(&body),
            Err(IrisError::Status(404)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Fees from Solana to Base.
    ///
    /// # Errors
    /// See [`IrisError`].
    pub async fn fees(&self) -> Result<Vec<RouteFee>, IrisError> {
        let (from, to) = (DOMAIN_SOLANA.to_string(), DOMAIN_BASE.to_string());
        let url = self.url(&["v2", "burn", "USDC", "fees", &from, &to])?;
        decode_fees(&self.exchange(Method::GET, url).await?)
    }

    /// Requests a new attestation of an expired message. Repeating it is harmless.
    ///
    /// # Errors
    /// See [`IrisError`].
    pub async fn reattest(&self, nonce: &[u8; 32]) -> Result<(), IrisError> {
        let url = self.url(&["v2", "reattest", &format!("0x{}", hex::encode(nonce))])?;
        self.exchange(Method::POST, url).await.map(drop)
    }

    fn url(&self, path: &[&str]) -> Result<Url, IrisError> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| IrisError::Malformed("the base URL takes no path"))?
            .pop_if_empty()
            .extend(path);
        Ok(url)
    }

    async fn exchange(&self, method: Method, url: Url) -> Result<Vec<u8>, IrisError> {
        let unreachable = |_| IrisError::Unreachable;
        let request = self.client.request(method, url).timeout(self.timeout);
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let header = response.headers().get("retry-after");
            let seconds = header.and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let retry_after = seconds
                .map_or(DEFAULT_RETRY_AFTER, Duration::from_secs)
                .min(MAX_RETRY_AFTER);
            return Err(IrisError::RateLimited { retry_after });
        }
        if !status.is_success() {
            return Err(IrisError::Status(status.as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(IrisError::Malformed("the response is too long"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Finds an order's message among those of its transaction and checks it.
///
/// # Errors
/// [`MessageError`] if messages are listed but none matches the order: do not mint, and alert an operator.
pub fn attestation_for(
    messages: Vec<IrisMessage>,
    order: &BurnOrder,
    deployment: &Deployment,
) -> Result<Attestation, MessageError> {
    attestation_where(messages, |message| message.check_is_of(order, deployment))
}

/// Finds the first message of a transaction that passes this check.
///
/// # Errors
/// If none passes, the error of the check for the first message.
pub fn attestation_where(
    messages: Vec<IrisMessage>,
    check: impl Fn(&BurnMessage) -> Result<(), MessageError>,
) -> Result<Attestation, MessageError> {
    let mut answer = Ok(Attestation::Pending { delay_reason: None });
    for listed in messages {
        if listed.message.is_empty() {
            // Listed before its content is known.
            answer = Ok(Attestation::Pending {
                delay_reason: listed.delay_reason,
            });
            continue;
        }
        let message = BurnMessage::parse(&listed.message);
        let checked = message.and_then(|message| check(&message).map(|()| message));
        let message = match checked {
            Ok(message) => message,
            Err(error) => {
                if matches!(answer, Ok(Attestation::Pending { delay_reason: None })) {
                    answer = Err(error);
                }
                continue;
            }
        };
        return Ok(match listed.status {
            AttestationStatus::Pending => Attestation::Pending {
                delay_reason: listed.delay_reason,
            },
            AttestationStatus::Expired => Attestation::Expired {
                nonce: listed.nonce.unwrap_or(message.nonce),
            },
            AttestationStatus::Complete => Attestation::Complete {
                message: Box::new(message),
                bytes: listed.message,
                attestation: listed.attestation,
            },
        });
    }
    answer
}

#[derive(Deserialize)]
struct MessagesBody {
    messages: Vec<MessageBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageBody {
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    attestation: Option<String>,
    #[serde(default)]
    event_nonce: Option<String>,
    status: String,
    #[serde(default)]
    delay_reason: Option<String>,
}

fn decode_messages(body: &[u8]) -> Result<Vec<IrisMessage>, IrisError> {
    let body: MessagesBody =
        serde_json::from_slice(body).map_err(|_| IrisError::Malformed("not a list of messages"))?;
    if body.messages.len() > MAX_MESSAGES {
        return Err(IrisError::Malformed("too many messages"));
    }
    body.messages.into_iter().map(decode_message).collect()
}

fn decode_message(body: MessageBody) -> Result<IrisMessage, IrisError> {
    let status = match body.status.as_str() {
        "complete" => AttestationStatus::Complete,
        "expired" => AttestationStatus::Expired,
        _ => AttestationStatus::Pending,
    };
    let message = body.message.as_deref().map_or(Some(Vec::new()), hex_bytes);
    let message = message.ok_or(IrisError::Malformed("a message is not hexadecimal"))?;
    // Pending messages have the text PENDING in place of the attestation.
    let attestation = match status {
        AttestationStatus::Complete => body.attestation.as_deref().and_then(hex_bytes).unwrap_or_default(),
        _ => Vec::new(),
    };
    let complete = status == AttestationStatus::Complete;
    if complete && (attestation.is_empty() || attestation.len() % SIGNATURE_BYTES != 0 || message.is_empty()) {
        return Err(IrisError::Malformed("a complete message lacks its bytes or signatures"));
    }
    let nonce = body.event_nonce.as_deref().and_then(hex_bytes);
    Ok(IrisMessage {
        status,
        nonce: nonce.and_then(|nonce| nonce.try_into().ok()),
        message,
        attestation,
        delay_reason: body
            .delay_reason
            .map(|reason| reason.chars().filter(char::is_ascii).take(64).collect()),
    })
}

/// Parses hexadecimal text with `0x`, of at most [`MAX_BYTES`] bytes.
fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    (digits.len() <= 2 * MAX_BYTES)
        .then(|| hex::decode(digits).ok())
        .flatten()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FeeBody<'a> {
    finality_threshold: u32,
    /// A JSON number parsed from its text: basis points have decimals, and money is never a float.
    #[serde(borrow)]
    minimum_fee: &'a RawValue,
}

fn decode_fees(body: &[u8]) -> Result<Vec<RouteFee>, IrisError> {
    let malformed = IrisError::Malformed("not a list of fees");
    let rows: Vec<FeeBody<'_>> = serde_json::from_slice(body).map_err(|_| malformed.clone())?;
    let fee = |row: FeeBody<'_>| {
        Some(RouteFee {
            finality_threshold: row.finality_threshold,
            rate: FeeRate::parse_basis_points(row.minimum_fee.get())?,
        })
    };
    rows.into_iter().map(|row| fee(row).ok_or(malformed.clone())).collect()
}

#[cfg(test)]
mod tests;
