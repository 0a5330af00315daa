//! Recovers a store from the state that the last run left.
//!
//! Order: the segments' headers and their links, the newest segment's tail, the snapshots (rebuilt from the export if
//! they are gone), then every frame that the snapshots or the export do not cover is checked and replayed. Nothing is
//! changed before the checks have passed, except zeroing a torn tail.

use std::io;
use std::sync::Arc;

use super::committer::{Committer, empty_segment};
use super::core::{Recovered, StoreCore};
use super::frame::{self, FrameHeader, WriteRecord};
use super::index::{FileIndex, MemoryIndex, SegmentIndex};
use super::overlay::{Overlay, OverlayEntry, Staged};
use super::rebuild::{JournalRange, open_snapshots};
use super::sealing::{ScanEnd, index_frame, scan_segment};
use super::segment::{
    BLANK_HEADER, SEGMENT_HEADER, Segment, SegmentHeader, SegmentIdentity, SpareSegment, TailState, classify_blank,
    classify_tail, number_of, preallocate, segment_name, wipe,
};
use super::{Clock, OpenError, StoreLimits};
use crate::disk::{Disk, DiskFile};
use crate::journal::export::{ExportInfo, RestoreMarker, export_name, export_seq, read_marker};
use crate::mutants::{self, Mutant};
use crate::snapshot::{SnapshotSource, SnapshotStore};
use crate::{Cursor, Row, Seq, StoreError};

pub(super) fn io_error(e: io::Error) -> OpenError {
    OpenError::Io(e.to_string())
}

fn corrupt(number: u64, offset: u64, what: &'static str) -> OpenError {
    OpenError::Corrupt {
        segment: segment_name(number),
        offset,
        what,
    }
}

pub(super) fn store_error(e: StoreError) -> OpenError {
    match e {
        StoreError::Io(what) => OpenError::Io(what),
        e => OpenError::Snapshots(e.to_string()),
    }
}

/// A segment file with a header.
struct FoundSegment {
    header: SegmentHeader,
    file: Arc<dyn DiskFile>,
}

/// See the module documentation.
pub(crate) fn recover(
    disk: Arc<dyn Disk>,
    source: &dyn SnapshotSource,
    limits: StoreLimits,
    clock: Clock,
) -> Result<(StoreCore, Option<RestoreMarker>), OpenError> {
    clean(&*disk).map_err(io_error)?;
    let mark = read_marker(&*disk).map_err(store_error)?;
    let export = newest_export(&*disk)?;
    let (found, spare) = find_segments(&*disk)?;
    check_links(&found)?;
    let end = match found.last() {
        Some(last) => Some(find_end(last)?),
        None => None,
    };
    let epoch = next_epoch(&found, end)?;
    let exported = export.map_or(0, |info| info.seq);
    let base = mark
        .map_or(0, |mark| mark.first_seq - 1)
        .max(if found.is_empty() { exported } else { 0 });
    let next_seq = end.map_or(base + 1, |end| end.next_seq);
    let next_cursor = next_cursor(found.last(), end, mark, &clock);
    let mut spare = spare.filter(|spare| spare.file.size().ok() == Some(limits.segment_bytes));
    let first_seq = found.first().map_or(next_seq, |f| f.header.first_seq);
    let reach = JournalRange {
        first_seq,
        restored: mark,
    };
    let (snapshots, applied) = open_snapshots(&*disk, source, export, &reach)?;
    let (known, journal) = (applied.max(exported), next_seq - 1);
    if known > journal {
        return Err(OpenError::JournalBehind {
            applied: known,
            journal,
        });
    }
    let overlay = Overlay::starting_at(applied);
    let mut replay = RowReplay {
        snapshots: &*snapshots,
        overlay,
        applied,
        limits,
        failed: None,
    };
    let verified_from = if limits.verify_all { 0 } else { exported.min(applied) };
    let mut segments = load_segments(&*disk, &found, end, verified_from, &mut replay)?;
    let RowReplay { overlay, applied, .. } = replay;
    let committer = match (segments.last(), end) {
        (Some(last), Some(end)) => resume(&found, Arc::clone(last), (end, next_cursor), epoch),
        _ => {
            let first = first_segment(&*disk, limits, spare.take(), (next_seq, next_cursor)).map_err(io_error)?;
            segments.push(Arc::clone(&first));
            Committer::new(first, 0, 0, (0, 0), (next_seq, next_cursor), epoch)
        }
    };
    let from = Recovered {
        limits,
        clock,
        disk,
        snapshots,
        overlay,
        segments,
        committer,
        spare,
        export,
        applied,
    };
    Ok((StoreCore::new(from), mark))
}

/// Smallest free cursor. A new journal begins after every cursor that was assigned before the restore.
fn next_cursor(
    last: Option<&FoundSegment>,
    end: Option<ScanEnd>,
    mark: Option<RestoreMarker>,
    clock: &Clock,
) -> Cursor {
    if let (Some(last), Some(end)) = (last, end) {
        return end.next_cursor.max(last.header.first_cursor);
    }
    let restored_at = mark.map_or(1, |mark| mark.restored_at_ms.saturating_mul(1_000));
    restored_at.max(clock())
}

/// Epoch of this run: one above the newest of the chain. The epoch in a torn write does not count; it is wiped before
/// anything is written over it.
fn next_epoch(found: &[FoundSegment], end: Option<ScanEnd>) -> Result<u32, OpenError> {
    let Some(last) = found.last() else { return Ok(1) };
    let newest = last.header.epoch.max(end.map_or(0, |end| end.epoch));
    newest
        .checked_add(1)
        .ok_or_else(|| corrupt(last.header.id.number, 0, "an epoch that nothing can follow"))
}

/// Commits continue after the last frame.
fn resume(found: &[FoundSegment], last: Arc<Segment>, (end, next_cursor): (ScanEnd, Cursor), epoch: u32) -> Committer {
    let previous = found
        .last()
        .map_or((0, 0), |f| (f.header.previous_end, f.header.previous_crc));
    let next = (end.next_seq, next_cursor);
    Committer::new(last, end.offset, end.last_crc, previous, next, epoch)
}

/// The first segment of a journal.
fn first_segment(
    disk: &dyn Disk,
    limits: StoreLimits,
    spare: Option<SpareSegment>,
    (next_seq, next_cursor): (Seq, Cursor),
) -> io::Result<Arc<Segment>> {
    let spare = match spare {
        Some(spare) => spare,
        None => preallocate(disk, 1, limits.segment_bytes)?,
    };
    let size = spare.file.size()?;
    Ok(Arc::new(empty_segment(spare, next_seq, next_cursor, size)))
}

/// Removes unfinished files, and verifies that the disk is writable before anything relies on it.
fn clean(disk: &dyn Disk) -> io::Result<()> {
    for name in disk.list()?.iter().filter(|name| name.ends_with(".tmp")) {
        disk.remove(name)?;
    }
    let probe = disk.create("probe.tmp")?;
    probe.write_at(0, b"probe")?;
    probe.sync()?;
    disk.remove("probe.tmp")?;
    disk.sync_dir()
}

/// The newest export; older ones (a power cut between two steps leaves one) are removed.
fn newest_export(disk: &dyn Disk) -> Result<Option<ExportInfo>, OpenError> {
    let mut seqs: Vec<Seq> = disk
        .list()
        .map_err(io_error)?
        .iter()
        .filter_map(|n| export_seq(n))
        .collect();
    seqs.sort_unstable();
    let newest = seqs.pop();
    for old in seqs {
        disk.remove(&export_name(old)).map_err(io_error)?;
    }
    Ok(newest.map(|seq| ExportInfo { seq }))
}

/// All segments with a header, in order, and the spare after them.
fn find_segments(disk: &dyn Disk) -> Result<(Vec<FoundSegment>, Option<SpareSegment>), OpenError> {
    let names = disk.list().map_err(io_error)?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|n| number_of(n, ".seg")).collect();
    numbers.sort_unstable();
    let (mut found, mut spare): (Vec<FoundSegment>, Option<SpareSegment>) = (Vec::new(), None);
    for number in numbers {
        let expected = spare
            .as_ref()
            .map(|spare| spare.id.number)
            .or(found.last().map(|last| last.header.id.number));
        if expected.is_some_and(|last| last + 1 != number) {
            return Err(OpenError::Missing(segment_name(number - 1)));
        }
        let file: Arc<dyn DiskFile> = disk.open(&segment_name(number)).map_err(io_error)?.into();
        let size = file.size().map_err(io_error)?;
        let mut raw = [0; SEGMENT_HEADER];
        let n = file.read_at(0, &mut raw).map_err(io_error)?;
        match SegmentHeader::decode(&raw[..n]) {
            Some(head) if head.id.number != number => return Err(corrupt(number, 0, "another segment's content")),
            Some(head) if head.size != size => return Err(corrupt(number, size, "not of its full size")),
            Some(_) if let Some(SpareSegment { id, .. }) = &spare => {
                return Err(corrupt(id.number, 0, "no header, and a segment behind it"));
            }
            Some(head) => found.push(FoundSegment { header: head, file }),
            None => {
                let Some(id) = SegmentIdentity::of_blank(&raw[..n]).filter(|id| id.number == number) else {
                    return Err(corrupt(number, 0, "the segment's header"));
                };
                match classify_blank(&*file, id, size).map_err(io_error)? {
                    TailState::Corrupt => return Err(corrupt(number, 0, "the segment's header")),
                    TailState::Unwritten => {}
                    TailState::Torn { end } => wipe(&*file, BLANK_HEADER as u64, end).map_err(io_error)?,
                }
                // The segment after the next can be preallocated before anything is written to the next.
                spare = spare.or(Some(SpareSegment { id, file }));
            }
        }
    }
    Ok((found, spare))
}

/// Sequences must follow one another from segment to segment.
fn check_links(found: &[FoundSegment]) -> Result<(), OpenError> {
    for pair in found.windows(2) {
        let (before, head) = (&pair[0].header, &pair[1].header);
        if head.first_seq < before.first_seq || head.epoch < before.epoch || head.previous_end > before.size {
            return Err(corrupt(head.id.number, 0, "does not follow the segment before it"));
        }
    }
    Ok(())
}

/// Finds the end of the newest segment, zeroing a torn last write.
fn find_end(last: &FoundSegment) -> Result<ScanEnd, OpenError> {
    let FoundSegment { header: head, file } = last;
    let end = scan_segment(&**file, head.id, head.first_seq, head.size, |_, _, _| {}).map_err(io_error)?;
    let rest = classify_tail(&**file, head.id, head.size, end.offset, end.extent_end).map_err(io_error)?;
    match rest {
        TailState::Unwritten => {}
        TailState::Corrupt => return Err(corrupt(head.id.number, end.offset, "a frame that was durable")),
        TailState::Torn { end: torn_end } => {
            tracing::warn!(
                segment = head.id.number,
                offset = end.offset,
                "the last write was cut off by the stop"
            );
            wipe(&**file, end.offset, torn_end).map_err(io_error)?;
        }
    }
    if end.group > end.offset {
        return Err(corrupt(head.id.number, end.offset, "the group of the last frame"));
    }
    if !mutants::is_enabled(Mutant::TailNotRewritten) {
        rewrite(&**file, end.group, end.offset).map_err(io_error)?;
    }
    Ok(end)
}

/// Makes the last group durable. It was read, but perhaps only from the page cache. The last run may have died before
/// its sync, or because of it: after a failed sync the kernel considers the pages clean, so another sync alone would do
/// nothing.
fn rewrite(file: &dyn DiskFile, from: u64, to: u64) -> io::Result<()> {
    let mut bytes = vec![0; (to - from) as usize];
    let n = file.read_at(from, &mut bytes)?;
    file.write_at(from, &bytes[..n])?;
    file.sync()
}

/// Replays the rows of frames that the snapshots do not have.
struct RowReplay<'a> {
    snapshots: &'a dyn SnapshotStore,
    overlay: Overlay,
    applied: Seq,
    limits: StoreLimits,
    failed: Option<StoreError>,
}

impl RowReplay<'_> {
    fn frame(&mut self, head: &FrameHeader, payload: &[u8]) {
        let covered = self.applied + u64::from(mutants::is_enabled(Mutant::FirstFrameSkipped));
        if head.seq <= covered || self.failed.is_some() {
            return;
        }
        let mut staged = Staged::default();
        let visited = frame::visit(head, payload, |write| stage(&mut staged, write), |_| {});
        if visited.is_none() {
            self.failed = Some(StoreError::Corrupt(format!(
                "the content of the frame at sequence {}",
                head.seq
            )));
            return;
        }
        self.overlay.insert(&mut staged, head.last_seq(), head.frame_len());
        // A long tail must not fill the memory.
        if self.overlay.active_bytes() > self.limits.lag_limit_bytes
            && let Some(frozen) = self.overlay.freeze()
        {
            match self
                .snapshots
                .apply(&mut frozen.changes().into_iter(), Some(frozen.upto))
            {
                Ok(()) => self.applied = frozen.upto,
                Err(e) => self.failed = Some(e),
            }
            self.overlay.drop_frozen();
        }
    }
}

fn stage(staged: &mut Staged, write: WriteRecord<'_>) {
    let (key, row) = match write {
        WriteRecord::Put { key, revision, value } => (
            key,
            Some(Row {
                revision,
                value: value.into(),
            }),
        ),
        WriteRecord::Delete { key } => (key, None),
    };
    staged.insert(key.into(), OverlayEntry { is_new: false, row });
}

/// Checks and replays the required frames, and finds or rebuilds every index.
fn load_segments(
    disk: &dyn Disk,
    found: &[FoundSegment],
    end: Option<ScanEnd>,
    verified_from: Seq,
    replay: &mut RowReplay<'_>,
) -> Result<Vec<Arc<Segment>>, OpenError> {
    let mut segments = Vec::with_capacity(found.len());
    for (i, FoundSegment { header: head, file }) in found.iter().enumerate() {
        let next = found.get(i + 1).map(|f| &f.header);
        let (id, file) = (head.id, Arc::clone(file));
        let segment = empty_segment(SpareSegment { id, file }, head.first_seq, head.first_cursor, head.size);
        let stop = next
            .map(|n| n.previous_end)
            .or(end.map(|e| e.offset))
            .unwrap_or(SEGMENT_HEADER as u64);
        let stored = if next.is_some() {
            FileIndex::load(disk, id.number, stop).map_err(io_error)?
        } else {
            None
        };
        let last_seq = next
            .map(|n| n.first_seq)
            .or(end.map(|e| e.next_seq))
            .unwrap_or(head.first_seq)
            - 1;
        let mut newest_ms = stored.as_ref().map_or(0, |index| index.newest_ms);
        let known = match stored {
            Some(index) if last_seq <= verified_from => SegmentIndex::File(index),
            stored => {
                let mut index = MemoryIndex::default();
                let walked = scan_segment(&*segment.file, id, head.first_seq, stop, |head, payload, offset| {
                    index_frame(&mut index, head, payload, offset);
                    replay.frame(head, payload);
                })
                .map_err(io_error)?;
                let whole = walked.offset == stop && walked.next_seq == last_seq + 1;
                if !whole || next.is_some_and(|n| n.previous_crc != walked.last_crc) {
                    return Err(corrupt(id.number, walked.offset, "a frame that was durable"));
                }
                newest_ms = walked.newest_ms;
                stored.map_or(SegmentIndex::Memory(index), SegmentIndex::File)
            }
        };
        {
            let mut extent = segment.extent.write();
            (extent.end, extent.last_seq, extent.newest_ms) = (stop, last_seq, newest_ms);
            (extent.sealed, extent.index) = (next.is_some(), known);
        }
        segments.push(Arc::new(segment));
    }
    match replay.failed.take() {
        Some(e) => Err(store_error(e)),
        None => Ok(segments),
    }
}
