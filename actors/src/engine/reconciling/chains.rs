//! Transfers: a transaction may move our money more than once, so each is found by its name, by what was signed as it, or among all
//! that its transaction moved.

use super::books::{self, Ours};
use super::{Known, Reading, Reconciler, Theirs, flow_of, listed_movement, told};
use crate::difference::Found;
use crate::id::Network;
use crate::port::{Departure, Finality, Movement, TransferName};
use crate::reconcile::{Discrepancy, Flow, Source, Standing};

impl Reconciler {
    /// Holds what once differed of a transfer against both sides again.
    pub(super) async fn look_again_on(&mut self, network: Network, open: &Found) -> Reading<Option<Found>> {
        let named = (open.source, open.flow, open.key.as_str());
        // What we count on is looked for as what it is, whatever else its transaction moved.
        if let Some(ours) = self.behind(open).await? {
            let theirs = self.theirs(&ours).await?;
            let differs = self.judge(named, Some(&ours), theirs.listed().as_ref());
            return Ok(match &theirs {
                Theirs::Moved(moved) => self.once_final(network, moved, differs).await,
                _ => differs,
            });
        }
        let name = TransferName::parse(&open.key).ok_or("it has no name that can be asked for")?;
        let mut moved = self.in_transaction(network, &name.transaction).await?.into_iter();
        let one = moved.find(|moved| moved.index == name.index.unwrap_or(0) && flow_of(moved) == open.flow);
        let ours = match &one {
            Some(moved) => self.ours_of(network, moved).await?,
            None => None,
        };
        let theirs = one.as_ref().map(listed_movement);
        let differs = self.judge(named, ours.as_ref(), theirs.as_ref());
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
        moved: &Movement,
        differs: Option<Found>,
    ) -> Option<Found> {
        let found = differs?;
        let waits = match found.kind {
            Discrepancy::ChainDepositWithoutCredit => true,
            Discrepancy::TransferUnexplained => found.subject.is_some(),
            _ => false,
        };
        let treasury = self.reconciling.lists.treasury.clone().filter(|_| waits);
        let Some(treasury) = treasury else { return Some(found) };
        let asked = treasury.movement_finality(network, moved);
        match self.within(Source::of(network), asked).await {
            Ok(Finality::Seen) => None,
            Ok(Finality::Final) | Err(_) => Some(found),
        }
    }

    /// What our books say of a transfer.
    pub(super) async fn ours_of(&mut self, network: Network, moved: &Movement) -> Reading<Option<Ours>> {
        if moved.incoming {
            let paid = books::deposited(&*self.store, network, moved, &self.secret);
            return paid.await.map_err(told);
        }
        self.departed(network, moved).await
    }

    /// What a transfer out of the treasury was for. A row of ours may name its transaction alone, so all that left in that is looked at.
    async fn departed(&mut self, network: Network, moved: &Movement) -> Reading<Option<Ours>> {
        let all = self.in_transaction(network, &moved.transaction).await?;
        let mut left: Vec<Departure> = all.iter().filter_map(Departure::of).collect();
        // One that is listed and not there has just been taken back.
        if left.iter().all(|one| one.index != moved.index) {
            left.extend(Departure::of(moved));
        }
        if let Some(known) = &self.known
            && let Some(ours) = books::departed(network, (&left, moved.index), known)
            && ours.listed.standing == Standing::Done
        {
            return Ok(Some(ours));
        }
        Ok(books::departed(network, (&left, moved.index), self.fresh().await?))
    }

    /// What the other side has of something in our books.
    pub(super) async fn theirs(&mut self, ours: &Ours) -> Reading<Theirs> {
        let Some(network) = ours.source.network() else {
            return self.entered(ours.source, &ours.key).await;
        };
        let transaction = TransferName::transaction_of(&ours.key).to_owned();
        let all = self.in_transaction(network, &transaction).await?;
        let moved = match ours.flow {
            Flow::Departure => self.moved_for(all, ours).await?,
            _ => books::paid_by(all, ours),
        };
        // A reorganisation beyond what was final may have brought it back in another transaction.
        let moved = match moved {
            None => self.authorized(network, ours).await?,
            moved => moved,
        };
        Ok(moved.map_or(Theirs::Nothing, |moved| Theirs::Moved(Box::new(moved))))
    }

    /// The transfer of a transaction by which something of ours left.
    async fn moved_for(&mut self, all: Vec<Movement>, ours: &Ours) -> Reading<Option<Movement>> {
        let left: Vec<Departure> = all.iter().filter_map(Departure::of).collect();
        let of = |known: &Known| books::left_for(&left, &ours.subject, known);
        let index = match self.known.as_ref().and_then(of) {
            None if !left.is_empty() => of(self.fresh().await?),
            index => index,
        };
        let mut out = all.into_iter().filter(|moved| !moved.incoming);
        Ok(out.find(|moved| Some(moved.index) == index))
    }

    /// The transfer that used what was signed for something of ours.
    async fn authorized(&mut self, network: Network, ours: &Ours) -> Reading<Option<Movement>> {
        let (Some(treasury), Some(mark)) = (self.reconciling.lists.treasury.clone(), &ours.mark) else {
            return Ok(None);
        };
        let asked = treasury.authorized(network, ours.payer.as_ref(), mark);
        let found = self.within(Source::of(network), asked).await?;
        Ok(found.filter(|moved| flow_of(moved) == ours.flow))
    }

    /// Everything that a transaction moved to or from our treasury.
    async fn in_transaction(&mut self, network: Network, transaction: &str) -> Reading<Vec<Movement>> {
        let Some(treasury) = self.reconciling.lists.treasury.clone() else {
            return Ok(Vec::new());
        };
        let moved = treasury.in_transaction(network, transaction);
        self.within(Source::of(network), moved).await
    }
}
