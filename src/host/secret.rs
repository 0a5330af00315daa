//! Values that must never be printed, logged or serialised by accident.

use std::fmt;

use zeroize::Zeroize;

/// A secret: a card number, a CVV, a key. It has no `Display` and no `Serialize`, its `Debug` prints
/// `[secret]`, and its memory is overwritten on drop. The only access is [`Secret::expose_secret`], whose calls
/// can be counted in the source.
#[derive(Clone)]
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Exposes the value. Every caller is responsible for where it goes next.
    pub const fn expose_secret(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // case_70: Debug output of any structure with a secret does not reveal it.
    #[test]
    fn case_70_debug_shows_nothing() {
        #[derive(Debug)]
        struct Card {
            number: Secret<String>,
        }
        let card = Card {
            number: Secret::new("4000001234567899".into()),
        };
        assert_eq!(format!("{card:?}"), "Card { number: [secret] }");
        assert_eq!(format!("{:#?}", card.number.clone()), "[secret]");
        assert_eq!(card.number.expose_secret(), "4000001234567899");
    }
}
