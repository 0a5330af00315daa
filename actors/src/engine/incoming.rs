//! Follows incoming transfers of our treasury. One actor reads the chains' lists from a durable cursor, under its
//! supervisor. A transfer missing from the ledger becomes an [`Incoming`] before the cursor advances, so that a crash
//! in between finds it again. Known transfers are skipped.

mod decision;
mod presented;
mod watcher;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use purser_storage::{Store, StoreError, codec};
use ractor::ActorId;

use super::operators::corrupt;
use super::{ClaimError, Engine, ListPosition};
use crate::entity::account::UnclaimedCapUsage;
use crate::entity::incoming::{Incoming, Transfer};
use crate::entity::payment::{Payment, Status};
use crate::id::{DepositId, Network, PaymentId};
use crate::kernel::table;
use crate::port::Timestamp;
use crate::product::ProductLine;

pub use decision::{IncomingDecision, IncomingDecisionError};
pub(super) use watcher::spawn;

/// The time of which a restore lost the history, by the chains' clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostHistory {
    /// When the backup was made.
    pub since: Timestamp,
    /// When it was restored.
    pub restored: Timestamp,
    /// No payment or signature of the lost history can settle after this.
    pub until: Timestamp,
}

impl LostHistory {
    /// Whether a transfer at this time may be of the lost history.
    pub fn contains(&self, at: Timestamp) -> bool {
        (self.since..=self.until).contains(&at)
    }
}

/// State of incoming transfers besides their rows.
#[derive(Debug, Default)]
pub(super) struct IncomingTracker {
    /// Whether any transfer was ever recorded without its payment. Only then a settlement must check for its own
    /// transfer.
    has_taken_in: AtomicBool,
    /// Whether usage was ever counted for a payment that was not presented. Only then a claim must check for its own.
    has_counted: AtomicBool,
    restarts: AtomicU64,
    supervisor: OnceLock<ActorId>,
}

impl IncomingTracker {
    pub(super) async fn load(store: &dyn Store) -> Result<Arc<Self>, StoreError> {
        let any = async |rows: u8| store.scan(&[rows], None, 1).await.map(|rows| !rows.is_empty());
        Ok(Arc::new(Self {
            has_taken_in: AtomicBool::new(any(table::TAKEN_IN_PAYMENT).await?),
            has_counted: AtomicBool::new(any(table::UNCLAIMED_CAP_USAGE).await?),
            restarts: AtomicU64::new(0),
            supervisor: OnceLock::new(),
        }))
    }

    /// The supervisor, once it is started.
    pub(super) fn supervisor(&self) -> Option<ActorId> {
        self.supervisor.get().copied()
    }

    pub(super) fn has_taken_in(&self) -> bool {
        self.has_taken_in.load(Ordering::Acquire)
    }

    /// Usage counted for a payment before it was presented here.
    ///
    /// # Errors
    /// When storage fails.
    pub(super) async fn unclaimed_usage_of(
        &self,
        payment: PaymentId,
        store: &dyn Store,
    ) -> Result<Option<UnclaimedCapUsage>, StoreError> {
        if !self.has_counted.load(Ordering::Acquire) {
            return Ok(None);
        }
        let row = store.read(&table::unclaimed_cap_usage(payment)).await?;
        row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()
    }

    /// Called before the first usage is counted.
    pub(super) fn mark_counted(&self) {
        self.has_counted.store(true, Ordering::Release);
    }

    /// Called before the first transfer is recorded. From now on a settlement checks: it is rejected by the row or
    /// finds it.
    pub(super) fn mark_taken_in(&self) {
        self.has_taken_in.store(true, Ordering::Release);
    }
}

/// Relation of a payment to a transfer that may have settled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettlementMatch {
    /// Settled by this transfer; the ledger has it.
    Settled,
    /// May still settle by it, or be released.
    MaySettle,
    /// Never sent, proved never to settle, or settled by another transfer.
    Unrelated,
}

/// Whether a settlement and an incoming transfer are the same: see [`SettlementMatch`].
pub(super) fn match_settlement(payment: &Payment, transfer: &Transfer) -> SettlementMatch {
    // On Solana a fingerprint covers the whole transaction, of which the payment is one transfer.
    let its_own = transfer.network == Network::Base || transfer.index == 0;
    if !its_own || payment.price() != transfer.amount {
        return SettlementMatch::Unrelated;
    }
    match payment.status {
        Status::Released | Status::DeclinedUnsent(_) | Status::Refused(_) => SettlementMatch::Unrelated,
        Status::Claimed | Status::Settling(_) | Status::Unknown(_) | Status::Declined(..) => SettlementMatch::MaySettle,
        Status::Settled { .. }
        | Status::Fulfilled { .. }
        | Status::Credited { .. }
        | Status::Reversed { .. }
        | Status::Resolved { .. } => SettlementMatch::Settled,
    }
}

impl Engine {
    /// Product lines that a payment may have bought in a lost history, if they were counted before it was presented
    /// here.
    pub(super) async fn unclaimed_lines_of(&self, id: PaymentId) -> Result<Option<Vec<ProductLine>>, ClaimError> {
        let counted = self.0.incoming.unclaimed_usage_of(id, &*self.0.store).await;
        let counted = counted.map_err(|_| ClaimError::Unavailable)?;
        Ok(counted.map(|counted| counted.lines))
    }

    /// An incoming transfer without a payment.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn incoming_transfer(&self, id: &DepositId) -> Result<Option<Incoming>, StoreError> {
        let read = self.0.registries.incoming.read(id).await.map_err(corrupt)?;
        Ok(read.map(|(incoming, _)| incoming))
    }

    /// Undecided transfers, oldest first, after a position, at most `limit`; each with its own position. Corrupt rows
    /// are skipped.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn incoming_transfers(
        &self,
        after: Option<ListPosition>,
        limit: usize,
    ) -> Result<Vec<(ListPosition, Incoming)>, StoreError> {
        let mut after = after.map(|(at, id)| table::incoming(at, DepositId(id)));
        let mut found = Vec::with_capacity(limit);
        // A page is not the last one because corrupt rows are missing from it.
        while found.len() < limit {
            let rows = self
                .0
                .store
                .scan(&[table::INCOMING], after.as_deref(), limit - found.len());
            let rows = rows.await?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(last.clone());
            for (at, id) in rows.iter().filter_map(|(key, _)| table::created_and_id(key)) {
                let read = self.0.registries.incoming.read_or_skip_corrupt(&DepositId(id)).await?;
                // Decided since the rows were read.
                let open = read.filter(|(incoming, _)| incoming.is_open());
                found.extend(open.map(|(incoming, _)| ((at, id), incoming)));
            }
        }
        Ok(found)
    }

    /// Number of transfers that are being classified, and of those that wait for an operator.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn incoming_counts(&self) -> Result<[u64; 2], StoreError> {
        const PAGE: usize = 1_000;
        let mut counts = [0; 2];
        let mut after: Option<Box<[u8]>> = None;
        loop {
            let page = self.0.store.scan(&[table::INCOMING], after.as_deref(), PAGE).await?;
            for (_, row) in &page {
                if let Some(count) = row.value.first().and_then(|state| counts.get_mut(usize::from(*state))) {
                    *count += 1;
                }
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => return Ok(counts),
            }
        }
    }

    /// Chain followers that failed and were replaced since the start.
    pub fn incoming_restarts(&self) -> u64 {
        self.0.incoming.restarts.load(Ordering::Relaxed)
    }
}

/// META key of a chain's cursor.
fn cursor_key(network: Network) -> purser_storage::RowKey {
    table::meta(match network {
        Network::Base => "incoming-base",
        Network::Solana => "incoming-solana",
    })
}

/// Position up to which a chain's list is processed.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct IncomingCursor(crate::port::ListCursor);

impl codec::Stored for IncomingCursor {
    const SCHEMA: u16 = 342;
}
