//! A sorted file of names and offsets, written once: the index consists of these.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::sandbox::record_log::IndexKey;

const ENTRY: usize = 16;
/// Entries per read; the first name of each page is in memory.
const PAGE: usize = 256;
/// Bits of the filter per entry, up to the maximum size.
const FILTER_BITS: u64 = 16;
/// A filter takes 8 MiB at most; above four million entries it has more false positives.
const MAX_FILTER_BITS: u64 = 1 << 26;
/// Bits of one cache line.
const LINE: u64 = 512;

/// The entry of a run in the index header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct RunHeader {
    pub(super) id: u64,
    pub(super) entries: u64,
    pub(super) crc: u32,
}

#[derive(Debug)]
pub(super) struct SortedRun {
    pub(super) head: RunHeader,
    file: File,
    fences: Vec<u64>,
    filter: BloomFilter,
}

impl SortedRun {
    /// Writes a run of at most `most` sorted entries; durable when it returns.
    pub(super) fn write(
        path: &Path,
        id: u64,
        most: u64,
        entries: impl Iterator<Item = io::Result<IndexKey>>,
    ) -> io::Result<Self> {
        let mut shape = RunStats::new(most);
        let mut out = BufWriter::with_capacity(PAGE * ENTRY, File::create(path)?);
        for entry in entries {
            let entry = entry?;
            let bytes = bytes_of(entry);
            shape.add(entry, &bytes);
            out.write_all(&bytes)?;
        }
        out.into_inner()?.sync_all()?;
        Ok(shape.run(id, File::open(path)?))
    }

    /// Opens a run and reads all of it once: 16 bytes per entry.
    pub(super) fn open(path: &Path, head: RunHeader) -> io::Result<Self> {
        let mut shape = RunStats::new(head.entries);
        for entry in entries(path)? {
            let entry = entry?;
            shape.add(entry, &bytes_of(entry));
        }
        let run = shape.run(head.id, File::open(path)?);
        if run.head == head {
            Ok(run)
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{}: damaged", path.display()),
            ))
        }
    }

    /// Adds the offsets of a name.
    pub(super) fn find(&self, name: u64, places: &mut Vec<u64>) -> io::Result<()> {
        if !self.filter.may_have(name) {
            return Ok(());
        }
        // A name that begins a page may also end the previous one.
        let first = self.fences.partition_point(|fence| *fence < name).saturating_sub(1);
        let mut page = [0; PAGE * ENTRY];
        for (number, fence) in (first as u64..).zip(&self.fences[first..]) {
            if *fence > name {
                break;
            }
            let at = number * PAGE as u64;
            let bytes = usize::try_from(self.head.entries - at).map_or(PAGE, |left| left.min(PAGE)) * ENTRY;
            self.file.read_exact_at(&mut page[..bytes], at * ENTRY as u64)?;
            let entries = page[..bytes].chunks_exact(ENTRY).filter_map(entry_of);
            places.extend(entries.filter(|(n, _)| *n == name).map(|(_, place)| place));
        }
        Ok(())
    }
}

/// A run's entries in order.
pub(super) fn entries(path: &Path) -> io::Result<impl Iterator<Item = io::Result<IndexKey>> + use<>> {
    let mut reader = BufReader::with_capacity(16 * PAGE * ENTRY, File::open(path)?);
    Ok(std::iter::from_fn(move || {
        let mut bytes = [0; ENTRY];
        match reader.read_exact(&mut bytes) {
            Ok(()) => entry_of(&bytes).map(Ok),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(e) => Some(Err(e)),
        }
    }))
}

fn bytes_of((name, place): IndexKey) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[..8].copy_from_slice(&name.to_le_bytes());
    bytes[8..].copy_from_slice(&place.to_le_bytes());
    bytes
}

fn entry_of(bytes: &[u8]) -> Option<IndexKey> {
    let (name, place) = bytes.split_first_chunk::<8>()?;
    Some((
        u64::from_le_bytes(*name),
        u64::from_le_bytes(*place.first_chunk::<8>()?),
    ))
}

/// Facts about a run, collected while all its entries are read.
struct RunStats {
    entries: u64,
    crc: u32,
    fences: Vec<u64>,
    filter: BloomFilter,
}

impl RunStats {
    fn new(entries: u64) -> Self {
        Self {
            entries: 0,
            crc: 0,
            fences: Vec::new(),
            filter: BloomFilter::new(entries),
        }
    }

    fn add(&mut self, (name, _): IndexKey, bytes: &[u8]) {
        if self.entries.is_multiple_of(PAGE as u64) {
            self.fences.push(name);
        }
        self.entries += 1;
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.filter.add(name);
    }

    fn run(self, id: u64, file: File) -> SortedRun {
        let (entries, crc) = (self.entries, self.crc);
        SortedRun {
            head: RunHeader { id, entries, crc },
            file,
            fences: self.fences,
            filter: self.filter,
        }
    }
}

/// A Bloom filter: a new payer is in no run, and a lookup should not have to read one to find that out. Names are
/// hashes, so their bits are used directly: some select a line, four times nine select bits in it.
#[derive(Debug)]
struct BloomFilter(Vec<u64>);

impl BloomFilter {
    fn new(entries: u64) -> Self {
        let bits = entries
            .saturating_mul(FILTER_BITS)
            .clamp(LINE, MAX_FILTER_BITS)
            .next_power_of_two();
        Self(vec![0; usize::try_from(bits / 64).unwrap_or(0)])
    }

    fn bits(&self, name: u64) -> impl Iterator<Item = (usize, u64)> + use<> {
        let lines = self.0.len() as u64 * 64 / LINE;
        let line = (name & (lines - 1)) * LINE;
        [28, 37, 46, 55].into_iter().map(move |shift| {
            let bit = line + (name >> shift) % LINE;
            (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
        })
    }

    fn add(&mut self, name: u64) {
        for (word, bit) in self.bits(name) {
            self.0[word] |= bit;
        }
    }

    fn may_have(&self, name: u64) -> bool {
        self.bits(name).all(|(word, bit)| self.0[word] & bit != 0)
    }
}
