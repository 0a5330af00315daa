//! Partition queues: jobs of one partition have a limit on concurrent attempts and wait in order behind it. They take
//! no permit that jobs of another partition need. The number of waiting jobs in memory is limited too: beyond it, the
//! row waits instead.

use std::collections::{HashMap, VecDeque};

use purser_storage::{Batch, CommitError, Condition, Write, codec};
use ractor::ActorRef;

use super::{OutboxSupervisor, SupervisorMsg};
use crate::kernel::job::OutboxJob;
use crate::kernel::table;

/// Concurrent attempts of one partition.
const MAX_RUNNING: usize = 8;
/// Jobs of one partition that wait in memory.
const MAX_WAITING: usize = 1_000;
/// Jobs of all partitions that wait in memory, beyond which each partition is limited to [`MIN_WAITING_SHARE`].
const MAX_WAITING_TOTAL: usize = 20_000;
const MIN_WAITING_SHARE: usize = 16;
/// How long a row waits instead, in milliseconds; a jitter of up to the same time is added.
const RESCHEDULE_MS: u64 = 30_000;

#[derive(Default)]
struct PartitionQueue {
    running: usize,
    waiting: VecDeque<OutboxJob>,
}

/// Partition queues of one supervisor.
#[derive(Default)]
pub(super) struct PartitionQueues {
    queues: HashMap<u128, PartitionQueue>,
    waiting: usize,
}

/// Whether a due job may run now.
pub(super) enum QueueDecision {
    /// It may run now.
    Run(OutboxJob),
    /// It runs when an earlier one has ended.
    Queued,
    /// The limit of waiting jobs is reached.
    Full(OutboxJob),
}

impl PartitionQueues {
    pub(super) fn admit(&mut self, outbox_job: OutboxJob, partition: Option<u128>) -> QueueDecision {
        let Some(name) = partition else {
            return QueueDecision::Run(outbox_job);
        };
        let lane = self.queues.entry(name).or_default();
        if lane.running < MAX_RUNNING {
            lane.running += 1;
            return QueueDecision::Run(outbox_job);
        }
        let most = match self.waiting < MAX_WAITING_TOTAL {
            true => MAX_WAITING,
            false => MIN_WAITING_SHARE,
        };
        if lane.waiting.len() >= most {
            return QueueDecision::Full(outbox_job);
        }
        lane.waiting.push_back(outbox_job);
        self.waiting += 1;
        QueueDecision::Queued
    }

    /// An attempt of this partition ended; returns the job that may run next.
    pub(super) fn release(&mut self, partition: Option<u128>) -> Option<OutboxJob> {
        let name = partition?;
        let lane = self.queues.get_mut(&name)?;
        if let Some(next) = lane.waiting.pop_front() {
            self.waiting -= 1;
            return Some(next);
        }
        lane.running -= 1;
        if lane.running == 0 {
            self.queues.remove(&name);
        }
        None
    }
}

impl OutboxSupervisor {
    /// Makes a job wait as a row: it is due again like any scheduled job.
    pub(super) fn reschedule(&self, myself: ActorRef<SupervisorMsg>, mut outbox_job: OutboxJob) {
        let jitter = (self.deps.entropy.random() % u128::from(RESCHEDULE_MS)) as u64;
        outbox_job.next_attempt_at = self.deps.clock.now().plus_ms(RESCHEDULE_MS + jitter);
        let batch = Batch {
            conditions: vec![Condition::Present(table::outbox_job(outbox_job.id))],
            writes: vec![
                Write::Delete {
                    key: table::outbox_job(outbox_job.id),
                },
                Write::Put {
                    key: table::timer(outbox_job.next_attempt_at, outbox_job.id),
                    revision: 0,
                    value: codec::encode(&outbox_job),
                },
            ],
            ..Batch::default()
        };
        self.deps.store.commit(
            batch,
            Box::new(move |done| match done {
                // It was completed meanwhile, or the store stops and the next start finds it.
                Ok(_) | Err(CommitError::Condition(_) | CommitError::Stopped) => {}
                Err(_) => drop(myself.cast(SupervisorMsg::Start(outbox_job))),
            }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;
    use crate::kernel::job::AnyJob;
    use crate::port::Timestamp;

    fn outbox_job(id: u128) -> OutboxJob {
        let work = AnyJob {
            kind: 1,
            op: 1,
            subject: Vec::new(),
            payload: Vec::new(),
        };
        OutboxJob::new(JobId(id), work, Timestamp(1))
    }

    fn runs(entry: &QueueDecision) -> bool {
        matches!(entry, QueueDecision::Run(_))
    }

    // Checks: a partition runs a few jobs and queues others in order; another partition is not delayed, and no state of
    // a finished one remains.
    #[test]
    fn partition_queue_is_isolated() {
        let (mut lanes, all) = (PartitionQueues::default(), (MAX_RUNNING + MAX_WAITING) as u128);
        let entries: Vec<QueueDecision> = (0..all).map(|id| lanes.admit(outbox_job(id), Some(1))).collect();
        assert_eq!(entries.iter().filter(|entry| runs(entry)).count(), MAX_RUNNING);
        assert!(matches!(lanes.admit(outbox_job(all), Some(1)), QueueDecision::Full(_)));
        assert!(runs(&lanes.admit(outbox_job(all + 1), Some(2))), "another lane");
        for id in 0..MAX_WAITING as u128 {
            let next = lanes.release(Some(1)).map(|next| next.id);
            assert_eq!(next, Some(JobId(id + MAX_RUNNING as u128)));
        }
        for _ in 0..MAX_RUNNING {
            assert_eq!(lanes.release(Some(1)), None);
        }
        assert_eq!(lanes.release(Some(2)), None);
        assert!(lanes.queues.is_empty() && lanes.waiting == 0);
    }

    // Checks: with any number of partitions, the number of jobs that wait in memory is limited.
    #[test]
    fn pending_jobs_in_memory_are_bounded() {
        let mut lanes = PartitionQueues::default();
        for lane in 0..3_000_u128 {
            for n in 0..100 {
                lanes.admit(outbox_job(lane * 1_000 + n), Some(lane));
            }
        }
        assert!(
            lanes.waiting <= MAX_WAITING_TOTAL + 3_000 * MIN_WAITING_SHARE,
            "{}",
            lanes.waiting
        );
        let last = lanes.queues.get(&2_999).map(|lane| lane.waiting.len());
        assert_eq!(last, Some(MIN_WAITING_SHARE), "every job runs in the end");
    }
}
