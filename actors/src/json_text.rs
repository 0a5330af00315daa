//! JSON of the newtypes: ids, codes, addresses and amounts are text there, in the form of their `Display` or `FromStr`.

use std::borrow::Cow;
use std::fmt::Display;

use serde::{Deserialize, Deserializer, de};

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
