//! Words of somebody outside.

use std::fmt;
use std::ops::Deref;

use super::redact;

/// Characters of a card number with what stands between its digits and of a CVV behind its name, generously.
const MAX_NUMBER_LEN: usize = 64;

/// What somebody outside said, as much of it as is kept: the first [`Said::LONGEST`] characters, without card numbers and CVVs
/// ([`masked`]). Every port answers with it where its words go into a row, since a row's size is bounded and one that cannot be
/// written would leave its entity where it was; and what a provider repeats of a request must be in no row, log or event.
///
/// For words alone. What names something outside (a transaction, a card at its issuer) is kept whole: cut, it would name
/// something else.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ExternalText(String);

impl ExternalText {
    /// Characters that are kept; at most four times as many bytes.
    pub const MAX_CHARS: usize = 200;

    /// Words of our own about something outside, such as the hash of a transaction, which has no card number however much it looks
    /// like one. Cut as all words are.
    pub fn internal(text: &str) -> Self {
        Self(text.chars().take(Self::MAX_CHARS).collect())
    }

    /// The words.
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
        // Cut behind any number that begins within it, since half a number would not be known as one, and only then searched,
        // since it may be as long as an answer.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{ErrorKind, PortError};

    // Aim: no card number is kept, one across the cut neither; what an error of a port prints has none.
    #[test]
    fn a_card_number_is_no_part_of_what_was_said() {
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

    // Aim: short words are kept whole; of long ones their beginning, cut between characters, from owned text and from borrowed.
    #[test]
    fn no_more_is_kept_than_a_row_takes() {
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
