//! The one gate that money leaves by: whose it is, whether the payment that it rests on is final, and whether anything new may be
//! signed or ordered for it now. What has been
//! signed already may be on its way; it is looked up, and nothing more is sent of it while its account is frozen.

use std::sync::atomic::Ordering;

use purser_storage::StoreError;
use purser_storage::mutants::{self, Mutant};

use super::OutgoingTransferGuard;
use crate::banking::transfer;
use crate::engine::Engine;
use crate::engine::operators::corrupt;
use crate::engine::registries::Registries;
use crate::id::{PaymentId, Wallet};
use crate::kernel::job::{Job, Leaves};
use crate::kernel::registry::LoadError;
use crate::kernel::{OutboxJob, table};
use crate::port::Finality;
use crate::{top_up, wallet_payment, withdrawal};

/// Why money that would leave waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The account that it is taken from is frozen. It goes on when the account is thawed.
    Frozen,
    /// The store was restored, and the history that was lost may have sent it. It goes on when that can no longer be, or is
    /// explained.
    Restored,
    /// The payment that it rests on is not final: a reorganisation of its chain may still remove it. It goes on when that can no
    /// longer be, and ends if the payment is gone for good.
    Unfinal,
}

impl Held {
    /// All.
    pub const ALL: [Self; 3] = [Self::Frozen, Self::Restored, Self::Unfinal];

    /// In answers, lists and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frozen => "held_frozen",
            Self::Restored => "held_restored",
            Self::Unfinal => "held_unfinal",
        }
    }
}

/// For how long a restore keeps something from leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Shut {
    /// Until everything that has left the treasury is in the books: till then balances do not know what has left already.
    Unexplained,
    /// Until nothing that the lost history signed can land any more: then the chain says whether it did.
    Unquiet,
    /// Not at all. Ordered again it is the same order, sent again the same transfer.
    Never,
}

/// Something for which money still may leave.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    owner: Wallet,
    shut: Shut,
    rests_on: PaymentId,
}

impl Waiting {
    /// For what a balance or a managed wallet pays: no credit that is not final is available in one.
    const fn of(owner: Wallet, shut: Shut) -> Self {
        let rests_on = PaymentId::NONE;
        Self { owner, shut, rests_on }
    }
}

/// What still may leave for it, if anything may.
async fn waiting(families: &Registries, leaves: Leaves) -> Result<Option<Waiting>, LoadError> {
    Ok(match leaves {
        Leaves::Withdrawal(id) => families.withdrawals.read(&id).await?.and_then(|(asked, _)| {
            let shut = match asked.status {
                withdrawal::Status::Pending => Shut::Unexplained,
                withdrawal::Status::Sent(_) => Shut::Never,
                withdrawal::Status::Complete { .. }
                | withdrawal::Status::CompleteSigned { .. }
                | withdrawal::Status::Failed { .. } => return None,
            };
            Some(Waiting::of(asked.owner, shut))
        }),
        Leaves::TopUp(id) => families.top_ups.read(&id).await?.and_then(|(top_up, _)| {
            let shut = match top_up.status {
                top_up::Status::Paid(None) => Shut::Unexplained,
                top_up::Status::Paid(Some(_)) => Shut::Never,
                top_up::Status::Bridging(_)
                | top_up::Status::Delivered
                | top_up::Status::Credited
                | top_up::Status::Failed { .. } => return None,
            };
            let (owner, rests_on) = (top_up.owner, top_up.charge.payment);
            Some(Waiting { owner, shut, rests_on })
        }),
        Leaves::Spend(id) => families.spends.read(&id).await?.and_then(|(spend, _)| {
            let shut = match spend.status {
                wallet_payment::Status::Pending => Shut::Unquiet,
                wallet_payment::Status::Signed(_) => Shut::Never,
                // The chain is read, and nobody is asked any more.
                wallet_payment::Status::Sent(..)
                | wallet_payment::Status::Settled { .. }
                | wallet_payment::Status::Failed { .. }
                | wallet_payment::Status::Unsettled { .. } => return None,
            };
            Some(Waiting::of(spend.owner, shut))
        }),
        Leaves::Payout(id) => families.payouts.read(&id).await?.and_then(|(payout, _)| {
            let (owner, rests_on) = (payout.owner, payout.charge.payment);
            let shut = shut_for(rests_on);
            // What the rail has told of is ordered.
            (payout.is_pending() && payout.seen == 0).then_some(Waiting { owner, shut, rests_on })
        }),
        Leaves::BankTransfer(id) => families.bank_transfers.read(&id).await?.and_then(|(moved, _)| {
            let leaves = moved.way == transfer::TransferDirection::ToAccount
                && matches!(moved.status, transfer::Status::Pending(_));
            let (owner, shut) = (moved.owner, Shut::Unexplained);
            leaves.then_some(Waiting::of(owner, shut))
        }),
    })
}

/// What a payment paid for is ordered whatever else has left. A balance may be one that the lost history has paid out.
pub(in crate::engine) fn shut_for(payment: PaymentId) -> Shut {
    match payment == PaymentId::NONE {
        true => Shut::Unexplained,
        false => Shut::Never,
    }
}

impl OutgoingTransferGuard {
    /// Whether the account is frozen. Its row is the account's own batch: once a freeze is told, it is there.
    pub(in crate::engine) async fn is_frozen(&self, owner: &Wallet) -> Result<bool, StoreError> {
        let frozen = self.store.read(&table::frozen(owner)).await?.is_some();
        Ok(frozen && !mutants::is_enabled(Mutant::FreezeLetsOut))
    }

    /// A payment is about to be told that it has settled.
    pub(in crate::engine) fn settles(&self, finality: Finality) {
        if finality == Finality::Seen {
            self.any_unfinal.store(true, Ordering::Release);
        }
    }

    /// Finds whether there are payments that are not final, before anything is asked of the gate.
    pub(in crate::engine) async fn find_unfinal(&self) -> Result<(), StoreError> {
        let rows = self.store.scan(&table::unfinal(PaymentId::NONE)[..2], None, 1).await?;
        self.any_unfinal.fetch_or(!rows.is_empty(), Ordering::AcqRel);
        Ok(())
    }

    /// Whether there may be payments that are not final: if not, nothing is read.
    pub(in crate::engine) fn may_be_unfinal(&self) -> bool {
        self.any_unfinal.load(Ordering::Acquire)
    }

    /// Whether what rests on this payment stays: it is not final, or was gone before it was. What is final once stays so.
    pub(in crate::engine) async fn is_unfinal(&self, payment: PaymentId) -> Result<bool, StoreError> {
        if payment == PaymentId::NONE || !self.may_be_unfinal() {
            return Ok(false);
        }
        Ok(self.store.read(&table::unfinal(payment)).await?.is_some())
    }

    /// Whether a restore keeps it.
    pub(in crate::engine) fn is_shut(&self, shut: Shut) -> bool {
        match shut {
            _ if mutants::is_enabled(Mutant::SignsOutsideGate) => false,
            Shut::Unexplained => self.must_wait(None),
            Shut::Unquiet => !self.is_quiet(),
            Shut::Never => false,
        }
    }
}

impl Engine {
    /// Why work that would move money out of the house waits, if it does.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn held(&self, work: &Job) -> Result<Option<Held>, StoreError> {
        if let Job::ReleaseCredit { payment, .. } = work {
            let unfinal = self.0.departures.is_unfinal(*payment).await?;
            return Ok(unfinal.then_some(Held::Unfinal));
        }
        let Some(leaves) = work.leaves() else { return Ok(None) };
        let waits = waiting(&self.0.families, leaves).await.map_err(corrupt)?;
        let Some(Waiting { owner, shut, rests_on }) = waits else {
            return Ok(None);
        };
        if self.0.departures.is_frozen(&owner).await? {
            return Ok(Some(Held::Frozen));
        }
        if self.0.departures.is_unfinal(rests_on).await? {
            return Ok(Some(Held::Unfinal));
        }
        Ok(self.0.departures.is_shut(shut).then_some(Held::Restored))
    }

    /// Whether a payment has settled and is not final: what it bought is made, and nothing that opens it is told.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_unfinal(&self, payment: PaymentId) -> Result<bool, StoreError> {
        self.0.departures.is_unfinal(payment).await
    }

    /// Whether this account's money is kept from leaving because it is frozen.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_frozen(&self, owner: &Wallet) -> Result<bool, StoreError> {
        self.0.departures.is_frozen(owner).await
    }

    /// Everything that waits at the gate and why, the oldest first. Reads every open effect.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn held_back(&self) -> Result<Vec<(OutboxJob, Held)>, StoreError> {
        let mut all = Vec::new();
        for effect in self.open_effects(usize::MAX).await? {
            if let Some(held) = self.held(&effect.job).await? {
                all.push((effect, held));
            }
        }
        all.sort_by_key(|(effect, _)| (effect.created_at, effect.id));
        Ok(all)
    }
}
