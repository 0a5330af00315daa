//! Words of somebody outside.

use std::fmt;
use std::ops::Deref;

/// What somebody outside said, as much of it as is kept: the first [`Said::LONGEST`] characters. Every port answers with
/// it where its words go into a row, since a row's size is bounded and one that cannot be written would leave its entity
/// where it was.
///
/// For words alone. What names something outside (a transaction, a card at its issuer) is kept whole: cut, it would name
/// something else.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Said(String);

impl Said {
    /// Characters that are kept; at most four times as many bytes.
    pub const LONGEST: usize = 200;

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Said {
    fn from(mut text: String) -> Self {
        if let Some((end, _)) = text.char_indices().nth(Self::LONGEST) {
            text.truncate(end);
        }
        Self(text)
    }
}

impl From<&str> for Said {
    fn from(text: &str) -> Self {
        Self(text.chars().take(Self::LONGEST).collect())
    }
}

impl Deref for Said {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<&str> for Said {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Aim: short words are kept whole; of long ones their beginning, cut between characters, from owned text and from borrowed.
    #[test]
    fn no_more_is_kept_than_a_row_takes() {
        assert_eq!(Said::from("no"), "no");
        let whole = "ü".repeat(Said::LONGEST);
        for long in [whole.clone(), format!("{whole}ü"), "ü".repeat(50_000)] {
            assert_eq!(
                (Said::from(long.as_str()).as_str(), Said::from(long).as_str()),
                (&*whole, &*whole)
            );
        }
    }
}
