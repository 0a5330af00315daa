//! Engine statistics. Counters are kept where the counted event happens; everything else is read on request.

mod supervision;

use std::sync::atomic::{AtomicU64, Ordering};

use purser_storage::stats::HistogramSnapshot;
use purser_storage::{StoreError, codec};

use super::job_resolution::watched_payment;
use super::{Engine, GateHold, LineStatus};
use crate::entity::payment::Status;
use crate::kernel::outbox::AttemptCounts;
use crate::kernel::{Entity, EntityRegistry, OutboxJob, table};
use crate::product::ProductLine;

pub use self::supervision::{EntitySupervisorInfo, ScheduledJobs, Supervises, SupervisionTree, SupervisorInfo};

/// Why a paid call was rejected for lack of capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverloadReason {
    /// Every permit of the engine is in use.
    Capacity,
    /// The payer has reached its limit of permits.
    PayerLimit,
    /// The snapshots are too far behind the journal.
    JournalLag,
    /// A supervisor died.
    Unhealthy,
}

impl OverloadReason {
    /// Every reason, in the order of [`EngineStats::rejected`].
    pub const ALL: [Self; 4] = [Self::Capacity, Self::PayerLimit, Self::JournalLag, Self::Unhealthy];

    /// Label value in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::PayerLimit => "payer_limit",
            Self::JournalLag => "journal_lag",
            Self::Unhealthy => "unhealthy",
        }
    }
}

/// Paid calls rejected for lack of capacity, by reason.
#[derive(Debug, Default)]
pub(super) struct OverloadCounters([AtomicU64; OverloadReason::ALL.len()]);

impl OverloadCounters {
    pub(super) fn record(&self, lack: OverloadReason) {
        self.0[lack as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// Statistics of one entity kind.
#[derive(Clone, Debug)]
pub struct EntityStats {
    /// Name of the kind.
    pub kind: &'static str,
    /// Entities in memory, including those being loaded.
    pub active: usize,
    /// Commands without a reply: queued in a mailbox, being decided, or waiting for the disk.
    pub commands_in_flight: u64,
    /// Actors that crashed and loads that failed, since the start.
    pub restarts: u64,
    /// Entities quarantined until a restart.
    pub quarantined: u64,
}

/// Statistics of one job type.
#[derive(Clone, Debug, Default)]
pub struct JobStats {
    /// Attempts by result.
    pub attempts: AttemptCounts,
    /// Jobs that are due later or wait for a permit.
    pub scheduled: u64,
    /// Jobs that exhausted their attempts and wait for an operator.
    pub dead_lettered: u64,
    /// Scheduled or running jobs that fail and are older than the settings allow.
    pub late: u64,
    /// Age of the oldest job that is not dead-lettered, in milliseconds; 0 without one.
    pub oldest_age_ms: u64,
    /// Age of the oldest dead-lettered job, in milliseconds; 0 without one.
    pub oldest_dead_letter_age_ms: u64,
}

/// Statistics of the engine.
#[derive(Clone, Debug)]
pub struct EngineStats {
    /// By entity kind.
    pub kinds: Vec<EntityStats>,
    /// In the order of [`JOB_NAMES`](super::JOB_NAMES).
    pub jobs: Vec<JobStats>,
    /// Payments with an unknown outcome.
    pub unknown_payments: u64,
    /// Time for which the oldest of them has been unknown, in milliseconds; 0 without one.
    pub oldest_unknown_ms: u64,
    /// Jobs that wait at the gate before money leaves, in the order of [`GateHold::ALL`].
    pub gate_holds: [u64; GateHold::ALL.len()],
    /// Permits in use.
    pub in_flight: usize,
    /// Permits in total.
    pub max_in_flight: usize,
    /// Payers with a paid call in flight.
    pub payers: usize,
    /// Paid calls rejected for lack of capacity, in the order of [`OverloadReason::ALL`].
    pub rejected: [u64; OverloadReason::ALL.len()],
    /// Status of each product line.
    pub lines: Vec<LineStatus>,
}

impl Engine {
    /// Attempts of each job type and their durations in milliseconds since the start, in the order of
    /// [`JOB_NAMES`](super::JOB_NAMES). Reads counters only.
    pub fn attempt_stats(&self) -> (Vec<AttemptCounts>, Vec<HistogramSnapshot>) {
        (self.0.attempts.read(), self.0.attempts.durations_ms())
    }

    /// Current statistics. Reads every open job, and every payment whose chain is watched.
    ///
    /// # Errors
    /// When storage fails or a row is not a valid job.
    pub async fn stats(&self) -> Result<EngineStats, StoreError> {
        let inner = &self.0;
        let attempts = inner.attempts.read().into_iter();
        let mut figures = EngineStats {
            kinds: inner.registries.entity_stats(),
            jobs: attempts
                .map(|attempts| JobStats {
                    attempts,
                    ..JobStats::default()
                })
                .collect(),
            unknown_payments: 0,
            oldest_unknown_ms: 0,
            gate_holds: [0; GateHold::ALL.len()],
            in_flight: inner
                .settings
                .max_in_flight
                .saturating_sub(inner.permits.available_permits()),
            max_in_flight: inner.settings.max_in_flight,
            payers: inner.payers.len(),
            rejected: std::array::from_fn(|n| inner.overloads.0[n].load(Ordering::Relaxed)),
            lines: ProductLine::ALL.map(|line| self.line_status(line)).into(),
        };
        let mut after = None;
        loop {
            const PAGE: usize = 1_000;
            let page = inner.store.scan(&[table::OUTBOX], after.as_deref(), PAGE).await?;
            for (_, row) in &page {
                let outbox_job: OutboxJob =
                    codec::decode(&row.value).map_err(|e| StoreError::Corrupt(e.to_string()))?;
                self.count(&outbox_job, &mut figures).await?;
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        for work in &mut figures.jobs {
            work.scheduled = work.scheduled.saturating_sub(work.attempts.running);
        }
        Ok(figures)
    }

    async fn count(&self, outbox_job: &OutboxJob, figures: &mut EngineStats) -> Result<(), StoreError> {
        let now = self.0.clock.now().0;
        let age = now.saturating_sub(outbox_job.created_at.0);
        // A job of an unknown type is counted nowhere, and listed among the dead letters.
        let Some(work) = outbox_job.job.index().and_then(|index| figures.jobs.get_mut(index)) else {
            return Ok(());
        };
        if outbox_job.dead_lettered {
            work.dead_lettered += 1;
            work.oldest_dead_letter_age_ms = work.oldest_dead_letter_age_ms.max(age);
        } else {
            // Running jobs are subtracted at the end.
            work.scheduled += 1;
            work.oldest_age_ms = work.oldest_age_ms.max(age);
            work.late += u64::from(self.late_job(outbox_job.clone()).is_some());
        }
        if let Some(held) = self.gate_hold(&outbox_job.job).await? {
            figures.gate_holds[held as usize] += 1;
        }
        let Some(id) = watched_payment(&outbox_job.job) else {
            return Ok(());
        };
        let read = self.0.registries.payments.read(&id).await;
        let read = read.map_err(|e| StoreError::Corrupt(e.to_string()))?;
        if let Some((payment, _)) = read
            && matches!(payment.status, Status::Unknown(_))
        {
            figures.unknown_payments += 1;
            let since = now.saturating_sub(payment.updated_at.0);
            figures.oldest_unknown_ms = figures.oldest_unknown_ms.max(since);
        }
        Ok(())
    }
}

impl EntityStats {
    pub(super) fn from_registry<E: Entity>(registry: &EntityRegistry<E>) -> Self {
        Self {
            kind: E::KIND.name(),
            active: registry.active_count(),
            commands_in_flight: registry.commands_in_flight(),
            restarts: registry.restarts(),
            quarantined: registry.quarantined().len() as u64,
        }
    }
}
