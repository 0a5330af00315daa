//! Text from outside the service, bounded and redacted.

use std::fmt;
use std::ops::Deref;

use super::redact;
use crate::json_text::define_json_text;

/// Most characters of a card number with separators and of a CVV after its label. A generous bound.
const MAX_NUMBER_LEN: usize = 64;

/// Text from outside the service: its first [`ExternalText::MAX_CHARS`] characters, without card numbers and CVVs
/// ([`redact()`]). Every port returns it where the text is stored in a row. A row's size is
/// bounded, and a row that cannot be written would block its entity. Card data that a provider repeats from a request
/// must not reach a row, log or event.
///
/// For free text only. An identifier (a transaction, a card at its issuer) is stored whole: if truncated, it would name
/// something else.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ExternalText(String);

impl ExternalText {
    /// Characters that are stored; at most four times as many bytes.
    pub const MAX_CHARS: usize = 200;

    /// Our own text about something outside, such as a transaction hash. It contains no card number, even if it looks
    /// like one, so it is truncated and not redacted.
    pub fn internal(text: &str) -> Self {
        Self(text.chars().take(Self::MAX_CHARS).collect())
    }

    /// The stored text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for ExternalText {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&str> for ExternalText {
    fn from(text: &str) -> Self {
        // Truncate after any number that starts within the limit, because half a number would not be recognised. Only
        // then search, because the text may be as long as a response body.
        let searched: String = text.chars().take(Self::MAX_CHARS + MAX_NUMBER_LEN).collect();
        Self(redact(&searched).chars().take(Self::MAX_CHARS).collect())
    }
}

impl Deref for ExternalText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExternalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<&str> for ExternalText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

define_json_text!([] ExternalText, |text: &Self| text.clone(), |text: &str| Ok::<_, std::convert::Infallible>(Self::from(text)));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{ErrorKind, PortError};

    // Checks: no card number is stored, even one at the cut. What a port error prints has none.
    #[test]
    fn external_text_never_contains_a_card_number() {
        let said = "declined: 4242 4242 4242 4242, cvv 123";
        assert_eq!(ExternalText::from(said), "declined: **** **** **** ****, cvv ***");
        let cut = format!("{} 4242424242424242", "x".repeat(ExternalText::MAX_CHARS - 9));
        assert!(ExternalText::from(cut).ends_with(" ********"));
        let error = PortError {
            kind: ErrorKind::Permanent,
            operation: "issue",
            message: said.into(),
        };
        assert_eq!(error.to_string(), "issue: declined: **** **** **** ****, cvv ***");
    }

    // Checks: short text is stored whole, long text up to the limit. The cut is between characters, for owned and
    // borrowed text.
    #[test]
    fn external_text_is_bounded() {
        assert_eq!(ExternalText::from("no"), "no");
        let whole = "ü".repeat(ExternalText::MAX_CHARS);
        for long in [whole.clone(), format!("{whole}ü"), "ü".repeat(50_000)] {
            assert_eq!(
                (
                    ExternalText::from(long.as_str()).as_str(),
                    ExternalText::from(long).as_str()
                ),
                (&*whole, &*whole)
            );
        }
    }
}
