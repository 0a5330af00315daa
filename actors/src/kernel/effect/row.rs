//! An effect as it is kept: work, and how often it was tried.

use purser_storage::Write;
use purser_storage::codec::{self, Stored};

use super::Work;
use crate::id::{EffectId, RequestId};
use crate::kernel::table;
use crate::port::Timestamp;

/// Work with its history.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Effect {
    /// Its name; towards a provider, the idempotency key.
    pub id: EffectId,
    /// What.
    pub work: Work,
    /// The request it goes back to, for logs.
    pub origin: RequestId,
    /// Since when.
    pub created_at: Timestamp,
    /// Failed tries so far.
    pub attempts: u32,
    /// Not before this.
    pub next_at: Timestamp,
    /// What the last try said.
    pub last_error: Option<String>,
    /// Tried often enough: it waits for an operator.
    pub stuck: bool,
}

impl Stored for Effect {
    const SCHEMA: u16 = 5;
}

impl Effect {
    /// Due at `due`, and no older than that.
    pub(crate) const fn new(id: EffectId, work: Work, due: Timestamp) -> Self {
        Self {
            id,
            work,
            // The shell knows: it fills this in when it commits.
            origin: RequestId::NONE,
            created_at: due,
            attempts: 0,
            next_at: due,
            last_error: None,
            stuck: false,
        }
    }

    pub(crate) fn put(&self) -> Write {
        Write::Put {
            key: table::effect(self.id),
            revision: u64::from(self.attempts),
            value: codec::encode(self),
        }
    }
}
