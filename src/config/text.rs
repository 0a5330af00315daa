//! Settings written as text: exact decimals, times, hashes, and an optional address.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Timestamp;
use rust_decimal::Decimal;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use purser_protocol::rfc3339;

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

/// A value of a fixed list.
pub(super) fn parsed<'de, T: std::str::FromStr<Err: std::fmt::Display>, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|e| D::Error::custom(format!("{text:?}: {e}")))
}

/// A SHA-256 hash, 64 hex digits.
pub(super) fn sha256<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
    let text = String::deserialize(from)?;
    let mut hash = [0; 32];
    let read = hex::decode_to_slice(&text, &mut hash);
    read.map_err(|_| D::Error::custom("a token's sha256 is 64 hex digits"))?;
    Ok(hash)
}

/// Maximum count; 0 is no cap.
pub(super) fn cap<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let count = u32::deserialize(from)?;
    Ok(if count == 0 { u32::MAX } else { count })
}

/// A dollar amount with at most two decimals.
pub(super) fn cents<'de, D: Deserializer<'de>>(from: D) -> Result<Cents, D::Error> {
    let text = String::deserialize(from)?;
    Cents::parse(&text).map_err(|e| D::Error::custom(format!("amount {text:?}: {e}")))
}

/// A USDC amount with at most two decimals.
pub(super) fn usdc<'de, D: Deserializer<'de>>(from: D) -> Result<Usdc, D::Error> {
    let text = String::deserialize(from)?;
    let amount = Cents::parse(&text).and_then(Usdc::from_cents);
    amount.map_err(|e| D::Error::custom(format!("amount {text:?}: {e}")))
}

/// As [`decimal`], or nothing for an empty text.
pub(super) fn optional_decimal<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Decimal>, D::Error> {
    let text = String::deserialize(from)?;
    match text.as_str() {
        "" => Ok(None),
        text => plain_decimal(text).map(Some).map_err(D::Error::custom),
    }
}

/// A time in RFC 3339, or nothing for an empty text.
pub(super) fn optional_timestamp<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let text = String::deserialize(from)?;
    if text.is_empty() {
        return Ok(None);
    }
    parse_timestamp(&text).map(Some).map_err(D::Error::custom)
}

/// A rate or fee: digits with an optional fraction, no sign, no exponent.
pub(super) fn decimal<'de, D: Deserializer<'de>>(from: D) -> Result<Decimal, D::Error> {
    let text = String::deserialize(from)?;
    plain_decimal(&text).map_err(D::Error::custom)
}

pub(super) fn decimals<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Decimal>, D::Error> {
    let texts = BTreeMap::<String, String>::deserialize(from)?;
    let read = |(name, text): (String, String)| {
        let rate = plain_decimal(&text).map_err(|e| D::Error::custom(format!("{name}: {e}")))?;
        Ok((name, rate))
    };
    texts.into_iter().map(read).collect()
}

/// A time in RFC 3339.
pub(super) fn timestamp<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(from)?;
    parse_timestamp(&text).map_err(D::Error::custom)
}

fn parse_timestamp(text: &str) -> Result<Timestamp, String> {
    let wrong = || format!("{text:?} is not a moment such as 2026-11-20T00:00:00Z");
    rfc3339::parse(text).ok_or_else(wrong)
}

fn plain_decimal(text: &str) -> Result<Decimal, String> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.starts_with(|c: char| c.is_ascii_digit());
    if !plain {
        return Err(format!("{text:?} is not a plain decimal such as 0.0025"));
    }
    Decimal::from_str_exact(text).map_err(|e| format!("{text:?}: {e}"))
}
