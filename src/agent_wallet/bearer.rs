//! Removes bearer secrets from a response before it is stored. A wallet payment's response can be read again for 30
//! days, also by another agent of the same owner: the stored copy must give no access.
//!
//! Secrets are recognized by the names of JSON members. Text that is not JSON is stored unchanged, sealed like the rest
//! of the HTTP record.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Names of such members, in lower case and without `_` and `-`.
const NAMES: [&str; 11] = [
    "auth",
    "idtoken",
    "accesstoken",
    "refreshtoken",
    "bearertoken",
    "sessiontoken",
    "claimtoken",
    "apikey",
    "redemptionurl",
    "redemptioncode",
    "pincode",
];

/// Maximum nesting of a response; deeper ones are not stored.
const DEEPEST: usize = 64;

/// The JSON with `null` for such members, or `None` without any.
pub fn without_bearer(json: &[u8]) -> Option<String> {
    let raw: &RawValue = serde_json::from_slice(json).ok()?;
    cleared(raw, 0)
}

/// `None` where nothing changes, so that the digits and spaces of the rest are preserved.
fn cleared(raw: &RawValue, depth: usize) -> Option<String> {
    let text = raw.get();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    if depth == DEEPEST {
        return Some("null".to_owned());
    }
    let mut changed = false;
    let mut value = |name: Option<&str>, value: &RawValue| -> String {
        let held = name.is_some_and(opens) && value.get() != "null";
        let other = match held {
            true => Some("null".to_owned()),
            false => cleared(value, depth + 1),
        };
        changed |= other.is_some();
        other.unwrap_or_else(|| value.get().to_owned())
    };
    let written = if text.starts_with('{') {
        let members: Members<'_> = serde_json::from_str(text).ok()?;
        let members = members.0.iter().map(|(name, raw)| {
            let inside = value(Some(name), raw);
            // A string always serializes.
            format!("{}:{inside}", serde_json::to_string(name).unwrap_or_default())
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    } else {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let items = items.into_iter().map(|raw| value(None, raw));
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    };
    changed.then_some(written)
}

fn opens(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-')).collect();
    NAMES.contains(&plain.to_ascii_lowercase().as_str())
}

/// The members of an object in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: bearer members are removed at any depth and in any spelling, and everything else is preserved exactly.
    // Text without any is not rewritten.
    #[test]
    fn access_credentials_are_not_stored() {
        let json =
            br#"{"auth": {"id_token": "a"}, "n": 1.50, "list": [{"refreshToken": "b", "x": "y"}], "pin_code": null}"#;
        let cleared = without_bearer(json).unwrap();
        assert_eq!(
            cleared,
            r#"{"auth":null,"n":1.50,"list":[{"refreshToken":null,"x": "y"}],"pin_code":null}"#.replace(": ", ":")
        );
        assert_eq!(without_bearer(br#"{"Api-Key":"k"}"#).unwrap(), r#"{"Api-Key":null}"#);
        for none in [
            r#"{"card_id": "auth", "n": [1.50]}"#,
            r#"{"redemption_url": null}"#,
            "auth",
            "7",
            "",
        ] {
            assert_eq!(without_bearer(none.as_bytes()), None, "{none}");
        }
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(without_bearer(deep.as_bytes()).unwrap().len(), 2 * DEEPEST + 4);
    }
}
