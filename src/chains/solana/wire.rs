//! Bounded reading and canonical writing of Solana's wire primitives.

use super::transaction::WireError;

/// Reads from the front of a slice, with bounds checks.
pub struct Reader<'a>(pub &'a [u8]);

const ENDS_EARLY: WireError = WireError::Malformed("the transaction ends early");
const BAD_LENGTH: WireError = WireError::Malformed("a length is not in its shortest form");

impl<'a> Reader<'a> {
    /// The next byte, which stays.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when the bytes end early.
    pub fn peek(&self) -> Result<u8, WireError> {
        self.0.first().copied().ok_or(ENDS_EARLY)
    }

    /// The next byte.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when the bytes end early.
    pub fn byte(&mut self) -> Result<u8, WireError> {
        let (first, rest) = self.0.split_first().ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(*first)
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when the bytes end early.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next `count` arrays. `count` comes from [`Self::length`] and is at most 65,535, so the product cannot
    /// overflow.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when the bytes end early.
    pub fn arrays<const N: usize>(&mut self, count: usize) -> Result<&'a [[u8; N]], WireError> {
        Ok(self.take(count * N)?.as_chunks::<N>().0)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when the bytes end early.
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], WireError> {
        self.arrays::<N>(1)?.first().ok_or(ENDS_EARLY)
    }

    /// A compact-u16: seven bits per byte, least significant first, only in its shortest form, as validators require.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when the bytes end early, or the length is in another form.
    pub fn length(&mut self) -> Result<usize, WireError> {
        let mut value = 0usize;
        for position in 0..3 {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f) << (7 * position);
            if byte & 0x80 == 0 {
                let shortest = position == 0 || byte != 0;
                let fits = value <= usize::from(u16::MAX);
                return if shortest && fits { Ok(value) } else { Err(BAD_LENGTH) };
            }
        }
        Err(BAD_LENGTH)
    }

    /// A compact-u16 followed by that number of bytes.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when the bytes end early, or the length is in another form.
    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let count = self.length()?;
        self.take(count)
    }
}

/// Appends a compact-u16 in its shortest form. The counts of all callers are at most 1,232.
pub(super) fn push_length(bytes: &mut Vec<u8>, mut length: usize) {
    debug_assert!(length <= usize::from(u16::MAX));
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

/// Appends a compact-u16 and the bytes.
pub(super) fn push_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    push_length(bytes, content.len());
    bytes.extend(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_one_encoding() {
        // Checks: only the shortest form is accepted, up to 65,535; other encodings of a number are rejected.
        let cases: [(&[u8], Option<usize>); 12] = [
            (&[0x00], Some(0)),
            (&[0x7f], Some(127)),
            (&[0x80, 0x01], Some(128)),
            (&[0xff, 0x7f], Some(16_383)),
            (&[0x80, 0x80, 0x01], Some(16_384)),
            (&[0xff, 0xff, 0x03], Some(65_535)),
            (&[0x80, 0x00], None),
            (&[0x81, 0x80, 0x00], None),
            (&[0x80, 0x80, 0x04], None),
            (&[0xff, 0xff, 0xff], None),
            (&[0x80], None),
            (&[], None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Reader(bytes).length().ok(), expected, "{bytes:02x?}");
        }
        for length in 0..=usize::from(u16::MAX) {
            let mut bytes = Vec::new();
            push_length(&mut bytes, length);
            let mut reader = Reader(&bytes);
            assert_eq!(reader.length(), Ok(length));
            assert!(reader.0.is_empty());
        }
    }
}
