//! Turns queued batches into durable groups: conditions, one write, one sync, then publication and callbacks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::RwLock;

use super::answers::Answer;
use super::core::{QueuedBatch, StoreCore};
use super::frame::{self, FramePosition};
use super::index::{MemoryIndex, SegmentIndex, hash_of};
use super::overlay::{OverlayEntry, Staged};
use super::pacing::SyncedGroup;
use super::segment::{DurableExtent, SEGMENT_HEADER, Segment, SegmentHeader, SpareSegment, preallocate};
use crate::mutants::{self, Mutant};
use crate::{
    Batch, CommitError, Committed, Condition, Cursor, Event, MAX_VALUE_BYTES, Row, Seq, StoreError, StoredEvent, Write,
};

/// Longest key of a row and longest subject of an event, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;
/// Largest payload of one event, in bytes.
pub const MAX_EVENT_BYTES: usize = 64 * 1024;

/// Position of the next group. Owned by the committing thread, or by a simulation.
pub(crate) struct Committer {
    pub(crate) active: Arc<Segment>,
    /// 0 while the segment has no header yet.
    pub(crate) offset: u64,
    /// Header checksum of the last frame of the active segment, 0 without one.
    pub(crate) last_crc: u32,
    /// End and last checksum of the previous segment.
    pub(crate) previous: (u64, u32),
    pub(crate) next_seq: Seq,
    /// Smallest cursor for the next event.
    pub(crate) next_cursor: Cursor,
    pub(crate) epoch: u32,
    group: CommitGroup,
    queue: VecDeque<QueuedBatch>,
    /// What the last sync found; taken by who spaces the syncs.
    synced: Option<SyncedGroup>,
}

enum Placement {
    Reply(Result<Committed, CommitError>),
    NextGroup(Batch),
}

/// The group being built; its buffers are reused for the next group.
#[derive(Default)]
struct CommitGroup {
    buf: Vec<u8>,
    staged: Staged,
    outcomes: VecDeque<Answer>,
    events: Vec<(Seq, Cursor, Event)>,
    frames: Vec<(Seq, u32)>,
    subjects: Vec<(u64, u32)>,
}

impl Committer {
    pub(crate) fn new(
        active: Arc<Segment>,
        offset: u64,
        last_crc: u32,
        previous: (u64, u32),
        (next_seq, next_cursor): (Seq, Cursor),
        epoch: u32,
    ) -> Self {
        let (group, queue) = (CommitGroup::default(), VecDeque::new());
        Self {
            active,
            offset,
            last_crc,
            previous,
            next_seq,
            next_cursor,
            epoch,
            group,
            queue,
            synced: None,
        }
    }

    /// The last group, if it is durable and was not taken yet.
    pub(crate) fn take_synced(&mut self) -> Option<SyncedGroup> {
        self.synced.take()
    }

    /// Whether batches are left that did not fit into the last group.
    pub(crate) fn has_leftover(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Commits one group of the queue. False if the queue was empty.
    pub(crate) fn step(&mut self, engine: &StoreCore) -> bool {
        if self.queue.is_empty() {
            engine.take_queued(&mut self.queue);
        }
        // The group has entries left if a sink panicked.
        if self.queue.is_empty() && self.group.outcomes.is_empty() {
            return false;
        }
        let result = if engine.has_failed() {
            Err(StoreError::Io("stopped".into()))
        } else {
            self.collect(engine).and_then(|()| self.make_durable(engine))
        };
        match result {
            Ok(()) => self.notify(engine),
            Err(e) => self.fail(engine, &e),
        }
        true
    }

    /// This group and every later one cannot be acknowledged.
    fn fail(&mut self, engine: &StoreCore, error: &StoreError) {
        engine.fail("the journal failed", error);
        engine.take_queued(&mut self.queue);
        // One by one, so that a callback that panics does not prevent the others.
        while let Some((done, _)) = self.group.outcomes.pop_front() {
            done(Err(CommitError::Stopped));
        }
        while let Some(queued) = self.queue.pop_front() {
            (queued.callback)(Err(CommitError::Stopped));
        }
    }

    fn collect(&mut self, engine: &StoreCore) -> Result<(), StoreError> {
        self.group.clear();
        while self.group.buf.len() < engine.limits.group_bytes {
            let Some(QueuedBatch { batch, callback: done }) = self.queue.pop_front() else {
                break;
            };
            match self.stage_batch(engine, batch) {
                Ok(Placement::Reply(answer)) => self.group.outcomes.push_back((done, answer)),
                Ok(Placement::NextGroup(batch)) => {
                    self.queue.push_front(QueuedBatch { batch, callback: done });
                    break;
                }
                Err(e) => {
                    self.group.outcomes.push_back((done, Err(CommitError::Stopped)));
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    /// Takes a batch into the group, rejects it, or leaves it for the next group.
    fn stage_batch(&mut self, engine: &StoreCore, batch: Batch) -> Result<Placement, StoreError> {
        if let Err(refusal) = self.admit(engine, &batch)? {
            engine.commit_stats.rejected.fetch_add(1, Ordering::Relaxed);
            if let Some(lane) = &batch.session
                && !mutants::is_enabled(Mutant::FailedSessionContinues)
            {
                lane.fail();
            }
            return Ok(Placement::Reply(Err(refusal)));
        }
        if batch.writes.is_empty() && batch.events.is_empty() {
            return Ok(Placement::Reply(Ok(Committed { seq: self.next_seq - 1 })));
        }
        let free = self.active.size - self.offset;
        if (self.group.buf.len() + SEGMENT_HEADER + frame::encoded_len(&batch)) as u64 > free {
            if !self.group.buf.is_empty() {
                return Ok(Placement::NextGroup(batch));
            }
            self.roll(engine)?;
        }
        Ok(Placement::Reply(Ok(Committed {
            seq: self.append(batch, engine.now_us()),
        })))
    }

    /// Whether the batch's conditions hold after everything before it.
    fn admit(&self, engine: &StoreCore, batch: &Batch) -> Result<Result<(), CommitError>, StoreError> {
        if batch.session.as_ref().is_some_and(|lane| lane.has_failed()) {
            return Ok(Err(CommitError::SessionFailed));
        }
        if let Err(what) = check_limits(batch, engine.max_batch_bytes()) {
            return Ok(Err(CommitError::TooLarge(what)));
        }
        for (i, condition) in batch.conditions.iter().enumerate() {
            let (Condition::Absent(key) | Condition::Present(key) | Condition::Revision(key, _)) = condition;
            let revision = match self.group.staged.get(key) {
                Some(entry) => entry.row.as_ref().map(|row| row.revision),
                None => engine.row(key)?.map(|row| row.revision),
            };
            let holds = match condition {
                Condition::Absent(_) => revision.is_none(),
                Condition::Present(_) => revision.is_some(),
                Condition::Revision(_, wanted) => revision.unwrap_or(0) == *wanted,
            };
            if !holds {
                return Ok(Err(CommitError::Condition(i)));
            }
        }
        Ok(Ok(()))
    }

    /// Adds an admitted batch to the group.
    fn append(&mut self, batch: Batch, now_us: u64) -> Seq {
        let cursor = self.next_cursor.max(now_us);
        let group = &mut self.group;
        if self.offset == 0 && group.buf.is_empty() {
            let head = SegmentHeader {
                id: self.active.id(),
                first_seq: self.active.first_seq,
                size: self.active.size,
                previous_end: self.previous.0,
                previous_crc: self.previous.1,
                epoch: self.epoch,
                first_cursor: self.active.first_cursor,
            };
            group.buf.extend_from_slice(&head.encode());
        }
        let seq = self.next_seq;
        let at = self.offset as u32 + group.buf.len() as u32;
        let place = FramePosition {
            seq,
            epoch: self.epoch,
            group: self.offset as u32,
            segment: self.active.number as u32,
            salt: self.active.salt,
            cursor,
        };
        self.last_crc = frame::encode(&mut group.buf, place, &batch);
        let places = (batch.events.len() as u64).max(1);
        self.next_seq += places;
        self.next_cursor = cursor.saturating_add(places);
        group.frames.push((seq, at));
        for write in batch.writes {
            stage(&mut group.staged, &batch.conditions, write);
        }
        for (i, event) in (0..).zip(batch.events) {
            group.subjects.push((hash_of(&event.subject), at));
            group.events.push((seq + i, cursor.saturating_add(i), event));
        }
        seq
    }

    /// Continues in the next segment.
    fn roll(&mut self, engine: &StoreCore) -> Result<(), StoreError> {
        let number = self.active.number + 1;
        let io = |e: std::io::Error| StoreError::Io(format!("segment {number}: {e}"));
        let mut spare = engine.spare.lock();
        let next = match spare.take() {
            Some(ready) if ready.id.number == number => ready,
            // The janitor is late, or a simulation has none.
            _ => preallocate(&*engine.disk, number, engine.limits.segment_bytes).map_err(io)?,
        };
        let size = next.file.size().map_err(io)?;
        self.active.extent.write().sealed = true;
        self.previous = (self.offset, self.last_crc);
        self.active = Arc::new(empty_segment(next, self.next_seq, self.next_cursor, size));
        (self.offset, self.last_crc) = (0, 0);
        engine.segments.write().push(Arc::clone(&self.active));
        drop(spare);
        engine.janitor_notifier.notify();
        engine.exporter_notifier.notify();
        Ok(())
    }

    fn make_durable(&mut self, engine: &StoreCore) -> Result<(), StoreError> {
        if mutants::is_enabled(Mutant::PublishBeforeDurable) {
            self.publish(engine);
        }
        let group = &mut self.group;
        if group.buf.is_empty() {
            return Ok(());
        }
        let io = |e: std::io::Error| StoreError::Io(format!("segment {}: {e}", self.active.number));
        self.active.file.write_at(self.offset, &group.buf).map_err(io)?;
        if !mutants::is_enabled(Mutant::ReplyBeforeSync) {
            let synced = self.active.file.sync().map_err(io);
            if !mutants::is_enabled(Mutant::SyncErrorIgnored) {
                synced?;
            }
        }
        self.synced = Some(SyncedGroup {
            batches: group.outcomes.len(),
            queued: self.queue.len() + engine.queued(),
        });
        let bytes = group.buf.len() as u64;
        engine.commit_stats.bytes.fetch_add(bytes, Ordering::Relaxed);
        engine.commit_stats.syncs.fetch_add(1, Ordering::Relaxed);
        let commits = group.frames.len() as u64;
        engine.commit_stats.commits.fetch_add(commits, Ordering::Relaxed);
        self.offset += bytes;
        let last = self.next_seq - 1;
        {
            let mut extent = self.active.extent.write();
            extent.end = self.offset;
            extent.last_seq = last;
            extent.newest_ms = engine.now_ms();
            if let SegmentIndex::Memory(index) = &mut extent.index {
                group.frames.iter().for_each(|(seq, at)| index.record_frame(*seq, *at));
                group
                    .subjects
                    .iter()
                    .for_each(|(subject, at)| index.record_event(*subject, *at));
            }
        }
        engine.overlay.insert(&mut group.staged, last, bytes);
        engine.durable.store(last, Ordering::Release);
        if engine.overlay.active_bytes() >= engine.limits.apply_bytes {
            engine.applier_notifier.notify();
        }
        Ok(())
    }

    /// Publishes, then has the callbacks run, in order.
    fn notify(&mut self, engine: &StoreCore) {
        self.publish(engine);
        engine.answer(std::mem::take(&mut self.group.outcomes));
    }

    fn publish(&mut self, engine: &StoreCore) {
        let group = &mut self.group;
        engine.commit_stats.batches.record(group.outcomes.len() as u64);
        if !group.events.is_empty() {
            // Read after `durable` was set: a sink that is missing here finds the events by reading.
            let sinks = engine.sinks.read().clone();
            if !sinks.is_empty() {
                let stored: Vec<StoredEvent> = group.events.drain(..).map(stored_event).collect();
                sinks.iter().for_each(|sink| sink.publish(&stored));
            }
        }
    }
}

impl CommitGroup {
    fn clear(&mut self) {
        self.buf.clear();
        self.staged.clear();
        self.outcomes.clear();
        self.events.clear();
        self.frames.clear();
        self.subjects.clear();
    }
}

/// A segment without frames.
pub(crate) fn empty_segment(of: SpareSegment, first_seq: Seq, first_cursor: Cursor, size: u64) -> Segment {
    let extent = DurableExtent {
        end: SEGMENT_HEADER as u64,
        last_seq: first_seq - 1,
        newest_ms: 0,
        sealed: false,
        index: SegmentIndex::Memory(MemoryIndex::default()),
    };
    Segment {
        number: of.id.number,
        salt: of.id.salt,
        first_seq,
        first_cursor,
        size,
        file: of.file,
        extent: RwLock::new(extent),
    }
}

fn stored_event((seq, cursor, event): (Seq, Cursor, Event)) -> StoredEvent {
    StoredEvent {
        seq,
        cursor,
        subject: event.subject.into(),
        payload: event.payload.into(),
    }
}

fn stage(staged: &mut Staged, conditions: &[Condition], write: Write) {
    let (key, row) = match write {
        Write::Put { key, revision, value } => (
            key,
            Some(Row {
                revision,
                value: value.into(),
            }),
        ),
        Write::Delete { key } => (key, None),
    };
    match staged.get_mut(&key) {
        Some(entry) => entry.row = row,
        None => {
            let is_new = row.is_some()
                && (mutants::is_enabled(Mutant::TombstoneDropped)
                    || conditions
                        .iter()
                        .any(|c| matches!(c, Condition::Absent(k) if *k == key)));
            staged.insert(key, OverlayEntry { is_new, row });
        }
    }
}

fn check_limits(batch: &Batch, max_bytes: usize) -> Result<(), &'static str> {
    for write in &batch.writes {
        let (Write::Put { key, .. } | Write::Delete { key }) = write;
        if key.len() > MAX_KEY_BYTES {
            return Err("key");
        }
        if matches!(write, Write::Put { value, .. } if value.len() > MAX_VALUE_BYTES) {
            return Err("value");
        }
    }
    for event in &batch.events {
        if event.subject.len() > MAX_KEY_BYTES {
            return Err("subject");
        }
        if event.payload.len() > MAX_EVENT_BYTES {
            return Err("event");
        }
    }
    match frame::encoded_len(batch) > max_bytes {
        true => Err("batch"),
        false => Ok(()),
    }
}
