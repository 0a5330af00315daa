//! The x402 extension `payment-identifier`: a client names its purchase. Another payment under the same name gets the
//! existing result and is not charged.

use serde_json::{Map, Value};

/// Its key in `extensions`.
pub const NAME: &str = "payment-identifier";

/// Extension entry of a challenge: the identifier is optional.
pub const CHALLENGE_EXTENSION: &str = r#"{"payment-identifier":{"info":{"required":false},"schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"required":{"type":"boolean"},"id":{"type":"string","minLength":16,"maxLength":128,"pattern":"^[a-zA-Z0-9_-]+$"}},"required":["required"]}}}"#;

/// Why a value is not an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentifierError {
    /// The extension is present without an `info`, which would contain its `id`.
    #[error("The extension `payment-identifier` has no object `info`.")]
    NoInfo,
    /// Not 16 to 128 letters, digits, hyphens and underscores.
    #[error("`info.id` of the extension `payment-identifier` is not 16 to 128 letters, digits, `-` and `_`.")]
    Malformed,
}

/// Whether a text can be an identifier.
pub fn is_identifier(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (16..=128).contains(&id.len()) && id.bytes().all(plain)
}

/// The identifier among a payment's extensions. A client that only echoes the challenge gives none.
///
/// # Errors
/// [`IdentifierError`]: an invalid identifier would not protect the client.
pub fn read(extensions: Option<&Map<String, Value>>) -> Result<Option<String>, IdentifierError> {
    let Some(extension) = extensions
        .and_then(|all| all.get(NAME))
        .filter(|value| !value.is_null())
    else {
        return Ok(None);
    };
    let info = extension.get("info").and_then(Value::as_object);
    let Some(id) = info.ok_or(IdentifierError::NoInfo)?.get("id") else {
        return Ok(None);
    };
    let id = id
        .as_str()
        .filter(|id| is_identifier(id))
        .ok_or(IdentifierError::Malformed)?;
    Ok(Some(id.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn of(extension: &Value) -> Result<Option<String>, IdentifierError> {
        let extensions = json!({ NAME: extension });
        read(extensions.as_object())
    }

    // Checks: the challenge's extension is JSON, and echoing it gives no identifier.
    #[test]
    fn an_echo_of_the_challenge_is_no_identifier() {
        let advertised: Value = serde_json::from_str(CHALLENGE_EXTENSION).unwrap();
        assert_eq!(advertised[NAME]["info"], json!({"required": false}));
        assert_eq!(read(advertised.as_object()), Ok(None));
        assert_eq!(read(None), Ok(None));
        assert_eq!(of(&Value::Null), Ok(None));
    }

    // Checks: 16 to 128 characters of the extension's alphabet are an identifier. Everything else is rejected, never
    // dropped.
    #[test]
    fn what_can_be_an_identifier() {
        for valid in ["a".repeat(16), "-_".repeat(64), "pay_0123456789abcdef".to_owned()] {
            assert_eq!(of(&json!({"info": {"id": valid}})), Ok(Some(valid)));
        }
        for bad in [
            json!("a".repeat(15)),
            json!("a".repeat(129)),
            json!("0123456789abcde f"),
            json!("0123456789abcde\u{e9}"),
            json!(1_234_567_890_123_456_u64),
            json!(["0123456789abcdef"]),
            Value::Null,
        ] {
            assert_eq!(
                of(&json!({"info": {"required": false, "id": bad}})),
                Err(IdentifierError::Malformed),
                "{bad}"
            );
        }
        for bad in [
            json!("0123456789abcdef"),
            json!({"id": "0123456789abcdef"}),
            json!({"info": 7}),
            json!(true),
        ] {
            assert_eq!(of(&bad), Err(IdentifierError::NoInfo), "{bad}");
        }
    }
}
