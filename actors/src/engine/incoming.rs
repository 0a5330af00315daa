//! Transfers to our treasury, watched for as long as the engine lives: one actor that reads the chains' lists behind a durable
//! place, and its supervisor. What no book knows becomes an [`Incoming`] before the place moves on, so that whoever is killed in
//! between finds it again; what is known goes by.

mod decision;
mod presented;
mod watcher;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use purser_storage::{Store, StoreError, codec};
use ractor::ActorId;

use super::operators::corrupt;
use super::{ClaimError, Engine, ListPosition};
use crate::id::{DepositId, Network, PaymentId};
use crate::incoming::{Incoming, Transfer};
use crate::kernel::job::UnclaimedCapUsage;
use crate::kernel::table;
use crate::payment::{Payment, Status};
use crate::port::Timestamp;
use crate::product::ProductLine;

pub use decision::{IncomingDecision, IncomingDecisionError};
pub(super) use watcher::spawn;

/// The time of which a restore has lost the history, by the chains' clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostHistory {
    /// The backup was made.
    pub since: Timestamp,
    /// It was restored.
    pub restored: Timestamp,
    /// Nothing that the lost history was given or had signed can land after this.
    pub until: Timestamp,
}

impl LostHistory {
    /// Whether what landed then may have been the lost history's.
    pub fn contains(&self, at: Timestamp) -> bool {
        (self.since..=self.until).contains(&at)
    }
}

/// What is known of incoming transfers besides their rows.
#[derive(Debug, Default)]
pub(super) struct IncomingTracker {
    /// Whether any transfer was ever taken in without its payment: only then a settlement must look whether its own was.
    has_taken_in: AtomicBool,
    /// Whether anything was ever counted for a payment that nobody presented: only then a claim must look whether it was its own.
    has_counted: AtomicBool,
    restarts: AtomicU64,
    supervisor: OnceLock<ActorId>,
}

impl IncomingTracker {
    /// From what the store has.
    pub(super) async fn load(store: &dyn Store) -> Result<Arc<Self>, StoreError> {
        let any = async |rows: u8| store.scan(&[rows], None, 1).await.map(|rows| !rows.is_empty());
        Ok(Arc::new(Self {
            has_taken_in: AtomicBool::new(any(table::TAKEN_IN_PAYMENT).await?),
            has_counted: AtomicBool::new(any(table::UNCLAIMED_CAP_USAGE).await?),
            restarts: AtomicU64::new(0),
            supervisor: OnceLock::new(),
        }))
    }

    /// The supervisor, once it has begun.
    pub(super) fn supervisor(&self) -> Option<ActorId> {
        self.supervisor.get().copied()
    }

    pub(super) fn has_taken_in(&self) -> bool {
        self.has_taken_in.load(Ordering::Acquire)
    }

    /// What was counted for a payment before it was presented here.
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

    /// Before the first is.
    pub(super) fn mark_counted(&self) {
        self.has_counted.store(true, Ordering::Release);
    }

    /// Before the first is: a settlement that looks from now on is refused by the row or finds it.
    pub(super) fn mark_taken_in(&self) {
        self.has_taken_in.store(true, Ordering::Release);
    }
}

/// How a payment stands to a transfer that it may have been settled by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettlementMatch {
    /// It has settled by it: the books have it.
    Settled,
    /// It may still, or be released.
    MaySettle,
    /// It was never sent, was proved never to land, or is another transfer's.
    Unrelated,
}

/// See [`Settles`].
pub(super) fn match_settlement(payment: &Payment, transfer: &Transfer) -> SettlementMatch {
    // On Solana a mark is the whole transaction's, of which a payment is one transfer.
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
    /// Of what a payment may have bought in a lost history, where that was counted before it was presented here.
    pub(super) async fn unclaimed_lines_of(&self, id: PaymentId) -> Result<Option<Vec<ProductLine>>, ClaimError> {
        let counted = self.0.incoming.unclaimed_usage_of(id, &*self.0.store).await;
        let counted = counted.map_err(|_| ClaimError::Unavailable)?;
        Ok(counted.map(|counted| counted.lines))
    }

    /// A transfer that no payment claims.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn incoming_transfer(&self, id: &DepositId) -> Result<Option<Incoming>, StoreError> {
        let read = self.0.registries.incoming.read(id).await.map_err(corrupt)?;
        Ok(read.map(|(incoming, _)| incoming))
    }

    /// Transfers that nobody has decided about, the oldest first, behind a place, at most `limit`; each with its own place.
    /// Damaged ones are left out.
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
        // A page that lacks damaged ones is no last page.
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

    /// How many transfers are being looked into, and how many wait for an operator.
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

    /// Watchers of the chains' lists that failed and were replaced since the start.
    pub fn incoming_restarts(&self) -> u64 {
        self.0.incoming.restarts.load(Ordering::Relaxed)
    }
}

/// Where it is kept how far a chain's list is known.
fn cursor_key(network: Network) -> purser_storage::RowKey {
    table::meta(match network {
        Network::Base => "incoming-base",
        Network::Solana => "incoming-solana",
    })
}

/// How far a chain's list is known.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct IncomingCursor(crate::port::ListCursor);

impl codec::Stored for IncomingCursor {
    const SCHEMA: u16 = 342;
}
