//! Positions of a subject's events and of sequences in a segment.
//!
//! In memory for the newest segments; for sealed ones in a file beside the segment, of which only the fan-out table
//! stays in memory. An index can always be rebuilt from its segment, so a missing or corrupt one costs time, never
//! data.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::io;
use std::sync::Arc;

use super::frame::{u32_at, u64_at};
use super::segment::index_name;
use crate::Seq;
use crate::disk::{Disk, DiskFile};

/// A hasher without a random seed: the same run gives the same order. Never stored, unlike [`hash_of`].
pub(crate) type FixedState = foldhash::fast::FixedState;

const MAGIC: &[u8; 8] = b"PURSERI1";
const FIXED: usize = 40;
const BUCKETS: usize = 256;
const BUCKET: usize = 8;
const ENTRY: usize = 12;
const MARK: usize = 12;
/// Bytes of frames between two marks of the sequence table.
const MARK_DISTANCE: u32 = 64 << 10;

pub(crate) enum SegmentIndex {
    Memory(MemoryIndex),
    File(FileIndex),
}

/// Stored in the indexes of segments: it must not change.
pub(crate) fn hash_of(subject: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(subject);
    hasher.finish()
}

/// The offset of a frame at or before the one that holds `seq`.
fn start_for(marks: &[(Seq, u32)], seq: Seq) -> Option<u32> {
    let after = marks.partition_point(|(first, _)| *first <= seq);
    after.checked_sub(1).map(|i| marks[i].1)
}

impl SegmentIndex {
    /// Where to start reading for `seq`, as an offset of a frame.
    pub(crate) fn start_for(&self, seq: Seq) -> Option<u32> {
        match self {
            SegmentIndex::Memory(index) => start_for(&index.marks, seq),
            SegmentIndex::File(index) => start_for(&index.marks, seq),
        }
    }
}

/// The index of a segment that is being written, or waits for its file.
#[derive(Default)]
pub(crate) struct MemoryIndex {
    by_subject: HashMap<u64, Vec<u32>, FixedState>,
    marks: Vec<(Seq, u32)>,
}

impl MemoryIndex {
    /// Adds a frame; frames come in order.
    pub(crate) fn record_frame(&mut self, seq: Seq, offset: u32) {
        if self.marks.last().is_none_or(|(_, at)| offset - at >= MARK_DISTANCE) {
            self.marks.push((seq, offset));
        }
    }

    /// Adds the fact that the frame has an event of the subject.
    pub(crate) fn record_event(&mut self, subject_hash: u64, offset: u32) {
        let offsets = self.by_subject.entry(subject_hash).or_default();
        if offsets.last() != Some(&offset) {
            offsets.push(offset);
        }
    }

    /// Offsets of frames that may hold events of the subject.
    pub(crate) fn offsets(&self, subject: &[u8]) -> &[u32] {
        self.by_subject.get(&hash_of(subject)).map_or(&[], Vec::as_slice)
    }

    /// Writes the index of a sealed segment, durably and under its name only when whole.
    pub(crate) fn save(&self, disk: &dyn Disk, number: u64, end: u64, newest_ms: u64) -> io::Result<()> {
        let mut entries: Vec<(u64, u32)> = self
            .by_subject
            .iter()
            .flat_map(|(hash, offsets)| offsets.iter().map(|o| (*hash, *o)))
            .collect();
        entries.sort_unstable();
        let mut body = Vec::with_capacity(entries.len() * ENTRY);
        let mut table = Vec::with_capacity(BUCKETS * BUCKET);
        let mut rest = entries.as_slice();
        for bucket in 0..BUCKETS as u64 {
            let (mine, others) = rest.split_at(rest.partition_point(|(hash, _)| hash >> 56 == bucket));
            rest = others;
            let start = body.len();
            for (hash, offset) in mine {
                body.extend_from_slice(&hash.to_le_bytes());
                body.extend_from_slice(&offset.to_le_bytes());
            }
            table.extend_from_slice(&((start / ENTRY) as u32).to_le_bytes());
            table.extend_from_slice(&crc32c::crc32c(&body[start..]).to_le_bytes());
        }
        let mut out = Vec::with_capacity(FIXED + table.len() + self.marks.len() * MARK + body.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&end.to_le_bytes());
        out.extend_from_slice(&newest_ms.to_le_bytes());
        out.extend_from_slice(&(self.marks.len() as u32).to_le_bytes());
        out.extend_from_slice(&(entries.len() as u32).to_le_bytes());
        out.extend_from_slice(&table);
        for (seq, offset) in &self.marks {
            out.extend_from_slice(&seq.to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
        }
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&body);
        let scratch = "index.tmp";
        let file = disk.create(scratch)?;
        file.write_at(0, &out)?;
        file.sync()?;
        disk.rename(scratch, &index_name(number))?;
        disk.sync_dir()
    }
}

/// The index of a sealed segment, on disk.
pub(crate) struct FileIndex {
    file: Arc<dyn DiskFile>,
    /// Start (in entries) and checksum of every bucket.
    table: Vec<(u32, u32)>,
    marks: Vec<(Seq, u32)>,
    entries: u32,
    body: u64,
    pub(crate) newest_ms: u64,
}

impl FileIndex {
    /// Opens the index of a segment that ends at `end`; `None` if it is missing, corrupt or another's.
    pub(crate) fn load(disk: &dyn Disk, number: u64, end: u64) -> io::Result<Option<Self>> {
        let file: Arc<dyn DiskFile> = match disk.open(&index_name(number)) {
            Ok(file) => file.into(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let mut fixed = [0; FIXED];
        let whole = file.read_at(0, &mut fixed)? == FIXED;
        if !whole || &fixed[..8] != MAGIC || u64_at(&fixed, 8) != number || u64_at(&fixed, 16) != end {
            return Ok(None);
        }
        let (marks, entries) = (u32_at(&fixed, 32) as u64, u32_at(&fixed, 36));
        let body = FIXED as u64 + (BUCKETS * BUCKET) as u64 + marks * MARK as u64 + 4;
        if file.size()? != body + u64::from(entries) * ENTRY as u64 {
            return Ok(None);
        }
        let mut top = vec![0; body as usize];
        if file.read_at(0, &mut top)? != top.len() {
            return Ok(None);
        }
        let (covered, _) = top.split_at(top.len() - 4);
        if crc32c::crc32c(covered) != u32_at(&top, top.len() - 4) {
            return Ok(None);
        }
        let (table, marks) = covered[FIXED..].split_at(BUCKETS * BUCKET);
        Ok(Some(Self {
            table: table
                .chunks_exact(BUCKET)
                .map(|b| (u32_at(b, 0), u32_at(b, 4)))
                .collect(),
            marks: marks.chunks_exact(MARK).map(|m| (u64_at(m, 0), u32_at(m, 8))).collect(),
            entries,
            body,
            newest_ms: u64_at(&fixed, 24),
            file,
        }))
    }

    /// Offsets of frames that may hold events of the subject; `None` if the index is corrupt.
    pub(crate) fn offsets(&self, subject: &[u8]) -> io::Result<Option<Vec<u32>>> {
        let hash = hash_of(subject);
        let bucket = (hash >> 56) as usize;
        let (start, crc) = self.table[bucket];
        let end = self.table.get(bucket + 1).map_or(self.entries, |(next, _)| *next);
        let Some(count) = end.checked_sub(start) else {
            return Ok(None);
        };
        let mut raw = vec![0; count as usize * ENTRY];
        let n = self
            .file
            .read_at(self.body + u64::from(start) * ENTRY as u64, &mut raw)?;
        if n != raw.len() || crc32c::crc32c(&raw) != crc {
            return Ok(None);
        }
        let mine = raw
            .chunks_exact(ENTRY)
            .filter(|e| u64_at(e, 0) == hash)
            .map(|e| u32_at(e, 8));
        Ok(Some(mine.collect()))
    }
}
