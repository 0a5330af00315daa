//! Reads the CBOR (RFC 8949) of authenticators: definite lengths in their shortest form, as CTAP2 prescribes. Everything
//! else is rejected, so that one value has one form.

use super::PasskeyError;

/// Deepest nesting that is skipped. CTAP2 permits 4; statements of attestation are not read, but may be deeper.
const MAX_DEPTH: u8 = 8;

const MALFORMED: PasskeyError = PasskeyError::Malformed("its CBOR is not canonical");

/// The start of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    major: u8,
    argument: u64,
}

/// Kinds of items.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const SIMPLE: u8 = 7;
/// The simple values false, true and null; no others and no floats occur.
const SIMPLE_VALUES: std::ops::RangeInclusive<u64> = 20..=22;

#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not read yet.
    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], PasskeyError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(MALFORMED)?;
        self.rest = rest;
        Ok(taken)
    }

    fn head(&mut self) -> Result<Head, PasskeyError> {
        let first = *self.take(1)?.first().ok_or(MALFORMED)?;
        let (major, short) = (first >> 5, first & 31);
        let (width, least) = match short {
            0..=23 => {
                return Ok(Head {
                    major,
                    argument: short.into(),
                });
            }
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            _ => return Err(MALFORMED),
        };
        let argument = self
            .take(width)?
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        if major == SIMPLE || argument < least {
            return Err(MALFORMED);
        }
        Ok(Head { major, argument })
    }

    fn length(&mut self, major: u8) -> Result<usize, PasskeyError> {
        let head = self.head()?;
        let length = usize::try_from(head.argument).map_err(|_| MALFORMED)?;
        // Every item has at least one byte, so no length exceeds what is left.
        (head.major == major && length <= self.rest.len())
            .then_some(length)
            .ok_or(MALFORMED)
    }

    /// Number of entries of a map; its keys and values follow.
    pub(super) fn map(&mut self) -> Result<usize, PasskeyError> {
        self.length(MAP)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], PasskeyError> {
        let length = self.length(BYTES)?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, PasskeyError> {
        let length = self.length(TEXT)?;
        std::str::from_utf8(self.take(length)?).map_err(|_| MALFORMED)
    }

    /// An integer that fits 32 bits.
    pub(super) fn integer(&mut self) -> Result<i32, PasskeyError> {
        let head = self.head()?;
        let value = i32::try_from(head.argument).map_err(|_| MALFORMED)?;
        match head.major {
            UNSIGNED => Ok(value),
            NEGATIVE => Ok(-1 - value),
            _ => Err(MALFORMED),
        }
    }

    /// Passes over one item and all that it contains.
    pub(super) fn skip(&mut self) -> Result<(), PasskeyError> {
        self.skip_within(MAX_DEPTH)
    }

    fn skip_within(&mut self, depth: u8) -> Result<(), PasskeyError> {
        let depth = depth.checked_sub(1).ok_or(MALFORMED)?;
        let head = self.head()?;
        let items = match head.major {
            UNSIGNED | NEGATIVE => 0,
            BYTES | TEXT => {
                let length = usize::try_from(head.argument).map_err(|_| MALFORMED)?;
                self.take(length)?;
                0
            }
            ARRAY => head.argument,
            MAP => head.argument.checked_mul(2).ok_or(MALFORMED)?,
            SIMPLE if SIMPLE_VALUES.contains(&head.argument) => 0,
            _ => return Err(MALFORMED),
        };
        // Ends with the bytes: each item takes at least one.
        for _ in 0..items {
            self.skip_within(depth)?;
        }
        Ok(())
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<(), PasskeyError> {
        self.rest.is_empty().then_some(()).ok_or(MALFORMED)
    }
}
