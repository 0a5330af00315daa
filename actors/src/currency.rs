//! Codes of currencies and countries.

use std::fmt;
use std::str::FromStr;

use crate::json_text::define_json_text;

/// Code with a fixed number of letters: ISO 4217 and ISO 3166-1 alpha-2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub struct AlphaCode<const N: usize>([u8; N]);

/// Currency code, ISO 4217.
pub type Currency = AlphaCode<3>;
/// Country code, ISO 3166-1 alpha-2.
pub type Country = AlphaCode<2>;

impl Currency {
    /// The US dollar.
    pub const USD: Self = AlphaCode(*b"USD");
}

impl<const N: usize> AlphaCode<N> {
    /// Letters of the code.
    pub fn as_str(&self) -> &str {
        // Upper-case ASCII by construction; a corrupt row renders as empty text.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Text that is not a code of the expected length in upper-case ASCII letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a code of capital letters")]
pub struct ParseCodeError;

impl<const N: usize> FromStr for AlphaCode<N> {
    type Err = ParseCodeError;

    fn from_str(text: &str) -> Result<Self, ParseCodeError> {
        let letters: [u8; N] = text.as_bytes().try_into().map_err(|_| ParseCodeError)?;
        if letters.iter().all(u8::is_ascii_uppercase) {
            Ok(Self(letters))
        } else {
            Err(ParseCodeError)
        }
    }
}

impl<const N: usize> fmt::Display for AlphaCode<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for AlphaCode<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

define_json_text!([const N: usize] AlphaCode<N>, |code: &Self| *code, str::parse::<Self>);
