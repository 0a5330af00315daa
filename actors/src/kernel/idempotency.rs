//! Answers that are remembered: the record of an idempotency key, written by the batch of the command that it names.
//!
//! The row and the write are one batch, so there is never one without the other; the condition that the row is new makes
//! a second command under the same key impossible, whoever died in between. No state machine knows of it.

use std::fmt;
use std::sync::Arc;

use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, Condition, Write};

use crate::id::Wallet;
use crate::kernel::{Context, Entity, table};

/// How long an answer is remembered, in seconds.
pub const RECORD_TTL_S: u64 = 24 * 3600;

/// What is kept of an answer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum RecordedResponse {
    /// The answer itself.
    Body {
        /// HTTP status.
        status: u16,
        /// JSON text; of a refusal, its fields.
        body: String,
    },
    /// The answer was not known when the command was decided: it is what has become of this entity.
    EntityRef {
        /// [`crate::kernel::Kind`] as stored.
        kind: u8,
        /// As in its row's key.
        id: Vec<u8>,
    },
}

/// A remembered answer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IdempotencyRecord {
    /// Digest of the route and the body that the key was first used with.
    pub fingerprint: [u8; 32],
    /// Forgotten from this second on.
    pub expires_s: u64,
    /// What was answered.
    pub response: RecordedResponse,
}

impl Stored for IdempotencyRecord {
    const SCHEMA: u16 = 6;
}

/// A key's place: whose it is, what it was used with, and what stood there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencySlot {
    /// The account that the key belongs to.
    pub wallet: Wallet,
    /// Digest of the key's text.
    pub key: u128,
    /// Digest of the route and the body.
    pub fingerprint: [u8; 32],
    /// When the last use of the key expired, if its row is still there.
    pub replaces: Option<u64>,
}

/// What a command came to: the answer with the state that follows from it, or the rejection.
pub type CommandResult<'a, E> = Result<(&'a <E as Entity>::Reply, Option<&'a E>), &'a <E as Entity>::Rejection>;

type RecordFn<E> = dyn Fn(CommandResult<'_, E>) -> Option<RecordedResponse> + Send + Sync;

/// Remembers the answer to one command.
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
        f.debug_struct("Memo")
            .field("place", &self.slot)
            .finish_non_exhaustive()
    }
}

/// What is written beside a command by the command's own batch, and of which no state machine knows.
#[derive(Clone, Debug)]
pub enum ExtraWrite<E: Entity> {
    /// Its answer is remembered, a rejection too.
    Idempotency(IdempotencyRecorder<E>),
    /// It is written down who brought it about, if it is not rejected.
    Rows(ExtraRows),
}

/// Rows for a batch, and what must hold for them.
#[derive(Clone, Debug)]
pub struct ExtraRows {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) writes: Vec<Write>,
}

impl<E: Entity> ExtraWrite<E> {
    /// Adds it to the command's batch. `false` when there is nothing to be added.
    pub(crate) fn write(&self, told: CommandResult<'_, E>, batch: &mut Batch, context: &Context) -> bool {
        match self {
            Self::Idempotency(memo) => memo.write(told, batch, context),
            Self::Rows(_) if told.is_err() => false,
            Self::Rows(note) => {
                batch.conditions.extend_from_slice(&note.conditions);
                batch.writes.extend_from_slice(&note.writes);
                true
            }
        }
    }
}

impl<E: Entity> IdempotencyRecorder<E> {
    /// `render` writes what is kept; `None` is for what is not to be remembered, such as a frozen account's refusal.
    pub fn new(
        slot: IdempotencySlot,
        render: impl Fn(CommandResult<'_, E>) -> Option<RecordedResponse> + Send + Sync + 'static,
    ) -> Self {
        Self {
            slot,
            render: Arc::new(render),
        }
    }

    /// Where the answer is remembered.
    pub const fn slot(&self) -> &IdempotencySlot {
        &self.slot
    }

    /// Adds the record to the command's batch. `false` when there is nothing to be remembered.
    fn write(&self, told: CommandResult<'_, E>, batch: &mut Batch, context: &Context) -> bool {
        let Some(kept) = (self.render)(told) else { return false };
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
