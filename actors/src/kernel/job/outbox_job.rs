//! A job as it is stored: the task and its attempts.

use purser_storage::Write;
use purser_storage::codec::{self, Stored};

use super::AnyJob;
use crate::id::{JobId, RequestId};
use crate::kernel::table;
use crate::port::Timestamp;

/// A task with its history of attempts.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OutboxJob {
    /// Id of the job; also the idempotency key at a provider.
    pub id: JobId,
    /// Task of the job.
    pub job: AnyJob,
    /// Request that caused it, for logs.
    pub request_id: RequestId,
    /// Time at which the job was enqueued.
    pub created_at: Timestamp,
    /// Failed attempts so far.
    pub attempts: u32,
    /// Earliest time of the next attempt.
    pub next_attempt_at: Timestamp,
    /// Error message of the last attempt.
    pub last_error: Option<String>,
    /// All attempts failed: it waits for an operator.
    pub dead_lettered: bool,
}

impl Stored for OutboxJob {
    const SCHEMA: u16 = 551;
}

impl OutboxJob {
    /// A job that is due at `due` and was created then.
    pub(crate) const fn new(id: JobId, job: AnyJob, due: Timestamp) -> Self {
        Self {
            id,
            job,
            // The entity actor sets it when it commits.
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
