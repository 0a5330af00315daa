//! Scans of whole segments: checks, replay, and indexes of the sealed ones.

use std::io;
use std::sync::Arc;

use super::core::StoreCore;
use super::frame::{self, FrameHeader};
use super::index::{FileIndex, MemoryIndex, SegmentIndex, hash_of};
use super::segment::{FrameLookup, ReadWindow, SEGMENT_HEADER, Segment, SegmentIdentity, frame_at};
use crate::disk::DiskFile;
use crate::{Cursor, Seq};

/// Position where a scan ended: after the last good frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanEnd {
    pub(crate) offset: u64,
    pub(crate) next_seq: Seq,
    pub(crate) last_crc: u32,
    pub(crate) epoch: u32,
    /// First free cursor; 0 without a frame.
    pub(crate) next_cursor: Cursor,
    pub(crate) newest_ms: u64,
    /// Offset where the last frame's write began.
    pub(crate) group: u64,
    /// End of the bytes that are not the next frame, as far as known.
    pub(crate) extent_end: u64,
}

/// Visits the chain of frames from the segment's start until one does not fit.
pub(crate) fn scan_segment(
    file: &dyn DiskFile,
    segment: SegmentIdentity,
    first_seq: Seq,
    limit: u64,
    mut visit: impl FnMut(&FrameHeader, &[u8], u32),
) -> io::Result<ScanEnd> {
    let mut window = ReadWindow::new(file);
    let start = SEGMENT_HEADER as u64;
    let mut end = ScanEnd {
        offset: start,
        next_seq: first_seq,
        last_crc: 0,
        epoch: 0,
        next_cursor: 0,
        newest_ms: 0,
        group: 0,
        extent_end: start,
    };
    loop {
        match frame_at(&mut window, segment, end.offset, limit, end.next_seq, end.epoch)? {
            FrameLookup::Frame(head, payload) => {
                visit(&head, payload, end.offset as u32);
                end.offset += head.frame_len();
                end.next_seq = head.last_seq() + 1;
                end.last_crc = head.head_crc;
                end.epoch = head.epoch;
                end.group = u64::from(head.group);
                end.next_cursor = head.next_cursor();
                end.newest_ms = head.cursor / 1_000;
            }
            FrameLookup::NotFound { extent_end } => {
                end.extent_end = extent_end;
                return Ok(end);
            }
        }
    }
}

/// Adds a frame and its events to the index.
pub(crate) fn index_frame(index: &mut MemoryIndex, head: &FrameHeader, payload: &[u8], offset: u32) {
    index.record_frame(head.seq, offset);
    if head.events > 0 {
        // Content that does not fit its header is corruption; a reader reports it with its position.
        let _ = frame::visit(
            head,
            payload,
            |_| {},
            |event| index.record_event(hash_of(event.subject), offset),
        );
    }
}

/// Rebuilds a sealed segment's index from its frames. `None` if the segment itself is corrupt.
pub(crate) fn rebuild_index(segment: &Segment) -> io::Result<Option<MemoryIndex>> {
    let end = segment.extent.read().end;
    let mut index = MemoryIndex::default();
    let walked = scan_segment(
        &*segment.file,
        segment.id(),
        segment.first_seq,
        end,
        |head, payload, offset| {
            index_frame(&mut index, head, payload, offset);
        },
    )?;
    Ok((walked.offset == end).then_some(index))
}

/// Moves the indexes of sealed segments from memory into their files.
pub(crate) fn save_sealed_indexes(engine: &StoreCore) -> io::Result<()> {
    let segments: Vec<Arc<Segment>> = engine.segments.read().clone();
    for segment in segments {
        let (end, sealed) = {
            let extent = segment.extent.read();
            match &extent.index {
                SegmentIndex::Memory(index) if extent.sealed => {
                    index.save(&*engine.disk, segment.number, extent.end, extent.newest_ms)?;
                }
                _ => continue,
            }
            (extent.end, extent.sealed)
        };
        debug_assert!(sealed);
        if let Some(index) = FileIndex::load(&*engine.disk, segment.number, end)? {
            segment.extent.write().index = SegmentIndex::File(index);
        }
    }
    Ok(())
}
