//! Idempotency records: the stored response of an idempotency key, written by the batch of its command.
//!
//! The record and the command's writes are one batch, so neither exists without the other. The condition that the row
//! is new prevents a second command under the same key, whatever crashes in between. State machines are not aware of
//! it.

use std::fmt;
use std::sync::Arc;

use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, Condition, RowKey, Write};

use crate::id::Wallet;
use crate::kernel::{Context, Entity, OutboxJob, table};

/// Retention of a record in seconds.
pub const RECORD_TTL_S: u64 = 24 * 3600;

/// What the record stores of a response.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum RecordedResponse {
    /// The response itself.
    Body {
        /// HTTP status of the response.
        status: u16,
        /// JSON text; for an error, its fields.
        body: String,
    },
    /// The response was not known when the command was decided: it is the later outcome of this entity.
    EntityRef {
        /// [`crate::kernel::EntityKind`] as stored.
        kind: u8,
        /// Bytes as in the entity's row key.
        id: Vec<u8>,
    },
}

/// Idempotency record of one key.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IdempotencyRecord {
    /// Idempotency fingerprint: digest of the route and the body that the key was first used with.
    pub fingerprint: [u8; 32],
    /// The record expires at this second.
    pub expires_s: u64,
    /// Response that a repeated request receives.
    pub response: RecordedResponse,
}

impl Stored for IdempotencyRecord {
    const SCHEMA: u16 = 6;
}

/// Row of a key with its owner, fingerprint and previous record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencySlot {
    /// Account that owns the key.
    pub wallet: Wallet,
    /// Digest of the key's text.
    pub key: u128,
    /// Digest of the route and the body.
    pub fingerprint: [u8; 32],
    /// Expiry of the key's previous record, if its row still exists.
    pub replaces: Option<u64>,
}

/// Result of a command: the reply with the state after it, or the rejection.
pub type CommandResult<'a, E> = Result<(&'a <E as Entity>::Reply, Option<&'a E>), &'a <E as Entity>::Rejection>;

type RecordFn<E> = dyn Fn(CommandResult<'_, E>) -> Option<RecordedResponse> + Send + Sync;

/// Records the response to one command.
pub struct IdempotencyRecorder<E: Entity> {
    slot: IdempotencySlot,
    render: Arc<RecordFn<E>>,
}

impl<E: Entity> Clone for IdempotencyRecorder<E> {
    fn clone(&self) -> Self {
        Self {
            slot: self.slot.clone(),
            render: self.render.clone(),
        }
    }
}

impl<E: Entity> fmt::Debug for IdempotencyRecorder<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyRecorder")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

/// Additional rows of a command's batch, which state machines are not aware of.
#[derive(Clone, Debug)]
pub enum ExtraWrite<E: Entity> {
    /// Records the reply, or the rejection.
    Idempotency(IdempotencyRecorder<E>),
    /// Records the origin of the command, unless it is rejected.
    Rows(ExtraRows),
    /// Records the reply or the rejection, and counts a spend of an agent unless it is rejected.
    Spend(Option<IdempotencyRecorder<E>>, ExtraRows),
}

/// Rows and jobs for a batch, with their conditions.
#[derive(Clone, Debug, Default)]
pub struct ExtraRows {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) writes: Vec<Write>,
    pub(crate) jobs: Vec<OutboxJob>,
}

impl ExtraRows {
    /// Writes a row that must be at this revision; 0 if it did not exist.
    pub(crate) fn put_revision(&mut self, key: RowKey, revision: u64, value: Vec<u8>) {
        self.conditions.push(Condition::Revision(key.clone(), revision));
        self.writes.push(Write::Put {
            key,
            revision: revision.saturating_add(1),
            value,
        });
    }

    /// Removes a row that must exist.
    pub(crate) fn delete(&mut self, key: RowKey) {
        self.conditions.push(Condition::Present(key.clone()));
        self.writes.push(Write::Delete { key });
    }

    /// Adds a job.
    pub(crate) fn enqueue(&mut self, job: OutboxJob) {
        self.jobs.push(job);
    }

    fn write(&self, batch: &mut Batch) {
        batch.conditions.extend_from_slice(&self.conditions);
        batch.writes.extend_from_slice(&self.writes);
    }
}

impl<E: Entity> ExtraWrite<E> {
    /// Jobs that the command's batch adds, unless the command is rejected.
    pub(crate) fn jobs(&self) -> &[OutboxJob] {
        match self {
            Self::Idempotency(_) => &[],
            Self::Rows(rows) | Self::Spend(_, rows) => &rows.jobs,
        }
    }

    /// Adds the rows to the command's batch. `false` when there is nothing to add.
    pub(crate) fn write(&self, result: CommandResult<'_, E>, batch: &mut Batch, context: &Context) -> bool {
        match self {
            Self::Idempotency(recorder) => recorder.write(result, batch, context),
            Self::Rows(_) if result.is_err() => false,
            Self::Rows(note) => {
                note.write(batch);
                true
            }
            Self::Spend(recorder, rows) => {
                if result.is_ok() {
                    rows.write(batch);
                }
                let is_recorded = recorder.as_ref().map(|recorder| recorder.write(result, batch, context));
                result.is_ok() || is_recorded.unwrap_or(false)
            }
        }
    }
}

impl<E: Entity> IdempotencyRecorder<E> {
    /// `render` returns the response to store; `None` if it must not be stored, such as the error of a frozen account.
    pub fn new(
        slot: IdempotencySlot,
        render: impl Fn(CommandResult<'_, E>) -> Option<RecordedResponse> + Send + Sync + 'static,
    ) -> Self {
        Self {
            slot,
            render: Arc::new(render),
        }
    }

    /// Row in which the response is stored.
    pub const fn slot(&self) -> &IdempotencySlot {
        &self.slot
    }

    /// Adds the record to the command's batch. `false` when there is nothing to store.
    fn write(&self, result: CommandResult<'_, E>, batch: &mut Batch, context: &Context) -> bool {
        let Some(kept) = (self.render)(result) else {
            return false;
        };
        let IdempotencySlot {
            wallet,
            key,
            fingerprint,
            replaces,
        } = &self.slot;
        let expires_s = context.now.seconds().saturating_add(RECORD_TTL_S);
        let row = table::idempotency(wallet, *key);
        let end = |expires_s| table::idempotency_expiry(expires_s, wallet, *key);
        match *replaces {
            None => batch.conditions.push(Condition::Absent(row.clone())),
            Some(expired) => {
                batch.conditions.push(Condition::Present(end(expired)));
                if expired != expires_s {
                    batch.writes.push(Write::Delete { key: end(expired) });
                }
            }
        }
        let remembered = IdempotencyRecord {
            fingerprint: *fingerprint,
            expires_s,
            response: kept,
        };
        let put = |key, value| Write::Put {
            key,
            revision: 0,
            value,
        };
        batch.writes.push(put(row, codec::encode(&remembered)));
        batch.writes.push(put(end(expires_s), Vec::new()));
        true
    }
}
