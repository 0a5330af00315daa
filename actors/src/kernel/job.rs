//! Jobs: durable tasks that call external systems or another entity, stored in the outbox.
//!
//! A job is a row. The batch that needs the task writes it, and the batch that records the outcome deletes it, on the
//! condition that it still exists. The row is the only record that the job is pending. A job runs at least once.
//!
//! The kernel knows no job. Each entity kind has an enum of its own ([`EntityJob`]), and a row has its bytes
//! ([`AnyJob`]).

mod failure;
mod outbox_job;

use std::fmt;

use crate::kernel::EntityKind;

pub use failure::{AttemptFailure, RetryMode};
pub use outbox_job::OutboxJob;

/// The jobs of an entity kind. Written by `jobs!`.
pub trait EntityJob: Clone + fmt::Debug + PartialEq + Send + Sync + Sized + 'static {
    /// Entity kind whose supervisor runs the jobs.
    const KIND: EntityKind;

    /// The job in its stored form.
    fn store(&self) -> AnyJob;

    /// The job of a stored form of this kind. `None` if its number is unknown or its bytes do not fit.
    fn load(job: &AnyJob) -> Option<Self>;
}

/// A job of any entity, as it is stored. Rows of an unknown kind or number can be read too: they become dead letters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, bincode::Encode, bincode::Decode)]
pub struct AnyJob {
    /// Number of the entity kind.
    pub(crate) kind: u8,
    /// Number of the job, unique among all jobs of all kinds.
    pub(crate) op: u8,
    /// Key of the id of the job's subject.
    pub(crate) subject: Vec<u8>,
    /// The rest of the job.
    pub(crate) payload: Vec<u8>,
}

impl AnyJob {
    /// The job, if it is one of these.
    pub fn typed<J: EntityJob>(&self) -> Option<J> {
        if self.kind == J::KIND as u8 {
            J::load(self)
        } else {
            None
        }
    }
}

impl<J: EntityJob> From<J> for AnyJob {
    fn from(job: J) -> Self {
        job.store()
    }
}

impl<J: EntityJob> PartialEq<J> for AnyJob {
    fn eq(&self, job: &J) -> bool {
        self.kind == J::KIND as u8 && *self == job.store()
    }
}

/// What the outbox must know about a job.
#[derive(Clone, Copy, Debug)]
pub struct JobFacts {
    /// Name in logs.
    pub name: &'static str,
    /// Its type's place among the attempt counters.
    pub index: usize,
    /// Whether it waits for a provider that may be closed for a while. It is then retried soon after the provider
    /// opens, however long its delay is.
    pub waits_for_provider: bool,
    /// Partition with its own concurrency limit, so that a slow dependency does not delay other jobs.
    pub partition: Option<u128>,
}
