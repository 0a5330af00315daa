//! Encoding of stored values.
//!
//! A value is `version (1) | schema (2, LE) | crc32c (4, LE) | bincode`. The schema names the type and its format, so
//! that a reader never takes one type's bytes for another's; the checksum covers everything else. Numbers, lengths and
//! tags of enums take the bytes that they need: nearly all are small.

use bincode::config::{Configuration, Limit, LittleEndian, NoLimit, Varint};

/// Version 1 had numbers of their full width, and was in no release.
const VERSION: u8 = 2;
const HEADER: usize = 7;
/// No stored value is larger; a corrupt length must not allocate more.
const DECODE_LIMIT: usize = 1 << 20;

/// A stored type with the number of its schema. From the first release on, a changed type gets a new number, and
/// [`Stored::upgrade`] reads the old one.
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

const fn config() -> Configuration<LittleEndian, Varint, Limit<DECODE_LIMIT>> {
    bincode::config::standard().with_limit::<DECODE_LIMIT>()
}

const fn encoder() -> Configuration<LittleEndian, Varint, NoLimit> {
    bincode::config::standard()
}

/// A stored type that writes and reads its own body: few bytes matter more than a derived form.
pub trait Packed {
    /// Unique among these and the numbers of all [`Stored`] types, permanently.
    const SCHEMA: u16;

    /// Appends the body.
    fn write_body(&self, out: &mut Vec<u8>);
}

/// Encodes a value. Total: the types that derive `Encode` here have no failing case when writing to memory.
pub fn encode<T: Stored>(value: &T) -> Vec<u8> {
    with_header(T::SCHEMA, const { header_checksum(T::SCHEMA) }, |out| {
        let mut writer = VecWriter(out);
        // Writing to a Vec cannot fail, and no stored type has a failing encoder.
        let done = bincode::encode_into_writer(value, &mut writer, encoder());
        debug_assert!(done.is_ok());
        writer.0
    })
}

/// As [`encode`].
pub fn pack<T: Packed>(value: &T) -> Vec<u8> {
    with_header(T::SCHEMA, const { header_checksum(T::SCHEMA) }, |mut out| {
        value.write_body(&mut out);
        out
    })
}

/// `start` is the checksum of the header.
fn with_header(schema: u16, start: u32, write: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    // Larger than most values, so that it need not grow. None is kept: rows and events are copied to their own size.
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(&[VERSION, 0, 0, 0, 0, 0, 0]);
    out[1..3].copy_from_slice(&schema.to_le_bytes());
    let mut out = write(out);
    let crc = crc32c::crc32c_append(start, &out[HEADER..]);
    out[3..7].copy_from_slice(&crc.to_le_bytes());
    out
}

/// Decodes a value and checks its type.
///
/// # Errors
/// When the bytes are truncated, corrupt, of another type, or of a shape that the type does not know.
pub fn decode<T: Stored>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (found, body) = checked(bytes, T::SCHEMA, const { header_checksum(T::SCHEMA) })?;
    if found == T::SCHEMA {
        decode_body(body)
    } else {
        T::upgrade(found, body)
    }
}

/// The body of a packed value, which its type reads.
///
/// # Errors
/// When the bytes are truncated, corrupt, or of another type.
pub fn unpack<T: Packed>(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let (found, body) = checked(bytes, T::SCHEMA, const { header_checksum(T::SCHEMA) })?;
    if found != T::SCHEMA {
        return Err(DecodeError::Schema {
            found,
            expected: T::SCHEMA,
        });
    }
    Ok(body)
}

/// Number and body, once the checksum holds. `start` is the checksum of the header with the expected number.
fn checked(bytes: &[u8], expected: u16, start: u32) -> Result<(u16, &[u8]), DecodeError> {
    if bytes.len() < HEADER {
        return Err(DecodeError::Truncated);
    }
    if bytes[0] != VERSION {
        return Err(DecodeError::Version(bytes[0]));
    }
    let found = u16::from_le_bytes([bytes[1], bytes[2]]);
    let body = &bytes[HEADER..];
    let start = match found == expected {
        true => start,
        false => header_checksum(found),
    };
    if crc32c::crc32c_append(start, body).to_le_bytes() != bytes[3..7] {
        return Err(DecodeError::Checksum);
    }
    Ok((found, body))
}

/// The body behind the header, if its type is `T`. The checksum is not verified.
pub fn body_of<T: Packed>(bytes: &[u8]) -> Option<&[u8]> {
    let (header, body) = bytes.split_at_checked(HEADER)?;
    (header[0] == VERSION && header[1..3] == T::SCHEMA.to_le_bytes()).then_some(body)
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

/// CRC-32C of what stands before the checksum, with which the checksum begins. Computed when the program is built: a
/// call for three bytes costs as much as one for a hundred.
const fn header_checksum(schema: u16) -> u32 {
    let [low, high] = schema.to_le_bytes();
    let bytes = [VERSION, low, high];
    let (mut crc, mut at) = (u32::MAX, 0);
    while at < bytes.len() * 8 {
        let bit = (bytes[at / 8] >> (at % 8)) as u32 & 1;
        crc = (crc >> 1) ^ (0x82f6_3b78 * ((crc & 1) ^ bit));
        at += 1;
    }
    !crc
}

struct VecWriter(Vec<u8>);

impl bincode::enc::write::Writer for VecWriter {
    // Most writes are numbers, whose length is known where the type's encoder is compiled.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: the checksum that is computed when the program is built is that of the library.
    #[test]
    fn header_checksum_is_crc32c() {
        for schema in [0, 1, 255, 256, 551, 61_001, u16::MAX] {
            let [low, high] = schema.to_le_bytes();
            assert_eq!(header_checksum(schema), crc32c::crc32c(&[VERSION, low, high]));
        }
    }
}
