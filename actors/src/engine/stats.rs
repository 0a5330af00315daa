//! How the engine stands, in numbers. What must be counted as it happens is counted where it happens; everything else is
//! looked up when somebody asks.

mod supervision;

use std::sync::atomic::{AtomicU64, Ordering};

use purser_storage::{StoreError, codec};

use super::{Engine, Held, LineFigures};
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
    pub resident: usize,
    /// Commands asked and not answered: in a mailbox, being decided, or waiting for the disk.
    pub commands_open: u64,
    /// Actors that died, and loads that failed, since the start.
    pub restarts: u64,
    /// Given up until a restart.
    pub quarantined: u64,
}

/// One kind of work.
#[derive(Clone, Debug, Default)]
pub struct JobStats {
    /// What its deliveries counted.
    pub tried: AttemptCounts,
    /// Neither running nor stuck: due later, or without a place yet.
    pub waiting: u64,
    /// Tried often enough: an operator's.
    pub stuck: u64,
    /// Of those that wait or run: they fail, and are older than the settings allow.
    pub late: u64,
    /// Age of the oldest that is not stuck, in milliseconds; 0 without one.
    pub oldest_ms: u64,
    /// The same of the stuck ones.
    pub oldest_stuck_ms: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct EngineStats {
    /// By kind of entity.
    pub kinds: Vec<EntityStats>,
    /// In the order of [`Work::NAMES`].
    pub works: [JobStats; Job::NAMES.len()],
    /// Payments whose outcome is not known.
    pub unknown_payments: u64,
    /// How long the oldest of them has been unknown, in milliseconds; 0 without one.
    pub oldest_unknown_ms: u64,
    /// Work that waits at the gate before money leaves, in the order of [`Held::ALL`].
    pub held: [u64; Held::ALL.len()],
    /// Places in the engine that are taken.
    pub permits_used: usize,
    /// Places in the engine.
    pub permits_max: usize,
    /// Payers with a paid call in flight.
    pub payers: usize,
    /// Paid calls that found no room, in the order of [`Lack::ALL`].
    pub refused: [u64; OverloadReason::ALL.len()],
    /// How each line of products stands.
    pub lines: Vec<LineFigures>,
}

impl Engine {
    /// The figures now. Reads every open effect, and every payment that the chain is watched for.
    ///
    /// # Errors
    /// When storage fails or holds what is no effect.
    pub async fn stats(&self) -> Result<EngineStats, StoreError> {
        let inner = &self.0;
        let mut figures = EngineStats {
            kinds: inner.families.entity_stats(),
            works: inner.tries.read().map(|tried| JobStats {
                tried,
                ..JobStats::default()
            }),
            unknown_payments: 0,
            oldest_unknown_ms: 0,
            held: [0; Held::ALL.len()],
            permits_used: inner
                .settings
                .in_flight_max
                .saturating_sub(inner.permits.available_permits()),
            permits_max: inner.settings.in_flight_max,
            payers: inner.payers.len(),
            refused: std::array::from_fn(|n| inner.refused.0[n].load(Ordering::Relaxed)),
            lines: ProductLine::ALL.map(|line| self.line_figures(line)).into(),
        };
        let mut after = None;
        loop {
            const PAGE: usize = 1_000;
            let page = inner.store.scan(&[table::OUTBOX], after.as_deref(), PAGE).await?;
            for (_, row) in &page {
                let effect: OutboxJob = codec::decode(&row.value).map_err(|e| StoreError::Damaged(e.to_string()))?;
                self.count(&effect, &mut figures).await?;
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        for work in &mut figures.works {
            work.waiting = work.waiting.saturating_sub(work.tried.running);
        }
        Ok(figures)
    }

    async fn count(&self, effect: &OutboxJob, figures: &mut EngineStats) -> Result<(), StoreError> {
        let now = self.0.clock.now().0;
        let age = now.saturating_sub(effect.created_at.0);
        let work = &mut figures.works[effect.job.index()];
        if effect.dead_lettered {
            work.stuck += 1;
            work.oldest_stuck_ms = work.oldest_stuck_ms.max(age);
        } else {
            // Those that run are taken off at the end.
            work.waiting += 1;
            work.oldest_ms = work.oldest_ms.max(age);
            work.late += u64::from(self.late(effect.clone()).is_some());
        }
        if let Some(held) = self.held(&effect.job).await? {
            figures.held[held as usize] += 1;
        }
        let Job::WatchPayment(id) = effect.job else {
            return Ok(());
        };
        let read = self.0.families.payments.read(&id).await;
        let read = read.map_err(|e| StoreError::Damaged(e.to_string()))?;
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
    pub(super) fn of<E: Entity>(family: &EntityRegistry<E>) -> Self {
        Self {
            kind: E::KIND.name(),
            resident: family.active_count(),
            commands_open: family.commands_in_flight(),
            restarts: family.restarts(),
            quarantined: family.quarantined().len() as u64,
        }
    }
}
