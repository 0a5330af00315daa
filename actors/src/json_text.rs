//! JSON of the newtypes: ids, codes, addresses and amounts are text there, in the form of their `Display` or `FromStr`.
//!
//! A serializer that is not for people is the engine's own: it stores the views of events (`kernel/stored_view.rs`).
//! It gets ids, times, addresses and amounts as numbers or bytes under the names that are listed here.

use std::borrow::Cow;
use std::fmt::Display;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A newtype variant: its name is the prefix of the id, its value the number as `u128`.
pub(crate) const ID: &str = "purser::id";

/// A newtype variant: its number is that of the places behind the point, its value the digits as `u64`.
pub(crate) const DECIMAL: &str = "purser::decimal";

/// A newtype struct: milliseconds since the Unix epoch.
pub(crate) const TIME: &str = "purser::time";

/// A newtype struct: bytes whose text is `0x` and their digits.
pub(crate) const HEX: &str = "purser::hex";

/// Writes an id: its prefix and 32 digits.
pub(crate) fn write_id<S: Serializer>(serializer: S, prefix: &'static str, number: u128) -> Result<S::Ok, S::Error> {
    match serializer.is_human_readable() {
        true => serializer.collect_str(&format_args!("{prefix}{number:032x}")),
        false => serializer.serialize_newtype_variant(ID, 0, prefix, &number),
    }
}

/// Writes an EVM address in lower case.
pub(crate) fn write_evm_address<S: Serializer>(
    serializer: S,
    address: &[u8; 20],
    text: impl FnOnce() -> String,
) -> Result<S::Ok, S::Error> {
    match serializer.is_human_readable() {
        true => serializer.serialize_str(&text()),
        false => serializer.serialize_newtype_struct(HEX, &Bytes(address)),
    }
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Reads text with `parse`.
pub(crate) fn read<'de, D: Deserializer<'de>, T, E: Display>(
    deserializer: D,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    parse(&Cow::<str>::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// `define_json_text!([generics] Type, write, parse)` implements both directions; `write` is from the value to a
/// `Display`.
macro_rules! define_json_text {
    ([$($generics:tt)*] $type:ty, $write:expr, $parse:expr) => {
        impl<$($generics)*> serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&$write(self))
            }
        }

        impl<'de, $($generics)*> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::json_text::read(deserializer, $parse)
            }
        }
    };
}
pub(crate) use define_json_text;
