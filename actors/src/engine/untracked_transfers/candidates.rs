//! Untracked transfers with what they may have been for.

use purser_storage::StoreError;

use super::top_ups::{PossibleTopUpPayment, candidate_burn};
use super::{PAGE, candidate_withdrawal, for_each};
use crate::engine::Engine;
use crate::engine::operators::corrupt;
use crate::entity::incoming::{self, Incoming};
use crate::entity::top_up::TopUp;
use crate::entity::withdrawal::Withdrawal;
use crate::id::{DepositId, TopUpId, WithdrawalId};
use crate::kernel::{EntityKind, table};
use crate::port::OutgoingTransfer;

/// An untracked transfer, and what it may have been for.
#[derive(Clone, Debug)]
pub struct UntrackedTransfer {
    /// As the chain lists it.
    pub transfer: OutgoingTransfer,
    /// Whether the recipient has an account here.
    pub has_account: bool,
    /// Ids of waiting withdrawals and top-ups whose transfer it may be, and of incoming transfers whose top-up it may
    /// be.
    pub candidates: Vec<String>,
}

impl Engine {
    /// Untracked transfers and what they may have been for.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn untracked_transfers(&self) -> Result<Vec<UntrackedTransfer>, StoreError> {
        let open = self.0.outgoing_guard.untracked.lock().clone();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let mut waiting: Vec<Vec<String>> = vec![Vec::new(); open.len()];
        let store = &*self.0.store;
        for_each(
            store,
            &[table::ENTITY, EntityKind::Withdrawal as u8],
            |id, withdrawal: Withdrawal| {
                for (transfer, names) in open.iter().zip(&mut waiting) {
                    names.extend(candidate_withdrawal(&withdrawal, transfer).then(|| WithdrawalId(id).to_string()));
                }
            },
        )
        .await?;
        for_each(store, &[table::ENTITY, EntityKind::TopUp as u8], |id, top_up: TopUp| {
            for (transfer, names) in open.iter().zip(&mut waiting) {
                names.extend(candidate_burn(&top_up, transfer).then(|| TopUpId(id).to_string()));
            }
        })
        .await?;
        self.for_each_possible_top_up(|id, paid| {
            for (transfer, names) in open.iter().zip(&mut waiting) {
                names.extend(paid.may_match(transfer).then(|| id.to_string()));
            }
        })
        .await?;
        let mut found = Vec::with_capacity(open.len());
        for (transfer, may_be) in open.into_iter().zip(waiting) {
            let account = self.account(&transfer.to).await.map_err(corrupt)?;
            found.push(UntrackedTransfer {
                has_account: account.is_some(),
                transfer,
                candidates: may_be,
            });
        }
        Ok(found)
    }

    /// Calls a function for each incoming transfer that waits for an operator and may have paid for a top-up.
    async fn for_each_possible_top_up(
        &self,
        mut take: impl FnMut(DepositId, &PossibleTopUpPayment),
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.incoming_transfers(after, PAGE).await?;
            for ((_, id), incoming) in &page {
                let paid = self.possible_top_up(incoming).await?;
                if let Some(paid) = paid {
                    take(DepositId(*id), &paid);
                }
            }
            match page.into_iter().last() {
                Some((place, _)) => after = Some(place),
                None => return Ok(()),
            }
        }
    }

    /// The top-up that an incoming transfer may have paid for, if it is of the lost time and waits for an operator.
    pub(super) async fn possible_top_up(
        &self,
        incoming: &Incoming,
    ) -> Result<Option<PossibleTopUpPayment>, StoreError> {
        let transfer = &incoming.transfer;
        let lost = self.0.lost_history.is_some_and(|lost| lost.contains(transfer.at));
        if incoming.status != incoming::Status::Waiting || !lost {
            return Ok(None);
        }
        let account = self.account_of(&transfer.from);
        PossibleTopUpPayment::from_transfer(transfer, account, &*self.0.store)
            .await
            .map(Some)
    }
}
