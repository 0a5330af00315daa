//! One file of the journal: a header and a chain of frames, preallocated with zeros.

use std::io;
use std::sync::Arc;

use parking_lot::RwLock;

use super::frame::{self, FrameHeader, u32_at, u64_at};
use super::index::SegmentIndex;
use crate::disk::{Disk, DiskFile};
use crate::mutants::{self, Mutant};
use crate::{Cursor, Seq};

pub(crate) const SEGMENT_HEADER: usize = 72;
const MAGIC: &[u8; 8] = b"PURSERJ1";
/// Length of the header of a segment without frames.
pub(crate) const BLANK_HEADER: usize = 32;
const BLANK_MAGIC: &[u8; 8] = b"PURSERJ0";
/// Bytes read at a time when a segment is read in order.
const WINDOW: usize = 1 << 20;
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// A device writes a sector completely or not at all.
pub(crate) const SECTOR: u64 = 512;

/// Identity of the segment that a frame must belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentIdentity {
    pub(crate) number: u64,
    /// Drawn when the segment was created; see [`Disk::salt`].
    pub(crate) salt: u64,
}

impl SegmentIdentity {
    /// First bytes of a segment until its header replaces them. They are in one sector, so after a power cut one of the
    /// two is there, and the salt is always known.
    fn blank(self) -> [u8; BLANK_HEADER] {
        let mut out = [0; BLANK_HEADER];
        out[0..8].copy_from_slice(BLANK_MAGIC);
        out[8..16].copy_from_slice(&self.number.to_le_bytes());
        out[16..24].copy_from_slice(&self.salt.to_le_bytes());
        let crc = crc32c::crc32c(&out[..28]);
        out[28..32].copy_from_slice(&crc.to_le_bytes());
        out
    }

    pub(crate) fn of_blank(bytes: &[u8]) -> Option<Self> {
        let whole = bytes.len() >= BLANK_HEADER
            && &bytes[0..8] == BLANK_MAGIC
            && u32_at(bytes, 28) == crc32c::crc32c(&bytes[..28]);
        whole.then(|| Self {
            number: u64_at(bytes, 8),
            salt: u64_at(bytes, 16),
        })
    }
}

/// A preallocated next segment: zeros after a blank header.
pub(crate) struct SpareSegment {
    pub(crate) id: SegmentIdentity,
    pub(crate) file: Arc<dyn DiskFile>,
}

/// Contents of a segment's header. It is written together with the first frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) id: SegmentIdentity,
    pub(crate) first_seq: Seq,
    pub(crate) size: u64,
    /// End of the predecessor's chain, and the header checksum of its last frame. They detect a truncated, replaced or
    /// duplicated predecessor.
    pub(crate) previous_end: u64,
    pub(crate) previous_crc: u32,
    pub(crate) epoch: u32,
    /// No event in this or a later segment has a smaller cursor, and every earlier event has.
    pub(crate) first_cursor: Cursor,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut out = [0; SEGMENT_HEADER];
        out[0..8].copy_from_slice(MAGIC);
        out[8..16].copy_from_slice(&self.id.number.to_le_bytes());
        out[16..24].copy_from_slice(&self.first_seq.to_le_bytes());
        out[24..32].copy_from_slice(&self.size.to_le_bytes());
        out[32..40].copy_from_slice(&self.previous_end.to_le_bytes());
        out[40..44].copy_from_slice(&self.previous_crc.to_le_bytes());
        out[44..48].copy_from_slice(&self.epoch.to_le_bytes());
        out[48..56].copy_from_slice(&self.first_cursor.to_le_bytes());
        out[56..64].copy_from_slice(&self.id.salt.to_le_bytes());
        let crc = crc32c::crc32c(&out[..68]);
        out[68..72].copy_from_slice(&crc.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < SEGMENT_HEADER || &bytes[0..8] != MAGIC || u32_at(bytes, 68) != crc32c::crc32c(&bytes[..68]) {
            return None;
        }
        Some(Self {
            id: SegmentIdentity {
                number: u64_at(bytes, 8),
                salt: u64_at(bytes, 56),
            },
            first_seq: u64_at(bytes, 16),
            size: u64_at(bytes, 24),
            previous_end: u64_at(bytes, 32),
            previous_crc: u32_at(bytes, 40),
            epoch: u32_at(bytes, 44),
            first_cursor: u64_at(bytes, 48),
        })
    }
}

pub(crate) fn segment_name(number: u64) -> String {
    format!("wal-{number:012}.seg")
}

pub(crate) fn index_name(number: u64) -> String {
    format!("wal-{number:012}.idx")
}

/// Number in a file name with this suffix.
pub(crate) fn number_of(name: &str, suffix: &str) -> Option<u64> {
    let digits = name.strip_prefix("wal-")?.strip_suffix(suffix)?;
    (digits.len() == 12).then(|| digits.parse().ok()).flatten()
}

/// A segment that readers share with the committer.
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) salt: u64,
    pub(crate) first_seq: Seq,
    /// First cursor of the segment: see [`SegmentHeader`].
    pub(crate) first_cursor: Cursor,
    pub(crate) size: u64,
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) extent: RwLock<DurableExtent>,
}

impl Segment {
    pub(crate) fn id(&self) -> SegmentIdentity {
        SegmentIdentity {
            number: self.number,
            salt: self.salt,
        }
    }
}

/// Durable part of a segment, with the positions of its frames.
pub(crate) struct DurableExtent {
    pub(crate) end: u64,
    /// `first_seq - 1` while it is empty.
    pub(crate) last_seq: Seq,
    pub(crate) newest_ms: u64,
    pub(crate) sealed: bool,
    pub(crate) index: SegmentIndex,
}

/// Creates a zeroed segment, durable under its name.
pub(crate) fn preallocate(disk: &dyn Disk, number: u64, size: u64) -> io::Result<SpareSegment> {
    let scratch = "spare.tmp";
    let salt = disk.salt()?;
    let id = SegmentIdentity { number, salt };
    let file = disk.create(scratch)?;
    let mut at = 0;
    while at < size {
        let n = (size - at).min(ZEROS.len() as u64);
        file.write_at(at, &ZEROS[..n as usize])?;
        at += n;
        // In pieces, so that the committer's own syncs never wait behind one huge flush.
        if at.is_multiple_of(8 << 20) {
            file.sync()?;
        }
    }
    file.write_at(0, &id.blank())?;
    file.sync()?;
    disk.rename(scratch, &segment_name(number))?;
    disk.sync_dir()?;
    let file = file.into();
    Ok(SpareSegment { id, file })
}

/// Writes zeros over a range and makes them durable.
pub(crate) fn wipe(file: &dyn DiskFile, from: u64, to: u64) -> io::Result<()> {
    let mut at = from;
    while at < to {
        let n = (to - at).min(ZEROS.len() as u64);
        file.write_at(at, &ZEROS[..n as usize])?;
        at += n;
    }
    file.sync()
}

/// Reads a file through a window.
pub(crate) struct ReadWindow<'a> {
    file: &'a dyn DiskFile,
    buf: Vec<u8>,
    start: u64,
    at_least: usize,
}

impl<'a> ReadWindow<'a> {
    /// For reading forward: large reads.
    pub(crate) fn new(file: &'a dyn DiskFile) -> Self {
        Self {
            file,
            buf: Vec::new(),
            start: 0,
            at_least: WINDOW,
        }
    }

    /// For scattered positions: reads only the requested bytes.
    pub(crate) fn exact(file: &'a dyn DiskFile) -> Self {
        Self {
            at_least: 0,
            ..Self::new(file)
        }
    }

    /// Up to `len` bytes at `at`: fewer only at the end of the file.
    pub(crate) fn get(&mut self, at: u64, len: usize) -> io::Result<&[u8]> {
        let inside = at >= self.start && at + len as u64 <= self.start + self.buf.len() as u64;
        if !inside {
            self.buf.resize(len.max(self.at_least), 0);
            let n = self.file.read_at(at, &mut self.buf)?;
            self.buf.truncate(n);
            self.start = at;
        }
        let from = (at - self.start) as usize;
        Ok(&self.buf[from..(from + len).min(self.buf.len())])
    }
}

/// Result of a frame lookup.
pub(crate) enum FrameLookup<'a> {
    Frame(FrameHeader, &'a [u8]),
    /// Not a frame that belongs here. `extent_end` is where it would end, if that is known.
    NotFound {
        extent_end: u64,
    },
}

/// Looks up the frame that must be at `at` with sequence `seq`. The epoch may not decrease.
pub(crate) fn frame_at<'w>(
    window: &'w mut ReadWindow<'_>,
    segment: SegmentIdentity,
    at: u64,
    limit: u64,
    seq: Seq,
    epoch: u32,
) -> io::Result<FrameLookup<'w>> {
    let Some(head) = frame::read_header(window.get(at, frame::HEADER)?, segment.salt) else {
        return Ok(FrameLookup::NotFound {
            extent_end: at + frame::HEADER as u64,
        });
    };
    let fits = at + head.frame_len() <= limit;
    if !fits || head.seq != seq || head.epoch < epoch || head.segment != segment.number as u32 {
        return Ok(FrameLookup::NotFound {
            extent_end: at + frame::HEADER as u64,
        });
    }
    let raw = window.get(at, frame::HEADER + head.len as usize)?;
    // A short read gives a payload of the wrong length, which is not intact.
    let payload = &raw[frame::HEADER.min(raw.len())..];
    let readable = || frame::visit(&head, payload, |_| {}, |_| {}).is_some();
    if frame::intact(&head, payload, segment.salt) || (mutants::is_enabled(Mutant::TornFrameAccepted) && readable()) {
        Ok(FrameLookup::Frame(head, payload))
    } else {
        Ok(FrameLookup::NotFound {
            extent_end: at + frame::HEADER as u64 + u64::from(head.len),
        })
    }
}

/// State of the bytes from a bad position to the end of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TailState {
    /// Zeros only: the chain ends here.
    Unwritten,
    /// A last write that did not reach the disk whole; none of it was acknowledged. `end` is after its last byte.
    Torn { end: u64 },
    /// Bytes that were durable once and have changed since.
    Corrupt,
}

/// Classifies the bytes after the last good frame of the newest segment. `bad` is where the next frame would be,
/// `extent_end` where it would end.
pub(crate) fn classify_tail(
    file: &dyn DiskFile,
    segment: SegmentIdentity,
    size: u64,
    bad: u64,
    extent_end: u64,
) -> io::Result<TailState> {
    let Some(rest) = read_tail(file, bad, size)? else {
        return Ok(TailState::Corrupt);
    };
    let Some(last) = rest.iter().rposition(|b| *b != 0) else {
        return Ok(TailState::Unwritten);
    };
    if has_later_group(&rest, segment, bad) || all_sectors_present(&rest, bad, extent_end.min(size)) {
        return Ok(TailState::Corrupt);
    }
    Ok(TailState::Torn {
        end: bad + last as u64 + 1,
    })
}

/// Classifies the bytes after a blank header: nothing, or the first write without its first sector.
pub(crate) fn classify_blank(file: &dyn DiskFile, segment: SegmentIdentity, size: u64) -> io::Result<TailState> {
    let from = BLANK_HEADER as u64;
    let Some(rest) = read_tail(file, from, size)? else {
        return Ok(TailState::Corrupt);
    };
    let Some(last) = rest.iter().rposition(|b| *b != 0) else {
        return Ok(TailState::Unwritten);
    };
    if has_later_group(&rest, segment, 0) {
        return Ok(TailState::Corrupt);
    }
    Ok(TailState::Torn {
        end: from + last as u64 + 1,
    })
}

fn read_tail(file: &dyn DiskFile, from: u64, size: u64) -> io::Result<Option<Vec<u8>>> {
    let mut rest = vec![0; (size - from) as usize];
    let n = file.read_at(from, &mut rest)?;
    Ok((n == rest.len()).then_some(rest))
}

/// Whether a frame in `rest` was written after a sync that came after `bad`. Payloads are searched too, because a frame
/// may be anywhere; the salt prevents that caller data is taken for a frame.
fn has_later_group(rest: &[u8], segment: SegmentIdentity, bad: u64) -> bool {
    (0..rest.len())
        .step_by(8)
        .filter_map(|at| frame::read_header(&rest[at..], segment.salt))
        .any(|head| head.segment == segment.number as u32 && u64::from(head.group) > bad)
}

/// Whether no sector of the bad frame was lost. A lost sector reads as the zeros it was preallocated with. If none is
/// missing, the frame was written whole and has changed since.
fn all_sectors_present(rest: &[u8], bad: u64, extent_end: u64) -> bool {
    let mut at = bad;
    while at < extent_end {
        let next = ((at / SECTOR + 1) * SECTOR).min(extent_end);
        if rest[(at - bad) as usize..(next - bad) as usize].iter().all(|b| *b == 0) {
            return false;
        }
        at = next;
    }
    true
}
