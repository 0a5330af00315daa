//! Transfers: a transaction may move our money more than once, so each is found by its name, by what was signed as it, or among all
//! that its transaction moved.

use super::internal_entries::{self, InternalEntry};
use super::{CounterpartyEntry, ReadFuture, Reconciler, RecordedTransfers, flow_of, listed_movement, told};
use crate::discrepancy::DiscrepancyDetails;
use crate::id::Network;
use crate::port::{ChainMovement, Finality, OutgoingTransfer, TransferName};
use crate::reconciliation::{DiscrepancyKind, EntryKind, EntryStatus, ReconciliationSource};

impl Reconciler {
    /// Holds what once differed of a transfer against both sides again.
    pub(super) async fn look_again_on(
        &mut self,
        network: Network,
        open: &DiscrepancyDetails,
    ) -> ReadFuture<Option<DiscrepancyDetails>> {
        let named = (open.source, open.flow, open.key.as_str());
        // What we count on is looked for as what it is, whatever else its transaction moved.
        if let Some(ours) = self.behind(open).await? {
            let theirs = self.counterparty_entry(&ours).await?;
            let differs = self.classify(named, Some(&ours), theirs.listed().as_ref());
            return Ok(match &theirs {
                CounterpartyEntry::ChainMovement(moved) => self.once_final(network, moved, differs).await,
                _ => differs,
            });
        }
        let name = TransferName::parse(&open.key).ok_or("it has no name that can be asked for")?;
        let mut moved = self.in_transaction(network, &name.transaction).await?.into_iter();
        let one = moved.find(|moved| moved.index == name.index.unwrap_or(0) && flow_of(moved) == open.flow);
        let ours = match &one {
            Some(moved) => self.internal_entry(network, moved).await?,
            None => None,
        };
        let theirs = one.as_ref().map(listed_movement);
        let differs = self.classify(named, ours.as_ref(), theirs.as_ref());
        Ok(match &one {
            Some(moved) => self.once_final(network, moved, differs).await,
            None => differs,
        })
    }

    /// Our books wait until a transfer is final: until then it is no difference that nobody was credited with it, or that what was
    /// sent is not known to have left. What is in no book and leaves is one at once.
    pub(super) async fn once_final(
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
        let treasury = self.reconciling.lists.treasury.clone().filter(|_| waits);
        let Some(treasury) = treasury else { return Some(found) };
        let asked = treasury.movement_finality(network, moved);
        match self.with_timeout(ReconciliationSource::of(network), asked).await {
            Ok(Finality::Seen) => None,
            Ok(Finality::Final) | Err(_) => Some(found),
        }
    }

    /// What our books say of a transfer.
    pub(super) async fn internal_entry(
        &mut self,
        network: Network,
        moved: &ChainMovement,
    ) -> ReadFuture<Option<InternalEntry>> {
        if moved.incoming {
            let paid = internal_entries::deposited(&*self.store, network, moved, &self.secret);
            return paid.await.map_err(told);
        }
        self.departed(network, moved).await
    }

    /// What a transfer out of the treasury was for. A row of ours may name its transaction alone, so all that left in that is looked at.
    async fn departed(&mut self, network: Network, moved: &ChainMovement) -> ReadFuture<Option<InternalEntry>> {
        let all = self.in_transaction(network, &moved.transaction).await?;
        let mut left: Vec<OutgoingTransfer> = all.iter().filter_map(OutgoingTransfer::of).collect();
        // One that is listed and not there has just been taken back.
        if left.iter().all(|one| one.index != moved.index) {
            left.extend(OutgoingTransfer::of(moved));
        }
        if let Some(known) = &self.known
            && let Some(ours) = internal_entries::outgoing_transfer(network, (&left, moved.index), known)
            && ours.listed.standing == EntryStatus::Completed
        {
            return Ok(Some(ours));
        }
        Ok(internal_entries::outgoing_transfer(
            network,
            (&left, moved.index),
            self.fresh().await?,
        ))
    }

    /// What the other side has of something in our books.
    pub(super) async fn counterparty_entry(&mut self, ours: &InternalEntry) -> ReadFuture<CounterpartyEntry> {
        let Some(network) = ours.source.network() else {
            return self.entered(ours.source, &ours.key).await;
        };
        let transaction = TransferName::transaction_of(&ours.key).to_owned();
        let all = self.in_transaction(network, &transaction).await?;
        let moved = match ours.flow {
            EntryKind::OutgoingTransfer => self.moved_for(all, ours).await?,
            _ => internal_entries::paid_by(all, ours),
        };
        // A reorganisation beyond what was final may have brought it back in another transaction.
        let moved = match moved {
            None => self.authorized(network, ours).await?,
            moved => moved,
        };
        Ok(moved.map_or(CounterpartyEntry::Nothing, |moved| {
            CounterpartyEntry::ChainMovement(Box::new(moved))
        }))
    }

    /// The transfer of a transaction by which something of ours left.
    async fn moved_for(&mut self, all: Vec<ChainMovement>, ours: &InternalEntry) -> ReadFuture<Option<ChainMovement>> {
        let left: Vec<OutgoingTransfer> = all.iter().filter_map(OutgoingTransfer::of).collect();
        let of = |known: &RecordedTransfers| internal_entries::left_for(&left, &ours.subject, known);
        let index = match self.known.as_ref().and_then(of) {
            None if !left.is_empty() => of(self.fresh().await?),
            index => index,
        };
        let mut out = all.into_iter().filter(|moved| !moved.incoming);
        Ok(out.find(|moved| Some(moved.index) == index))
    }

    /// The transfer that used what was signed for something of ours.
    async fn authorized(&mut self, network: Network, ours: &InternalEntry) -> ReadFuture<Option<ChainMovement>> {
        let (Some(treasury), Some(mark)) = (self.reconciling.lists.treasury.clone(), &ours.mark) else {
            return Ok(None);
        };
        let asked = treasury.authorized(network, ours.payer.as_ref(), mark);
        let found = self.with_timeout(ReconciliationSource::of(network), asked).await?;
        Ok(found.filter(|moved| flow_of(moved) == ours.flow))
    }

    /// Everything that a transaction moved to or from our treasury.
    async fn in_transaction(&mut self, network: Network, transaction: &str) -> ReadFuture<Vec<ChainMovement>> {
        let Some(treasury) = self.reconciling.lists.treasury.clone() else {
            return Ok(Vec::new());
        };
        let moved = treasury.in_transaction(network, transaction);
        self.with_timeout(ReconciliationSource::of(network), moved).await
    }
}
