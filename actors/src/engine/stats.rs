//! How the engine stands, in numbers. What must be counted as it happens is counted where it happens; everything else is
//! looked up when somebody asks.

mod supervision;

use std::sync::atomic::{AtomicU64, Ordering};

use purser_storage::{StoreError, codec};

use super::{Engine, GateHold, LineStatus};
use crate::kernel::job::Job;
use crate::kernel::outbox::AttemptCounts;
use crate::kernel::{Entity, EntityRegistry, OutboxJob, table};
use crate::payment::Status;
use crate::product::ProductLine;

pub use self::supervision::{EntitySupervisorInfo, ScheduledJobs, Supervises, SupervisionTree, SupervisorInfo};

/// Why a paid call found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverloadReason {
    /// Every place in the engine is taken.
    Capacity,
    /// The payer has its share.
    PayerLimit,
    /// The snapshots are too far behind the journal.
    JournalLag,
    /// A supervisor died.
    Unhealthy,
}

impl OverloadReason {
    /// All, in the order of [`Figures::refused`].
    pub const ALL: [Self; 4] = [Self::Capacity, Self::PayerLimit, Self::JournalLag, Self::Unhealthy];

    /// In metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capacity => "room",
            Self::PayerLimit => "payer_share",
            Self::JournalLag => "journal_lag",
            Self::Unhealthy => "unsound",
        }
    }
}

/// Paid calls that found no room, by reason.
#[derive(Debug, Default)]
pub(super) struct OverloadCounters([AtomicU64; OverloadReason::ALL.len()]);

impl OverloadCounters {
    pub(super) fn record(&self, lack: OverloadReason) {
        self.0[lack as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// One kind of entity.
#[derive(Clone, Debug)]
pub struct EntityStats {
    /// Its name.
    pub kind: &'static str,
    /// In memory now, those being loaded included.
    pub active: usize,
    /// Commands asked and not answered: in a mailbox, being decided, or waiting for the disk.
    pub commands_in_flight: u64,
    /// Actors that died, and loads that failed, since the start.
    pub restarts: u64,
    /// Given up until a restart.
    pub quarantined: u64,
}

/// One kind of work.
#[derive(Clone, Debug, Default)]
pub struct JobStats {
    /// What its deliveries counted.
    pub attempts: AttemptCounts,
    /// Neither running nor stuck: due later, or without a place yet.
    pub scheduled: u64,
    /// Tried often enough: an operator's.
    pub dead_lettered: u64,
    /// Of those that wait or run: they fail, and are older than the settings allow.
    pub late: u64,
    /// Age of the oldest that is not stuck, in milliseconds; 0 without one.
    pub oldest_age_ms: u64,
    /// The same of the stuck ones.
    pub oldest_dead_letter_age_ms: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct EngineStats {
    /// By kind of entity.
    pub kinds: Vec<EntityStats>,
    /// In the order of [`Work::NAMES`].
    pub jobs: [JobStats; Job::NAMES.len()],
    /// Payments whose outcome is not known.
    pub unknown_payments: u64,
    /// How long the oldest of them has been unknown, in milliseconds; 0 without one.
    pub oldest_unknown_ms: u64,
    /// Work that waits at the gate before money leaves, in the order of [`Held::ALL`].
    pub gate_holds: [u64; GateHold::ALL.len()],
    /// Places in the engine that are taken.
    pub in_flight: usize,
    /// Places in the engine.
    pub max_in_flight: usize,
    /// Payers with a paid call in flight.
    pub payers: usize,
    /// Paid calls that found no room, in the order of [`Lack::ALL`].
    pub rejected: [u64; OverloadReason::ALL.len()],
    /// How each line of products stands.
    pub lines: Vec<LineStatus>,
}

impl Engine {
    /// The figures now. Reads every open effect, and every payment that the chain is watched for.
    ///
    /// # Errors
    /// When storage fails or holds what is no effect.
    pub async fn stats(&self) -> Result<EngineStats, StoreError> {
        let inner = &self.0;
        let mut figures = EngineStats {
            kinds: inner.registries.entity_stats(),
            jobs: inner.attempts.read().map(|tried| JobStats {
                attempts: tried,
                ..JobStats::default()
            }),
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
                let effect: OutboxJob = codec::decode(&row.value).map_err(|e| StoreError::Corrupt(e.to_string()))?;
                self.count(&effect, &mut figures).await?;
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

    async fn count(&self, effect: &OutboxJob, figures: &mut EngineStats) -> Result<(), StoreError> {
        let now = self.0.clock.now().0;
        let age = now.saturating_sub(effect.created_at.0);
        let work = &mut figures.jobs[effect.job.index()];
        if effect.dead_lettered {
            work.dead_lettered += 1;
            work.oldest_dead_letter_age_ms = work.oldest_dead_letter_age_ms.max(age);
        } else {
            // Those that run are taken off at the end.
            work.scheduled += 1;
            work.oldest_age_ms = work.oldest_age_ms.max(age);
            work.late += u64::from(self.late_job(effect.clone()).is_some());
        }
        if let Some(held) = self.gate_hold(&effect.job).await? {
            figures.gate_holds[held as usize] += 1;
        }
        let Job::WatchPayment(id) = effect.job else {
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
    pub(super) fn from_registry<E: Entity>(family: &EntityRegistry<E>) -> Self {
        Self {
            kind: E::KIND.name(),
            active: family.active_count(),
            commands_in_flight: family.commands_in_flight(),
            restarts: family.restarts(),
            quarantined: family.quarantined().len() as u64,
        }
    }
}
