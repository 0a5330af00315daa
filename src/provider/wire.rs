//! The protocol between this service and a provider that runs elsewhere: JSON over HTTP, one module a port. Both sides
//! read and write these types, and the OpenAPI document (`purser serve-providers --openapi`) is generated from them.
//!
//! What holds for every call:
//! - **Who asks** is said by `Authorization: Bearer`, a secret of the two.
//! - **A call that changes something** is a POST with an `Idempotency-Key`. The same key asks again, whatever was lost, and
//!   never does a second thing; another content under it is refused as `idempotency_key_reused`.
//! - **A definite answer** is a 200 of the documented form that names the order again. Everything else leaves the outcome open unless
//!   it is a [`ErrorResponse`] with one of the codes of [`ErrorCode`]: a proxy's page never counts as a refusal.
//! - Amounts and rates are decimal text, moments are Unix milliseconds.

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

/// The header of a key.
pub const KEY_HEADER: &str = "idempotency-key";

/// Why a provider did not do what it was asked. Each says whether it may yet be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Not done, and asking again will not help: somebody must look. (An order that failed is answered with 200.)
    Rejected,
    /// There is no such thing here.
    NotFound,
    /// The key belongs to another content, which stands as it was.
    IdempotencyKeyReused,
    /// The request is not of this protocol; nothing was done.
    InvalidRequest,
    /// The bearer's secret is wrong; nothing was done.
    Unauthorized,
    /// Nothing was done; ask again later.
    TemporarilyUnavailable,
    /// It may have been done; ask again with the same key.
    OutcomeUnknown,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 7] = [
        Self::Rejected,
        Self::NotFound,
        Self::IdempotencyKeyReused,
        Self::InvalidRequest,
        Self::Unauthorized,
        Self::TemporarilyUnavailable,
        Self::OutcomeUnknown,
    ];

    /// Its HTTP status; a refusal with another one is nobody's word.
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

    /// What it means for money. A wrong secret or a request that is not understood is somebody's to mend: the order
    /// waits, it has not failed.
    pub const fn kind(self) -> ErrorKind {
        match self {
            Self::Rejected | Self::NotFound | Self::IdempotencyKeyReused => ErrorKind::Permanent,
            Self::InvalidRequest | Self::Unauthorized | Self::TemporarilyUnavailable => ErrorKind::Temporary,
            Self::OutcomeUnknown => ErrorKind::Unknown,
        }
    }

    /// The code that tells a caller the same as an error of a port does here.
    pub const fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Permanent => Self::Rejected,
            ErrorKind::Temporary => Self::TemporarilyUnavailable,
            ErrorKind::Unknown => Self::OutcomeUnknown,
        }
    }
}

/// The body of every answer that is no 200.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorResponse {
    /// What for.
    pub error: ErrorDetails,
}

/// A code and words.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetails {
    /// For programs.
    pub code: ErrorCode,
    /// For the operator.
    pub message: String,
}

/// What an answer does not say in its own form. Nobody is blamed: the outcome is open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is not of the protocol: {0}")]
pub struct MalformedResponse(pub &'static str);

/// Longest name of something at a provider, in bytes, where it is kept whole: cut, it would name something else.
const MAX_NAME_LEN: usize = 200;

/// A name that can be kept.
///
/// # Errors
/// When it is empty or longer.
fn name(text: String) -> Result<String, MalformedResponse> {
    match (1..=MAX_NAME_LEN).contains(&text.len()) {
        true => Ok(text),
        false => Err(MalformedResponse("a name has 1 to 200 bytes")),
    }
}

/// Numbers of words that were told, each higher than the one before and all behind `after`.
///
/// # Errors
/// When they do not rise: a word that is skipped over would be lost.
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

/// Dollars or another currency with two places, as text: `5`, `5.2` or `5.25`.
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

/// USDC with up to six places.
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

/// A secret on the wire: a card number, a CVV, a code. It shows nothing of itself when printed.
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

/// Text of a form.
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

    // Aim: only a refusal of the protocol with its own status decides anything, and no code that leaves the outcome open is
    // taken for a failure.
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

    // Aim: amounts are exact in both directions, and what is no amount is refused.
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

    // Aim: a secret travels and does not show.
    #[test]
    fn case_70_a_secret_on_the_wire_does_not_print() {
        let hidden: SecretText = serde_json::from_str("\"4000001234567899\"").unwrap();
        assert_eq!(format!("{hidden:?}"), "SecretText([secret])");
        assert_eq!(serde_json::to_string(&hidden).unwrap(), "\"4000001234567899\"");
    }
}
