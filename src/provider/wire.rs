//! The protocol between this service and a remote provider: JSON over HTTP. The common parts are here, and the types of
//! each port in the provider's own file. Both sides use these types, and the OpenAPI document
//! (`purser serve-providers --openapi`) is generated from them by a test.
//!
//! Rules for every call:
//! - **Authentication** is `Authorization: Bearer` with a secret that only the two sides know.
//! - **A call that changes something** is a POST with an `Idempotency-Key`. Repeating the key queries the result,
//!   whatever was lost, and never executes twice. Different content under the key is rejected as
//!   `idempotency_key_reused`.
//! - **A definite response** is a 200 of the documented form that repeats the order. Any other response leaves the
//!   outcome unknown, unless it is an [`ErrorResponse`] with one of the codes of [`ErrorCode`]. A proxy's page never
//!   counts as a decline.
//! - Amounts and rates are decimal text, times are Unix milliseconds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::str::FromStr;

use purser_actors::id::{JobId, Wallet};
use purser_actors::port::ErrorKind;
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[cfg(feature = "documents")]
pub use self::text_schemas::{DecimalAmount, SecretText, UsdcAmount};
use purser_host::secret::Secret;

#[cfg(feature = "documents")]
mod text_schemas;

/// The version of the protocol; it is the first segment of every path.
pub const VERSION: &str = "v1";

/// Header of the idempotency key.
pub const KEY_HEADER: &str = "idempotency-key";

/// Reason why a provider did not execute a request. Each code defines whether it may still be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Not executed, and a retry will not help: an operator has to act. A failed order is answered with 200 instead.
    Rejected,
    /// The resource does not exist.
    NotFound,
    /// The key was used with different content. The earlier request is unchanged.
    IdempotencyKeyReused,
    /// The request does not follow the protocol; nothing was done.
    InvalidRequest,
    /// The bearer secret is wrong; nothing was done.
    Unauthorized,
    /// Nothing was done; retry later.
    TemporarilyUnavailable,
    /// The request may have been executed; retry with the same key.
    OutcomeUnknown,
}

impl ErrorCode {
    pub const ALL: [Self; 7] = [
        Self::Rejected,
        Self::NotFound,
        Self::IdempotencyKeyReused,
        Self::InvalidRequest,
        Self::Unauthorized,
        Self::TemporarilyUnavailable,
        Self::OutcomeUnknown,
    ];

    /// HTTP status of the code. An error with another status is not definite.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidRequest => 400,
            Self::Unauthorized => 401,
            Self::NotFound => 404,
            Self::IdempotencyKeyReused => 409,
            Self::Rejected => 422,
            Self::TemporarilyUnavailable => 503,
            Self::OutcomeUnknown => 504,
        }
    }

    /// What the code means for money. A wrong secret or a rejected request has to be fixed by an operator: the order
    /// waits, it has not failed.
    pub const fn kind(self) -> ErrorKind {
        match self {
            Self::Rejected | Self::NotFound | Self::IdempotencyKeyReused => ErrorKind::Permanent,
            Self::InvalidRequest | Self::Unauthorized | Self::TemporarilyUnavailable => ErrorKind::Temporary,
            Self::OutcomeUnknown => ErrorKind::Unknown,
        }
    }

    /// The code that corresponds to an error kind of a port.
    pub const fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Permanent => Self::Rejected,
            ErrorKind::Temporary => Self::TemporarilyUnavailable,
            ErrorKind::Unknown => Self::OutcomeUnknown,
        }
    }
}

/// Body of every response that is not a 200.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ErrorResponse {
    pub error: ErrorDetails,
}

/// Code and message of an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ErrorDetails {
    /// Code of the error.
    pub code: ErrorCode,
    /// Message for the operator.
    pub message: String,
}

/// A response that does not have the expected form. The outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is not of the protocol: {0}")]
pub struct MalformedResponse(pub &'static str);

impl From<Infallible> for MalformedResponse {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Maximum length of a provider's reference in bytes.
const MAX_NAME_LEN: usize = 200;

/// Checks that positions of events rise and are all after `after`.
///
/// # Errors
/// When they do not rise: a skipped event would be lost.
pub(super) fn rising(after: u64, numbers: impl Iterator<Item = u64>) -> Result<(), MalformedResponse> {
    let mut last = after;
    for number in numbers {
        if number <= last {
            return Err(MalformedResponse("the numbers do not rise"));
        }
        last = number;
    }
    Ok(())
}

/// Query parameters of event lists.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "documents", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct AfterParam {
    /// Return only events after this position; 0 for all.
    pub after: u64,
    /// Maximum number of events, at most 1,000.
    pub limit: usize,
}

impl AfterParam {
    /// The limit that a server holds to.
    pub(super) fn bounded(self) -> usize {
        self.limit.min(1_000)
    }
}

/// A value of a path or another text.
///
/// # Errors
/// `what` it should have been.
pub(super) fn parse<T: FromStr>(text: &str, what: &'static str) -> Result<T, MalformedResponse> {
    text.parse().map_err(|_| MalformedResponse(what))
}

/// For `#[serde(with)]`: a value that is text by its `Display` and `FromStr`.
pub(super) mod text {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        read(deserializer, str::parse)
    }
}

/// For `#[serde(with)]`: decimals by name, each as text.
pub(super) mod decimals {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Text(#[serde(with = "text")] Decimal);

    pub(crate) fn serialize<S: Serializer>(map: &BTreeMap<String, Decimal>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(map.iter().map(|(name, value)| (name, Text(*value))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Decimal>, D::Error> {
        let map = BTreeMap::<String, Text>::deserialize(deserializer)?;
        Ok(map.into_iter().map(|(name, value)| (name, value.0)).collect())
    }
}

/// For `#[serde(with)]`: an address on Base.
pub(super) mod base_address {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(address: &[u8; 20], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Wallet::Evm(*address).address())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 20], D::Error> {
        read(deserializer, parse)
    }

    /// # Errors
    /// For anything but 20 bytes in hex after `0x`.
    pub(crate) fn parse(text: &str) -> Result<[u8; 20], MalformedResponse> {
        match text.parse() {
            Ok(Wallet::Evm(address)) => Ok(address),
            _ => Err(MalformedResponse("an address on Base")),
        }
    }
}

/// For `#[serde(with)]`: bytes of a fixed number in hex.
pub(super) mod hex_bytes {
    use super::*;

    pub(crate) fn serialize<S: Serializer, const N: usize>(bytes: &[u8; N], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(deserializer: D) -> Result<[u8; N], D::Error> {
        read(deserializer, parse)
    }

    /// # Errors
    /// For another number of bytes, or no hex.
    pub(crate) fn parse<const N: usize>(text: &str) -> Result<[u8; N], MalformedResponse> {
        let mut bytes = [0; N];
        let read = hex::decode_to_slice(text, &mut bytes);
        read.map(|()| bytes).map_err(|_| MalformedResponse("bytes in hex"))
    }
}

/// For `#[serde(with)]`: a transaction or message of at most 4 KiB, in Base64.
pub(super) mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;

    use super::*;

    const MAX_LEN: usize = 4 * 1024;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        read(deserializer, |text| match BASE64.decode(text) {
            Ok(bytes) if bytes.len() <= MAX_LEN => Ok(bytes),
            _ => Err(MalformedResponse("at most 4 KiB in Base64")),
        })
    }
}

/// For `#[serde(with)]`: a secret. Only here does one become text.
pub(super) mod secret {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(hidden: &Secret<String>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hidden.expose_secret())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret<String>, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

/// For `#[serde(with)]`: a secret, or `null`.
pub(super) mod optional_secret {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(hidden: &Option<Secret<String>>, serializer: S) -> Result<S::Ok, S::Error> {
        hidden
            .as_ref()
            .map(|hidden| hidden.expose_secret())
            .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Secret<String>>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Secret::new))
    }
}

fn read<'de, D: Deserializer<'de>, T, E: Display>(
    deserializer: D,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    parse(&Cow::<str>::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// For `#[serde(deserialize_with)]`: a reference that can be stored whole. A truncated one could name something else.
pub(super) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match (1..=MAX_NAME_LEN).contains(&text.len()) {
        true => Ok(text),
        false => Err(de::Error::custom("a name has 1 to 200 bytes")),
    }
}

/// For `#[serde(deserialize_with)]`: the same, or empty text.
pub(super) fn name_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.len() <= MAX_NAME_LEN {
        true => Ok(text),
        false => Err(de::Error::custom("a name has at most 200 bytes")),
    }
}

/// The key of an order that was read without its header.
pub(super) const fn no_key() -> JobId {
    JobId(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use purser_actors::money::{Cents, Usdc};

    use super::*;

    // Checks: only a protocol error with the status of its code is definite, and no code with an unknown outcome counts
    // as a failure.
    #[test]
    fn every_code_has_a_status_of_its_own_and_says_what_it_means_for_money() {
        let mut statuses = ErrorCode::ALL.map(ErrorCode::status);
        statuses.sort_unstable();
        assert!(statuses.windows(2).all(|pair| pair[0] != pair[1]));
        for kind in [ErrorKind::Permanent, ErrorKind::Temporary, ErrorKind::Unknown] {
            assert_eq!(ErrorCode::of(kind).kind(), kind);
        }
        assert_eq!(
            serde_json::to_string(&ErrorCode::IdempotencyKeyReused).unwrap(),
            "\"idempotency_key_reused\""
        );
    }

    // Checks: amounts are exact in both directions, and an invalid amount is rejected.
    #[test]
    fn amounts_are_exact() {
        let read = |text: &str| serde_json::from_str::<Cents>(text).map(Cents::get);
        assert_eq!(read("\"5.25\"").unwrap(), 525);
        assert_eq!(read("\"5\"").unwrap(), 500);
        for bad in ["5", "\"-5\"", "\"5.001\"", "\"1e3\"", "\"\"", "null"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let read = |text: &str| serde_json::from_str::<Usdc>(&format!("\"{text}\"")).map(Usdc::atomic);
        assert_eq!(read("1.000001").unwrap(), 1_000_001);
        for bad in ["1.0000001", "-1", "x", "99999999999999999999"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(serde_json::to_string(&Cents::new(1_050)).unwrap(), "\"10.5\"");
    }

    // Checks: a secret is serialized, and its debug output is redacted.
    #[test]
    fn case_70_a_secret_on_the_wire_does_not_print() {
        #[derive(Debug, Serialize, Deserialize)]
        struct Number(#[serde(with = "secret")] Secret<String>);
        let hidden: Number = serde_json::from_str("\"4000001234567899\"").unwrap();
        assert_eq!(format!("{hidden:?}"), "Number([secret])");
        assert_eq!(serde_json::to_string(&hidden).unwrap(), "\"4000001234567899\"");
    }
}
