//! Types of the members of answers and events. They serialize as clients read them, and have their schemas in
//! `documents.rs`. Ids serialize as their text by themselves, closed sets as their names.

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use rust_decimal::Decimal;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::id::{Network, Wallet};
use crate::json_text::{DECIMAL, TIME, write_evm_address};
use crate::money::{Cents, Usdc};
use crate::time::Timestamp;

/// A decimal as a JSON number with exactly its digits. Only text formats keep them: `serde_json::Value` has floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactDecimal(pub Decimal);

impl From<Cents> for ExactDecimal {
    fn from(cents: Cents) -> Self {
        Self(cents.decimal())
    }
}

impl From<Usdc> for ExactDecimal {
    fn from(usdc: Usdc) -> Self {
        Self(usdc.decimal())
    }
}

impl From<Decimal> for ExactDecimal {
    fn from(value: Decimal) -> Self {
        Self(value)
    }
}

impl Serialize for ExactDecimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.scale() == 0
            && self.0.is_sign_positive()
            && let Ok(whole) = u64::try_from(self.0.mantissa())
        {
            return serializer.serialize_u64(whole);
        }
        if !serializer.is_human_readable()
            && self.0.is_sign_positive()
            && let Ok(digits) = u64::try_from(self.0.mantissa())
        {
            return serializer.serialize_newtype_variant(DECIMAL, self.0.scale(), "", &digits);
        }
        let text = self.0.to_string();
        let number: &RawValue = serde_json::from_str(&text).map_err(serde::ser::Error::custom)?;
        number.serialize(serializer)
    }
}

/// A time, RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Timestamp);

impl From<Timestamp> for Time {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(&moment(self.0)),
            false => serializer.serialize_newtype_struct(TIME, &self.0.0),
        }
    }
}

/// The `user_id` of an account: the wallet's address in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserId(pub Wallet);

impl From<Wallet> for UserId {
    fn from(wallet: Wallet) -> Self {
        Self(wallet)
    }
}

impl Serialize for UserId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Wallet::Evm(address) => write_evm_address(serializer, address, || self.0.user_id()),
            Wallet::Solana(_) => serializer.serialize_str(&self.0.user_id()),
        }
    }
}

/// A network by its CAIP-2 name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkId(pub Network);

impl From<Network> for NetworkId {
    fn from(network: Network) -> Self {
        Self(network)
    }
}

impl Serialize for NetworkId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.caip2())
    }
}

/// The exact address of a wallet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub Wallet);

impl From<Wallet> for Address {
    fn from(wallet: Wallet) -> Self {
        Self(wallet)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Wallet::Evm(address) => write_evm_address(serializer, address, || self.0.address()),
            Wallet::Solana(_) => serializer.serialize_str(&self.0.address()),
        }
    }
}

/// What displays as text, as a JSON string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<T: fmt::Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// `2026-11-20T21:40:00.000Z`. Times after the year 9999 are rendered as its end, like the format itself.
pub fn rfc3339(at: Timestamp) -> String {
    moment(at).to_string()
}

/// See [`rfc3339`]; writes into a formatter.
pub(crate) fn moment(at: Timestamp) -> impl fmt::Display {
    const LAST_MS: u64 = 253_402_300_799_999;
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(at.0.min(LAST_MS)))
}

/// Serializes a closed set as the `name()` of its value.
macro_rules! serialize_as_name {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}
pub(crate) use serialize_as_name;

serialize_as_name!(Network);
