//! Values written as text: exact decimals, and an address that may be absent.

use std::net::SocketAddr;

use purser_actors::money::{Cents, Usdc};
use rust_decimal::Decimal;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// `address:port`, or nothing for an empty text.
pub(super) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(from)?;
    if text.is_empty() {
        return Ok(None);
    }
    let parsed = text.parse();
    parsed
        .map(Some)
        .map_err(|_| D::Error::custom(format!("{text:?} is not an address:port")))
}

/// A dollar amount with at most two places.
pub(super) fn cents<'de, D: Deserializer<'de>>(from: D) -> Result<Cents, D::Error> {
    let text = String::deserialize(from)?;
    Cents::parse(&text).map_err(|e| D::Error::custom(format!("amount {text:?}: {e}")))
}

/// A USDC amount with at most two places.
pub(super) fn usdc<'de, D: Deserializer<'de>>(from: D) -> Result<Usdc, D::Error> {
    let text = String::deserialize(from)?;
    let amount = Cents::parse(&text).and_then(Usdc::from_cents);
    amount.map_err(|e| D::Error::custom(format!("amount {text:?}: {e}")))
}

/// A rate or fee: digits with an optional fraction, no sign, no exponent.
pub(super) fn decimal<'de, D: Deserializer<'de>>(from: D) -> Result<Decimal, D::Error> {
    let text = String::deserialize(from)?;
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.starts_with(|c: char| c.is_ascii_digit());
    if !plain {
        return Err(D::Error::custom(format!(
            "{text:?} is not a plain decimal such as 0.0025"
        )));
    }
    Decimal::from_str_exact(&text).map_err(|e| D::Error::custom(format!("{text:?}: {e}")))
}
