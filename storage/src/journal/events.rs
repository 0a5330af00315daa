//! Reads events directly from the journal's segments.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::core::StoreCore;
use super::frame::{self, FrameHeader};
use super::index::SegmentIndex;
use super::sealing::rebuild_index;
use super::segment::{FrameLookup, ReadWindow, SEGMENT_HEADER, Segment, frame_at};
use crate::mutants::{self, Mutant};
use crate::{Cursor, Seq, Span, StoreError, StoredEvent};

struct EventQuery<'a> {
    after: Seq,
    upto: Seq,
    limit: usize,
    subject: Option<&'a [u8]>,
    found: Vec<StoredEvent>,
}

fn io(segment: &Segment, e: std::io::Error) -> StoreError {
    StoreError::Io(format!("segment {}: {e}", segment.number))
}

fn corrupt(segment: &Segment, offset: u64) -> StoreError {
    StoreError::Corrupt(format!("segment {} at byte {offset}", segment.number))
}

/// Implementation of [`crate::Store::events`].
pub(crate) fn read_events(
    engine: &StoreCore,
    after: Seq,
    limit: usize,
    subject: Option<&[u8]>,
) -> Result<Vec<StoredEvent>, StoreError> {
    let upto = engine.durable.load(Ordering::Acquire);
    let segments: Vec<Arc<Segment>> = engine.segments.read().clone();
    let oldest = segments.first().map_or(1, |s| s.first_seq);
    if after.saturating_add(1) < oldest {
        return Err(StoreError::Expired { oldest });
    }
    let mut wanted = EventQuery {
        after,
        upto,
        limit,
        subject,
        found: Vec::new(),
    };
    let first = segments
        .partition_point(|s| s.first_seq <= after.saturating_add(1))
        .saturating_sub(1);
    for segment in &segments[first..] {
        if wanted.found.len() >= limit || segment.first_seq > upto {
            break;
        }
        match subject {
            Some(subject) => read_subject(segment, subject, &mut wanted)?,
            None => read_all(segment, &mut wanted)?,
        }
    }
    Ok(wanted.found)
}

fn read_all(segment: &Segment, wanted: &mut EventQuery<'_>) -> Result<(), StoreError> {
    let (end, start) = {
        let extent = segment.extent.read();
        (extent.end, extent.index.start_for(wanted.after.saturating_add(1)))
    };
    let mut window = ReadWindow::new(&*segment.file);
    let mut at = start.map_or(SEGMENT_HEADER as u64, u64::from);
    while at < end && wanted.found.len() < wanted.limit {
        at += take_frame(segment, &mut window, at, end, wanted)?;
    }
    Ok(())
}

/// Current end of the segment, and the frames in it that may have events of the subject.
fn frames_of(segment: &Segment, subject: &[u8]) -> Result<(u64, Vec<u32>), StoreError> {
    let (end, offsets) = {
        let extent = segment.extent.read();
        let offsets = match &extent.index {
            SegmentIndex::Memory(index) => Some(index.offsets(subject).to_vec()),
            SegmentIndex::File(index) => index.offsets(subject).map_err(|e| io(segment, e))?,
        };
        (extent.end, offsets)
    };
    match offsets {
        Some(offsets) => Ok((end, offsets)),
        None => Ok((end, repaired_offsets(segment, subject)?)),
    }
}

fn read_subject(segment: &Segment, subject: &[u8], wanted: &mut EventQuery<'_>) -> Result<(), StoreError> {
    let (end, offsets) = frames_of(segment, subject)?;
    let start = segment.extent.read().index.start_for(wanted.after.saturating_add(1));
    let start = start.unwrap_or(0);
    let mut window = ReadWindow::exact(&*segment.file);
    for at in offsets.into_iter().filter(|at| *at >= start) {
        if u64::from(at) >= end || wanted.found.len() >= wanted.limit {
            break;
        }
        take_frame(segment, &mut window, u64::from(at), end, wanted)?;
    }
    Ok(())
}

/// The index file is wrong: reads the segment itself. The janitor rewrites the file.
fn repaired_offsets(segment: &Segment, subject: &[u8]) -> Result<Vec<u32>, StoreError> {
    tracing::warn!(segment = segment.number, "an event index is damaged and is rebuilt");
    let Some(index) = rebuild_index(segment).map_err(|e| io(segment, e))? else {
        return Err(corrupt(segment, SEGMENT_HEADER as u64));
    };
    let offsets = index.offsets(subject).to_vec();
    segment.extent.write().index = SegmentIndex::Memory(index);
    Ok(offsets)
}

/// Takes the requested events from the frame at `at`; returns its length.
fn take_frame(
    segment: &Segment,
    window: &mut ReadWindow<'_>,
    at: u64,
    end: u64,
    wanted: &mut EventQuery<'_>,
) -> Result<u64, StoreError> {
    let head = window.get(at, frame::HEADER).map_err(|e| io(segment, e))?;
    let Some(head) = frame::read_header(head, segment.salt) else {
        return Err(corrupt(segment, at));
    };
    let passed = mutants::is_enabled(Mutant::BatchTailSkipped) && head.seq <= wanted.after;
    if head.events == 0 || head.last_seq() <= wanted.after || passed {
        return Ok(head.frame_len());
    }
    let on_event = |event: frame::EventRecord<'_>| {
        let inside = event.seq > wanted.after && event.seq <= wanted.upto && wanted.found.len() < wanted.limit;
        if inside && wanted.subject.is_none_or(|s| s == event.subject) {
            wanted.found.push(stored_event(event));
        }
    };
    visit_at(segment, window, (at, end), &head, on_event)
}

fn stored_event(event: frame::EventRecord<'_>) -> StoredEvent {
    StoredEvent {
        seq: event.seq,
        cursor: event.cursor,
        subject: event.subject.into(),
        payload: event.payload.into(),
    }
}

/// Visits the events of the frame at `at`, whose header was read; returns its length.
fn visit_at(
    segment: &Segment,
    window: &mut ReadWindow<'_>,
    (at, end): (u64, u64),
    head: &FrameHeader,
    on_event: impl FnMut(frame::EventRecord<'_>),
) -> Result<u64, StoreError> {
    let found = frame_at(window, segment.id(), at, end, head.seq, head.epoch).map_err(|e| io(segment, e))?;
    let FrameLookup::Frame(head, payload) = found else {
        return Err(corrupt(segment, at));
    };
    match frame::visit(&head, payload, |_| {}, on_event) {
        Some(()) => Ok(head.frame_len()),
        None => Err(corrupt(segment, at)),
    }
}

/// Implementation of [`crate::Store::events_of`].
pub(crate) fn read_span(
    engine: &StoreCore,
    subject: &[u8],
    span: Span,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let upto = engine.durable.load(Ordering::Acquire);
    let segments: Vec<Arc<Segment>> = engine.segments.read().clone();
    let mut found = Vec::new();
    // From the oldest on, or from the newest back.
    match span {
        Span::After(after) => {
            if let Some(oldest) = segments.first().filter(|s| s.first_seq > 1).map(|s| s.first_cursor)
                && (1..oldest.saturating_sub(1)).contains(&after)
            {
                return Err(StoreError::Expired { oldest });
            }
            let first = segments.partition_point(|s| s.first_cursor <= after.saturating_add(1));
            for segment in &segments[first.saturating_sub(1)..] {
                let filter = |event: &frame::EventRecord<'_>| event.cursor > after && event.seq <= upto;
                let from = |cursor: Cursor| cursor <= after;
                let left = limit - found.len();
                found.extend(read_frames(
                    segment,
                    subject,
                    (from, ReadDirection::Forward),
                    left,
                    &filter,
                )?);
            }
        }
        Span::Before(before) => {
            let first = segments.partition_point(|s| s.first_cursor < before);
            for segment in segments[..first].iter().rev() {
                let filter = |event: &frame::EventRecord<'_>| event.cursor < before && event.seq <= upto;
                let from = |cursor: Cursor| cursor < before;
                let left = limit - found.len();
                found.extend(read_frames(
                    segment,
                    subject,
                    (from, ReadDirection::Backward),
                    left,
                    &filter,
                )?);
            }
        }
    }
    Ok(found)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadDirection {
    Forward,
    Backward,
}

/// At most `limit` events of the subject that the filter accepts in one segment. Starts with the last frame whose first
/// cursor is `passed`, because only the first event of a frame is known to be.
fn read_frames(
    segment: &Segment,
    subject: &[u8],
    (passed, way): (impl Fn(Cursor) -> bool, ReadDirection),
    limit: usize,
    filter: &dyn Fn(&frame::EventRecord<'_>) -> bool,
) -> Result<Vec<StoredEvent>, StoreError> {
    let mut found = Vec::new();
    if limit == 0 {
        return Ok(found);
    }
    let (end, mut offsets) = frames_of(segment, subject)?;
    // Index entries beyond the end that was read are not durable yet, or will be read next time.
    offsets.truncate(offsets.partition_point(|at| u64::from(*at) < end));
    let mut window = ReadWindow::exact(&*segment.file);
    let mut head_at = |at: u64| -> Result<FrameHeader, StoreError> {
        let raw = window.get(at, frame::HEADER).map_err(|e| io(segment, e))?;
        frame::read_header(raw, segment.salt).ok_or_else(|| corrupt(segment, at))
    };
    let (mut low, mut high) = (0, offsets.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        match passed(head_at(u64::from(offsets[middle]))?.cursor) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    match way {
        ReadDirection::Forward => drop(offsets.drain(..low.saturating_sub(1))),
        ReadDirection::Backward => {
            offsets.truncate(low);
            offsets.reverse();
        }
    }
    for at in offsets.into_iter().map(u64::from) {
        let head = head_at(at)?;
        let mut of_frame = Vec::new();
        let mut exact = ReadWindow::exact(&*segment.file);
        visit_at(segment, &mut exact, (at, end), &head, |event| {
            if event.subject == subject && filter(&event) {
                of_frame.push(stored_event(event));
            }
        })?;
        if way == ReadDirection::Backward {
            of_frame.reverse();
        }
        found.extend(of_frame);
        if found.len() >= limit {
            found.truncate(limit);
            break;
        }
    }
    Ok(found)
}
