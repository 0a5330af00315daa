//! Reading events back, straight from the journal's segments.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::engine::Engine;
use super::frame;
use super::index::Index;
use super::sealing::rebuild_index;
use super::segment::{Found, SEGMENT_HEADER, Segment, Window, frame_at};
use crate::planted::{self, Bug};
use crate::{Seq, StoreError, StoredEvent};

struct Wanted<'a> {
    after: Seq,
    upto: Seq,
    limit: usize,
    subject: Option<&'a [u8]>,
    found: Vec<StoredEvent>,
}

fn io(segment: &Segment, e: std::io::Error) -> StoreError {
    StoreError::Io(format!("segment {}: {e}", segment.number))
}

fn damaged(segment: &Segment, offset: u64) -> StoreError {
    StoreError::Damaged(format!("segment {} at byte {offset}", segment.number))
}

/// See [`crate::Store::events`].
pub(crate) fn read_events(
    engine: &Engine,
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
    let mut wanted = Wanted {
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

fn read_all(segment: &Segment, wanted: &mut Wanted<'_>) -> Result<(), StoreError> {
    let (end, start) = {
        let extent = segment.extent.read();
        (extent.end, extent.index.start_for(wanted.after.saturating_add(1)))
    };
    let mut window = Window::new(&*segment.file);
    let mut at = start.map_or(SEGMENT_HEADER as u64, u64::from);
    while at < end && wanted.found.len() < wanted.limit {
        at += take_frame(segment, &mut window, at, end, wanted)?;
    }
    Ok(())
}

fn read_subject(segment: &Segment, subject: &[u8], wanted: &mut Wanted<'_>) -> Result<(), StoreError> {
    let (end, start, offsets) = {
        let extent = segment.extent.read();
        let offsets = match &extent.index {
            Index::Memory(index) => Some(index.offsets(subject).to_vec()),
            Index::File(index) => index.offsets(subject).map_err(|e| io(segment, e))?,
        };
        (
            extent.end,
            extent.index.start_for(wanted.after.saturating_add(1)).unwrap_or(0),
            offsets,
        )
    };
    let offsets = match offsets {
        Some(offsets) => offsets,
        None => repaired_offsets(segment, subject)?,
    };
    let mut window = Window::exact(&*segment.file);
    for at in offsets.into_iter().filter(|at| *at >= start) {
        if u64::from(at) >= end || wanted.found.len() >= wanted.limit {
            break;
        }
        take_frame(segment, &mut window, u64::from(at), end, wanted)?;
    }
    Ok(())
}

/// The index file lies: read the segment itself. The janitor writes the file again.
fn repaired_offsets(segment: &Segment, subject: &[u8]) -> Result<Vec<u32>, StoreError> {
    tracing::warn!(segment = segment.number, "an event index is damaged and is rebuilt");
    let Some(index) = rebuild_index(segment).map_err(|e| io(segment, e))? else {
        return Err(damaged(segment, SEGMENT_HEADER as u64));
    };
    let offsets = index.offsets(subject).to_vec();
    segment.extent.write().index = Index::Memory(index);
    Ok(offsets)
}

/// Takes what is wanted from the frame at `at`; returns its length.
fn take_frame(
    segment: &Segment,
    window: &mut Window<'_>,
    at: u64,
    end: u64,
    wanted: &mut Wanted<'_>,
) -> Result<u64, StoreError> {
    let head = window.get(at, frame::HEADER).map_err(|e| io(segment, e))?;
    let Some(head) = frame::head(head, segment.salt) else {
        return Err(damaged(segment, at));
    };
    let passed = planted::is(Bug::BatchTailSkipped) && head.seq <= wanted.after;
    if head.events == 0 || head.last_seq() <= wanted.after || passed {
        return Ok(head.frame_len());
    }
    let found = frame_at(window, segment.id(), at, end, head.seq, head.epoch).map_err(|e| io(segment, e))?;
    let Found::Frame(head, payload) = found else {
        return Err(damaged(segment, at));
    };
    let on_event = |event: frame::EventRecord<'_>| {
        let inside = event.seq > wanted.after && event.seq <= wanted.upto && wanted.found.len() < wanted.limit;
        if inside && wanted.subject.is_none_or(|s| s == event.subject) {
            let (subject, payload) = (event.subject.into(), event.payload.into());
            wanted.found.push(StoredEvent {
                seq: event.seq,
                subject,
                payload,
            });
        }
    };
    match frame::visit(&head, payload, |_| {}, on_event) {
        Some(()) => Ok(head.frame_len()),
        None => Err(damaged(segment, at)),
    }
}
