//! JSON of the newtypes: ids, codes, addresses and amounts are text there, in the form of their `Display` or `FromStr`.

use std::borrow::Cow;
use std::fmt::Display;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::id::Wallet;
use crate::money::{Cents, Usdc};
use crate::port::{ExternalText, Timestamp};
use crate::product::AlphaCode;

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

define_json_text!([] Cents, |amount: &Self| *amount, Self::parse);
define_json_text!([] Usdc, |amount: &Self| *amount, Self::parse);
define_json_text!([] Wallet, Self::address, str::parse::<Self>);
define_json_text!([const N: usize] AlphaCode<N>, |code: &Self| *code, str::parse::<Self>);
define_json_text!([] ExternalText, |text: &Self| text.clone(), |text: &str| Ok::<_, std::convert::Infallible>(Self::from(text)));

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self)
    }
}
