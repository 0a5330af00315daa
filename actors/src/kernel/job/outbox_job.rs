//! An effect as it is kept: work, and how often it was tried.

use purser_storage::Write;
use purser_storage::codec::{self, Stored};

use super::Job;
use crate::id::{JobId, RequestId};
use crate::kernel::table;
use crate::port::Timestamp;

/// Work with its history.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OutboxJob {
    /// Its name; towards a provider, the idempotency key.
    pub id: JobId,
    /// What.
    pub job: Job,
    /// The request it goes back to, for logs.
    pub request_id: RequestId,
    /// Since when.
    pub created_at: Timestamp,
    /// Failed tries so far.
    pub attempts: u32,
    /// Not before this.
    pub next_attempt_at: Timestamp,
    /// What the last try said.
    pub last_error: Option<String>,
    /// Tried often enough: it waits for an operator.
    pub dead_lettered: bool,
}

impl Stored for OutboxJob {
    const SCHEMA: u16 = 5;
}

impl OutboxJob {
    /// Due at `due`, and no older than that.
    pub(crate) const fn new(id: JobId, job: Job, due: Timestamp) -> Self {
        Self {
            id,
            job,
            // The shell knows: it fills this in when it commits.
            request_id: RequestId::NONE,
            created_at: due,
            attempts: 0,
            next_attempt_at: due,
            last_error: None,
            dead_lettered: false,
        }
    }

    pub(crate) fn put(&self) -> Write {
        Write::Put {
            key: table::outbox_job(self.id),
            revision: u64::from(self.attempts),
            value: codec::encode(self),
        }
    }
}
