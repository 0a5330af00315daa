//! The protocol between this service and a remote provider: JSON over HTTP, one module per port. Both sides use these
//! types, and the OpenAPI document (`purser serve-providers --openapi`) is generated from them.
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

pub mod applications;
pub mod balance_holds;
pub mod banking;
pub mod bridge;
pub mod bridge_messages;
pub mod cards;
pub mod deposits;
pub mod gift_card_orders;
pub mod gift_cards;
pub mod identity;
pub mod payout_events;
pub mod payouts;
pub mod reconciliation;
pub mod reference_data;
pub mod reloadable_cards;

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use purser_actors::id::Wallet;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::ErrorKind;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};

use crate::secret::Secret;

/// Header of the idempotency key.
pub const KEY_HEADER: &str = "idempotency-key";

/// Reason why a provider did not execute a request. Each code defines whether it may still be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorResponse {
    pub error: ErrorDetails,
}

/// Code and message of an error.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
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

/// Maximum length of a provider's reference in bytes. References are stored whole: a truncated one could name something
/// else.
const MAX_NAME_LEN: usize = 200;

/// A reference that can be stored.
///
/// # Errors
/// When it is empty or too long.
fn name(text: String) -> Result<String, MalformedResponse> {
    match (1..=MAX_NAME_LEN).contains(&text.len()) {
        true => Ok(text),
        false => Err(MalformedResponse("a name has 1 to 200 bytes")),
    }
}

/// Checks that positions of events rise and are all after `after`.
///
/// # Errors
/// When they do not rise: a skipped event would be lost.
fn rising(after: u64, numbers: impl Iterator<Item = u64>) -> Result<(), MalformedResponse> {
    let mut last = after;
    for number in numbers {
        if number <= last {
            return Err(MalformedResponse("the numbers do not rise"));
        }
        last = number;
    }
    Ok(())
}

/// A value that is text on the wire: an id, a code, an address, a decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextValue<T>(pub T);

impl<T: Display> Serialize for TextValue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for TextValue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map(TextValue).map_err(de::Error::custom)
    }
}

/// Amount in dollars or another currency with two decimal places, as text: `5`, `5.2` or `5.25`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecimalAmount(pub Cents);

impl Display for DecimalAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for DecimalAmount {
    type Err = purser_actors::money::AmountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Cents::parse(text).map(Self)
    }
}

/// USDC amount with up to six decimal places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsdcAmount(pub Usdc);

impl Display for UsdcAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for UsdcAmount {
    type Err = MalformedResponse;

    fn from_str(text: &str) -> Result<Self, MalformedResponse> {
        let whole = Decimal::from_str_exact(text)
            .ok()
            .and_then(|d| d.checked_mul(Decimal::from(1_000_000)));
        let atomic = whole.filter(|d| d.is_integer()).and_then(|d| d.to_u64());
        atomic
            .map(|atomic| Self(Usdc::from_atomic(atomic)))
            .ok_or(MalformedResponse("an amount of USDC"))
    }
}

/// A wallet's exact address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalletAddress(pub Wallet);

impl Display for WalletAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.address())
    }
}

impl FromStr for WalletAddress {
    type Err = purser_actors::id::ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// An address on Base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseAddress(pub [u8; 20]);

impl Display for BaseAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Wallet::Evm(self.0).address())
    }
}

impl FromStr for BaseAddress {
    type Err = MalformedResponse;

    fn from_str(text: &str) -> Result<Self, MalformedResponse> {
        match text.parse() {
            Ok(Wallet::Evm(address)) => Ok(Self(address)),
            _ => Err(MalformedResponse("an address on Base")),
        }
    }
}

/// A secret on the wire: a card number, a CVV, a code. Its `Debug` output is redacted.
#[derive(Clone, Debug)]
pub struct SecretText(pub Secret<String>);

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose_secret())
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}

/// Schema of a text with a pattern.
fn text(pattern: Option<&str>) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .pattern(pattern)
        .build()
        .into()
}

macro_rules! define_text_schemas {
    ($($type:ty, $name:literal, $pattern:expr;)*) => {$(
        impl utoipa::PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                text($pattern)
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }
    )*};
}

define_text_schemas! {
    DecimalAmount, "Amount", Some("^[0-9]+([.][0-9]{1,2})?$");
    UsdcAmount, "Usdc", Some("^[0-9]+([.][0-9]{1,6})?$");
    SecretText, "Secret", None;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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
        let read = |text: &str| serde_json::from_str::<TextValue<DecimalAmount>>(text).map(|a| a.0.0.get());
        assert_eq!(read("\"5.25\"").unwrap(), 525);
        assert_eq!(read("\"5\"").unwrap(), 500);
        for bad in ["5", "\"-5\"", "\"5.001\"", "\"1e3\"", "\"\"", "null"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let read = |text: &str| text.parse::<UsdcAmount>().map(|d| d.0.atomic());
        assert_eq!(read("1.000001"), Ok(1_000_001));
        for bad in ["1.0000001", "-1", "x", "99999999999999999999"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(
            serde_json::to_string(&TextValue(DecimalAmount(Cents::new(1_050)))).unwrap(),
            "\"10.5\""
        );
    }

    // Checks: a secret is serialized, and its debug output is redacted.
    #[test]
    fn case_70_a_secret_on_the_wire_does_not_print() {
        let hidden: SecretText = serde_json::from_str("\"4000001234567899\"").unwrap();
        assert_eq!(format!("{hidden:?}"), "SecretText([secret])");
        assert_eq!(serde_json::to_string(&hidden).unwrap(), "\"4000001234567899\"");
    }
}
