//! Reconciliation of transfers. A transaction may move our money more than once. Each transfer is therefore found by
//! its name, by its signature, or among all transfers of its transaction.

use super::internal_entries::{self, InternalEntry};
use super::{CounterpartyEntry, ReadFuture, Reconciler, RecordedTransfers, entry_kind_of, error_text, listed_movement};
use crate::entity::discrepancy::DiscrepancyDetails;
use crate::id::{Network, TransferName};
use crate::port::{ChainMovement, Finality, OutgoingTransfer};
use crate::reconciliation::{DiscrepancyKind, EntryKind, EntryStatus, ReconciliationSource};

impl Reconciler {
    /// Compares both sides of a transfer's discrepancy again.
    pub(super) async fn recheck_transfer(
        &mut self,
        network: Network,
        open: &DiscrepancyDetails,
    ) -> ReadFuture<Option<DiscrepancyDetails>> {
        let named = (open.source, open.entry_kind, open.key.as_str());
        // Our entry is looked up by its own identity, whatever else its transaction moved.
        if let Some(ours) = self.internal_entry_behind(open).await? {
            let theirs = self.counterparty_entry(&ours).await?;
            let differs = self.classify(named, Some(&ours), theirs.listed().as_ref());
            return Ok(match &theirs {
                CounterpartyEntry::ChainMovement(moved) => self.unless_pending_finality(network, moved, differs).await,
                _ => differs,
            });
        }
        let name = TransferName::parse(&open.key).ok_or("it has no name that can be asked for")?;
        let mut moved = self.in_transaction(network, &name.transaction).await?.into_iter();
        let one = moved.find(|moved| moved.index == name.index.unwrap_or(0) && entry_kind_of(moved) == open.entry_kind);
        let ours = match &one {
            Some(moved) => self.internal_entry(network, moved).await?,
            None => None,
        };
        let theirs = one.as_ref().map(listed_movement);
        let differs = self.classify(named, ours.as_ref(), theirs.as_ref());
        Ok(match &one {
            Some(moved) => self.unless_pending_finality(network, moved, differs).await,
            None => differs,
        })
    }

    /// Drops a discrepancy of a transfer that is not final, because our ledger waits for finality. A missing credit or
    /// an unrecorded sending is then no discrepancy. An untracked transfer that leaves is one at once.
    pub(super) async fn unless_pending_finality(
        &mut self,
        network: Network,
        moved: &ChainMovement,
        differs: Option<DiscrepancyDetails>,
    ) -> Option<DiscrepancyDetails> {
        let found = differs?;
        let waits = match found.kind {
            DiscrepancyKind::UnmatchedDeposit => true,
            DiscrepancyKind::UnmatchedTransfer => found.subject.is_some(),
            _ => false,
        };
        let treasury = self.deps.lists.treasury.clone().filter(|_| waits);
        let Some(treasury) = treasury else { return Some(found) };
        let asked = treasury.movement_finality(network, moved);
        match self
            .with_timeout(ReconciliationSource::for_network(network), asked)
            .await
        {
            Ok(Finality::Confirmed) => None,
            Ok(Finality::Final) | Err(_) => Some(found),
        }
    }

    /// Our entry for a transfer.
    pub(super) async fn internal_entry(
        &mut self,
        network: Network,
        moved: &ChainMovement,
    ) -> ReadFuture<Option<InternalEntry>> {
        if moved.incoming {
            let paid = internal_entries::deposit_entry(&*self.store, network, moved, &self.secret);
            return paid.await.map_err(error_text);
        }
        self.outgoing_transfer(network, moved).await
    }

    /// Purpose of an outgoing transfer. Our row may name only its transaction, so all outgoing transfers of that are
    /// read.
    async fn outgoing_transfer(
        &mut self,
        network: Network,
        moved: &ChainMovement,
    ) -> ReadFuture<Option<InternalEntry>> {
        let all = self.in_transaction(network, &moved.transaction).await?;
        let mut left: Vec<OutgoingTransfer> = all.iter().filter_map(OutgoingTransfer::from_movement).collect();
        // Listed before and missing now: a reorg has just removed it.
        if left.iter().all(|one| one.index != moved.index) {
            left.extend(OutgoingTransfer::from_movement(moved));
        }
        if let Some(known) = &self.known
            && let Some(ours) = internal_entries::outgoing_transfer(network, (&left, moved.index), known)
            && ours.listed.status == EntryStatus::Completed
        {
            return Ok(Some(ours));
        }
        Ok(internal_entries::outgoing_transfer(
            network,
            (&left, moved.index),
            self.recorded_transfers().await?,
        ))
    }

    /// The external entry for an internal one.
    pub(super) async fn counterparty_entry(&mut self, ours: &InternalEntry) -> ReadFuture<CounterpartyEntry> {
        let Some(network) = ours.source.network() else {
            return self.provider_entry(ours.source, &ours.key).await;
        };
        let transaction = TransferName::transaction_of(&ours.key).to_owned();
        let all = self.in_transaction(network, &transaction).await?;
        let moved = match ours.entry_kind {
            EntryKind::OutgoingTransfer => self.movement_for(all, ours).await?,
            _ => internal_entries::paying_movement(all, ours),
        };
        // A reorg deeper than finality may have moved it to another transaction.
        let moved = match moved {
            None => self.movement_by_authorization(network, ours).await?,
            moved => moved,
        };
        Ok(moved.map_or(CounterpartyEntry::Nothing, |moved| {
            CounterpartyEntry::ChainMovement(Box::new(moved))
        }))
    }

    /// The transfer in a transaction that belongs to one of our entries.
    async fn movement_for(
        &mut self,
        all: Vec<ChainMovement>,
        ours: &InternalEntry,
    ) -> ReadFuture<Option<ChainMovement>> {
        let left: Vec<OutgoingTransfer> = all.iter().filter_map(OutgoingTransfer::from_movement).collect();
        let of = |known: &RecordedTransfers| internal_entries::outgoing_index(&left, &ours.subject, known);
        let index = match self.known.as_ref().and_then(of) {
            None if !left.is_empty() => of(self.recorded_transfers().await?),
            index => index,
        };
        let mut out = all.into_iter().filter(|moved| !moved.incoming);
        Ok(out.find(|moved| Some(moved.index) == index))
    }

    /// The transfer that used the payment authorization of one of our entries.
    async fn movement_by_authorization(
        &mut self,
        network: Network,
        ours: &InternalEntry,
    ) -> ReadFuture<Option<ChainMovement>> {
        let (Some(treasury), Some(fingerprint)) = (self.deps.lists.treasury.clone(), &ours.fingerprint) else {
            return Ok(None);
        };
        let asked = treasury.find_by_authorization(network, ours.payer.as_ref(), fingerprint);
        let found = self
            .with_timeout(ReconciliationSource::for_network(network), asked)
            .await?;
        Ok(found.filter(|moved| entry_kind_of(moved) == ours.entry_kind))
    }

    /// All transfers of a transaction to or from our treasury.
    async fn in_transaction(&mut self, network: Network, transaction: &str) -> ReadFuture<Vec<ChainMovement>> {
        let Some(treasury) = self.deps.lists.treasury.clone() else {
            return Ok(Vec::new());
        };
        let moved = treasury.in_transaction(network, transaction);
        self.with_timeout(ReconciliationSource::for_network(network), moved)
            .await
    }
}
