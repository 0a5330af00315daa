//! One batch as bytes.
//!
//! ```text
//! len 4 | crc 4 | seq 8 | epoch 4 | group 4 | cursor 8 | events 4 | writes 4 | segment 4 | header crc 4 | payload
//! ```
//!
//! Both checksums begin with the segment's salt, which is secret: bytes inside a payload cannot imitate a header.
//!
//! `group` is the offset at which the write with this frame began: everything before it was durable when the frame was
//! written. This distinguishes a torn last write (bad bytes at or after `group`) from corruption (bad bytes before it).
//! The last payload byte is never zero, so a lost sector cannot be taken for a present one. Frames start at multiples
//! of 8.

use crate::{Batch, Cursor, Event, Seq, Write};

pub(crate) const HEADER: usize = 48;
const TRAILER: u8 = 0xA5;
const PUT: u8 = 1;
const DELETE: u8 = 2;
const PUT_FIXED: usize = 1 + 2 + 8 + 4;
const DELETE_FIXED: usize = 1 + 2;
const EVENT_FIXED: usize = 2 + 4;

/// Position and time of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramePosition {
    pub(crate) seq: Seq,
    pub(crate) epoch: u32,
    pub(crate) group: u32,
    pub(crate) segment: u32,
    pub(crate) salt: u64,
    pub(crate) cursor: Cursor,
}

/// A frame's header whose own checksum was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) len: u32,
    pub(crate) crc: u32,
    pub(crate) seq: Seq,
    pub(crate) epoch: u32,
    pub(crate) group: u32,
    /// Cursor of the first event.
    pub(crate) cursor: Cursor,
    pub(crate) events: u32,
    pub(crate) writes: u32,
    pub(crate) segment: u32,
    pub(crate) head_crc: u32,
}

impl FrameHeader {
    /// Bytes of the frame in the segment, padding included.
    pub(crate) fn frame_len(&self) -> u64 {
        align(HEADER + self.len as usize) as u64
    }

    /// The last sequence this frame takes.
    pub(crate) fn last_seq(&self) -> Seq {
        self.seq + u64::from(self.events.max(1)) - 1
    }

    /// First free cursor after this frame.
    pub(crate) fn next_cursor(&self) -> Cursor {
        self.cursor.saturating_add(u64::from(self.events.max(1)))
    }
}

/// A checksum that requires the salt.
fn checksum(salt: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&salt.to_le_bytes()), bytes)
}

fn align(len: usize) -> usize {
    len.next_multiple_of(8)
}

fn payload_len(batch: &Batch) -> usize {
    let writes: usize = batch
        .writes
        .iter()
        .map(|write| match write {
            Write::Put { key, value, .. } => PUT_FIXED + key.len() + value.len(),
            Write::Delete { key } => DELETE_FIXED + key.len(),
        })
        .sum();
    let events: usize = batch
        .events
        .iter()
        .map(|e| EVENT_FIXED + e.subject.len() + e.payload.len())
        .sum();
    writes + events + 1
}

/// Bytes that [`encode`] will append.
pub(crate) fn encoded_len(batch: &Batch) -> usize {
    align(HEADER + payload_len(batch))
}

/// Appends the batch as one frame. The caller has checked the limits that make the lengths fit their fields. Returns
/// the header's checksum, which the next segment stores as its predecessor's end.
pub(crate) fn encode(out: &mut Vec<u8>, place: FramePosition, batch: &Batch) -> u32 {
    let start = out.len();
    out.resize(start + HEADER, 0);
    for write in &batch.writes {
        match write {
            Write::Put { key, revision, value } => {
                out.push(PUT);
                out.extend_from_slice(&(key.len() as u16).to_le_bytes());
                out.extend_from_slice(&revision.to_le_bytes());
                out.extend_from_slice(&(value.len() as u32).to_le_bytes());
                out.extend_from_slice(key);
                out.extend_from_slice(value);
            }
            Write::Delete { key } => {
                out.push(DELETE);
                out.extend_from_slice(&(key.len() as u16).to_le_bytes());
                out.extend_from_slice(key);
            }
        }
    }
    for Event { subject, payload } in &batch.events {
        out.extend_from_slice(&(subject.len() as u16).to_le_bytes());
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend_from_slice(subject);
        out.extend_from_slice(payload);
    }
    out.push(TRAILER);
    let len = out.len() - start - HEADER;
    let salted = crc32c::crc32c(&place.salt.to_le_bytes());
    let crc = crc32c::crc32c_append(salted, &out[start + HEADER..]);
    let head = &mut out[start..start + HEADER];
    head[0..4].copy_from_slice(&(len as u32).to_le_bytes());
    head[4..8].copy_from_slice(&crc.to_le_bytes());
    head[8..16].copy_from_slice(&place.seq.to_le_bytes());
    head[16..20].copy_from_slice(&place.epoch.to_le_bytes());
    head[20..24].copy_from_slice(&place.group.to_le_bytes());
    head[24..32].copy_from_slice(&place.cursor.to_le_bytes());
    head[32..36].copy_from_slice(&(batch.events.len() as u32).to_le_bytes());
    head[36..40].copy_from_slice(&(batch.writes.len() as u32).to_le_bytes());
    head[40..44].copy_from_slice(&place.segment.to_le_bytes());
    let head_crc = crc32c::crc32c_append(salted, &head[..44]);
    head[44..48].copy_from_slice(&head_crc.to_le_bytes());
    out.resize(start + align(HEADER + len), 0);
    head_crc
}

/// Reads a little-endian number; the caller has checked the length.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut raw = [0; 4];
    raw.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(raw)
}

/// Reads a little-endian number; the caller has checked the length.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut raw = [0; 8];
    raw.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(raw)
}

/// The header at the start of `bytes`, if it is complete and belongs to the segment with this salt.
pub(crate) fn read_header(bytes: &[u8], salt: u64) -> Option<FrameHeader> {
    if bytes.len() < HEADER || u32_at(bytes, 44) != checksum(salt, &bytes[..44]) {
        return None;
    }
    let head = FrameHeader {
        len: u32_at(bytes, 0),
        crc: u32_at(bytes, 4),
        seq: u64_at(bytes, 8),
        epoch: u32_at(bytes, 16),
        group: u32_at(bytes, 20),
        cursor: u64_at(bytes, 24),
        events: u32_at(bytes, 32),
        writes: u32_at(bytes, 36),
        segment: u32_at(bytes, 40),
        head_crc: u32_at(bytes, 44),
    };
    // A frame has at least its trailer; all zeros (unwritten space) is no frame.
    (head.len > 0).then_some(head)
}

/// Whether the payload is unchanged.
pub(crate) fn intact(head: &FrameHeader, payload: &[u8], salt: u64) -> bool {
    payload.len() == head.len as usize && checksum(salt, payload) == head.crc
}

/// A write inside a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteRecord<'a> {
    Put {
        key: &'a [u8],
        revision: u64,
        value: &'a [u8],
    },
    Delete {
        key: &'a [u8],
    },
}

/// An event inside a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventRecord<'a> {
    pub(crate) seq: Seq,
    pub(crate) cursor: Cursor,
    pub(crate) subject: &'a [u8],
    pub(crate) payload: &'a [u8],
}

struct FrameReader<'a>(&'a [u8]);

impl<'a> FrameReader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<usize> {
        self.take(2).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])))
    }

    fn u32(&mut self) -> Option<usize> {
        self.take(4).map(|b| u32_at(b, 0) as usize)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|b| u64_at(b, 0))
    }

    fn write(&mut self) -> Option<WriteRecord<'a>> {
        match self.take(1)?[0] {
            PUT => {
                let (key, revision, value) = (self.u16()?, self.u64()?, self.u32()?);
                Some(WriteRecord::Put {
                    key: self.take(key)?,
                    revision,
                    value: self.take(value)?,
                })
            }
            DELETE => {
                let key = self.u16()?;
                Some(WriteRecord::Delete { key: self.take(key)? })
            }
            _ => None,
        }
    }

    fn event(&mut self, seq: Seq, cursor: Cursor) -> Option<EventRecord<'a>> {
        let (subject, payload) = (self.u16()?, self.u32()?);
        Some(EventRecord {
            seq,
            cursor,
            subject: self.take(subject)?,
            payload: self.take(payload)?,
        })
    }
}

/// Visits the contents of an intact frame. `None` if the content does not fit the header: a writer's bug.
pub(crate) fn visit<'a>(
    head: &FrameHeader,
    payload: &'a [u8],
    mut on_write: impl FnMut(WriteRecord<'a>),
    mut on_event: impl FnMut(EventRecord<'a>),
) -> Option<()> {
    let mut bytes = FrameReader(payload);
    for _ in 0..head.writes {
        on_write(bytes.write()?);
    }
    for i in 0..head.events {
        let i = u64::from(i);
        on_event(bytes.event(head.seq + i, head.cursor.saturating_add(i))?);
    }
    (bytes.0 == [TRAILER]).then_some(())
}
