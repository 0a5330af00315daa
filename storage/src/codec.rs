//! Encoding of stored values.
//!
//! A value is `version (1) | schema (2, LE) | crc32c (4, LE) | bincode`. The schema names the type and its format, so
//! that a reader never takes one type's bytes for another's; the checksum covers everything else.

use bincode::config::{Configuration, Fixint, Limit, LittleEndian, NoLimit};

/// The only format version so far.
const VERSION: u8 = 1;
const HEADER: usize = 7;
/// No stored value is larger; a corrupt length must not allocate more.
const DECODE_LIMIT: usize = 1 << 20;

/// A stored type with the number of its schema. A changed type gets a new number, and [`Stored::upgrade`] reads the old
/// one.
pub trait Stored: bincode::Encode + bincode::Decode<()> {
    /// Unique among all stored types and their older shapes, permanently.
    const SCHEMA: u16;

    /// Reads a value that was written under another number: an older shape of this type, by [`decode_body`].
    ///
    /// # Errors
    /// [`DecodeError::Schema`] if the number is none of this type's, as for every number by default; else when the body
    /// is malformed.
    fn upgrade(schema: u16, body: &[u8]) -> Result<Self, DecodeError> {
        let _ = body;
        Err(DecodeError::Schema {
            found: schema,
            expected: Self::SCHEMA,
        })
    }
}

/// Reason why bytes are not a value of the expected type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Shorter than the header.
    #[error("truncated")]
    Truncated,
    /// Written by a version this program does not know.
    #[error("format version {0} is unknown")]
    Version(u8),
    /// Another type's bytes.
    #[error("schema {found}, expected {expected}")]
    Schema {
        /// Schema in the bytes.
        found: u16,
        /// Schema of the expected type.
        expected: u16,
    },
    /// The bytes changed since they were written.
    #[error("checksum mismatch")]
    Checksum,
    /// The checksum holds and the content does not fit: a reader's bug.
    #[error("malformed: {0}")]
    Malformed(String),
}

fn config() -> Configuration<LittleEndian, Fixint, Limit<DECODE_LIMIT>> {
    bincode::config::standard()
        .with_fixed_int_encoding()
        .with_limit::<DECODE_LIMIT>()
}

fn encoder() -> Configuration<LittleEndian, Fixint, NoLimit> {
    bincode::config::standard().with_fixed_int_encoding()
}

/// Encodes a value. Total: the types that derive `Encode` here have no failing case when writing to memory.
pub fn encode<T: Stored>(value: &T) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(&[VERSION, 0, 0, 0, 0, 0, 0]);
    out[1..3].copy_from_slice(&T::SCHEMA.to_le_bytes());
    let mut writer = VecWriter(out);
    // Writing to a Vec cannot fail, and no stored type has a failing encoder.
    let done = bincode::encode_into_writer(value, &mut writer, encoder());
    debug_assert!(done.is_ok());
    let mut out = writer.0;
    let crc = checksum(&out);
    out[3..7].copy_from_slice(&crc.to_le_bytes());
    out
}

/// Decodes a value and checks its type.
///
/// # Errors
/// When the bytes are truncated, corrupt, of another type, or of a shape that the type does not know.
pub fn decode<T: Stored>(bytes: &[u8]) -> Result<T, DecodeError> {
    if bytes.len() < HEADER {
        return Err(DecodeError::Truncated);
    }
    if bytes[0] != VERSION {
        return Err(DecodeError::Version(bytes[0]));
    }
    let found = u16::from_le_bytes([bytes[1], bytes[2]]);
    if checksum(bytes).to_le_bytes() != bytes[3..7] {
        return Err(DecodeError::Checksum);
    }
    let body = &bytes[HEADER..];
    if found == T::SCHEMA {
        decode_body(body)
    } else {
        T::upgrade(found, body)
    }
}

/// Encodes a value without a header, for bytes inside a stored value that says by other means what they are.
pub fn encode_body<T: bincode::Encode>(value: &T) -> Vec<u8> {
    let mut writer = VecWriter(Vec::new());
    // As in `encode`.
    let done = bincode::encode_into_writer(value, &mut writer, encoder());
    debug_assert!(done.is_ok());
    writer.0
}

/// Decodes what follows the header, for [`Stored::upgrade`], which knows the type from its number; or the bytes of
/// [`encode_body`].
///
/// # Errors
/// [`DecodeError::Malformed`] when the body is not exactly one value of this type.
pub fn decode_body<T: bincode::Decode<()>>(body: &[u8]) -> Result<T, DecodeError> {
    let (value, used) =
        bincode::decode_from_slice::<T, _>(body, config()).map_err(|e| DecodeError::Malformed(e.to_string()))?;
    if used != body.len() {
        return Err(DecodeError::Malformed("trailing bytes".into()));
    }
    Ok(value)
}

/// Everything but the checksum itself.
fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..3]), &bytes[HEADER..])
}

struct VecWriter(Vec<u8>);

impl bincode::enc::write::Writer for VecWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}
