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
use crate::kernel::job::{Job, OutgoingPurpose};
use crate::kernel::registry::LoadError;
use crate::kernel::{OutboxJob, table};
use crate::port::Finality;
use crate::{top_up, wallet_payment, withdrawal};

/// Why money that would leave waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateHold {
    /// The account that it is taken from is frozen. It goes on when the account is thawed.
    AccountFrozen,
    /// The store was restored, and the history that was lost may have sent it. It goes on when that can no longer be, or is
    /// explained.
    Restored,
    /// The payment that it rests on is not final: a reorganisation of its chain may still remove it. It goes on when that can no
    /// longer be, and ends if the payment is gone for good.
    PaymentNotFinal,
}

impl GateHold {
    /// All.
    pub const ALL: [Self; 3] = [Self::AccountFrozen, Self::Restored, Self::PaymentNotFinal];

    /// In answers, lists and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AccountFrozen => "held_frozen",
            Self::Restored => "held_restored",
            Self::PaymentNotFinal => "held_unfinal",
        }
    }
}

/// For how long a restore keeps something from leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum GateClosure {
    /// Until everything that has left the treasury is in the books: till then balances do not know what has left already.
    UntilTracked,
    /// Until nothing that the lost history signed can land any more: then the chain says whether it did.
    UntilRestoreWindowOver,
    /// Not at all. Ordered again it is the same order, sent again the same transfer.
    Open,
}

/// Something for which money still may leave.
#[derive(Clone, Copy, Debug)]
struct PendingOutgoing {
    owner: Wallet,
    closure: GateClosure,
    underlying_payment: PaymentId,
}

impl PendingOutgoing {
    /// For what a balance or a managed wallet pays: no credit that is not final is available in one.
    const fn from_balance(owner: Wallet, closure: GateClosure) -> Self {
        let underlying_payment = PaymentId::NONE;
        Self {
            owner,
            closure,
            underlying_payment,
        }
    }
}

/// What still may leave for it, if anything may.
async fn pending_outgoing(
    families: &Registries,
    leaves: OutgoingPurpose,
) -> Result<Option<PendingOutgoing>, LoadError> {
    Ok(match leaves {
        OutgoingPurpose::Withdrawal(id) => families.withdrawals.read(&id).await?.and_then(|(asked, _)| {
            let shut = match asked.status {
                withdrawal::Status::Pending => GateClosure::UntilTracked,
                withdrawal::Status::Sent(_) => GateClosure::Open,
                withdrawal::Status::Complete { .. }
                | withdrawal::Status::CompleteSigned { .. }
                | withdrawal::Status::Failed { .. } => return None,
            };
            Some(PendingOutgoing::from_balance(asked.owner, shut))
        }),
        OutgoingPurpose::TopUp(id) => families.top_ups.read(&id).await?.and_then(|(top_up, _)| {
            let shut = match top_up.status {
                top_up::Status::Paid(None) => GateClosure::UntilTracked,
                top_up::Status::Paid(Some(_)) => GateClosure::Open,
                top_up::Status::Bridging(_)
                | top_up::Status::Delivered
                | top_up::Status::Credited
                | top_up::Status::Failed { .. } => return None,
            };
            let (owner, rests_on) = (top_up.owner, top_up.charge.payment);
            Some(PendingOutgoing {
                owner,
                closure: shut,
                underlying_payment: rests_on,
            })
        }),
        OutgoingPurpose::WalletPayment(id) => families.wallet_payments.read(&id).await?.and_then(|(spend, _)| {
            let shut = match spend.status {
                wallet_payment::Status::Pending => GateClosure::UntilRestoreWindowOver,
                wallet_payment::Status::Signed(_) => GateClosure::Open,
                // The chain is read, and nobody is asked any more.
                wallet_payment::Status::Sent(..)
                | wallet_payment::Status::Settled { .. }
                | wallet_payment::Status::Failed { .. }
                | wallet_payment::Status::Unsettled { .. } => return None,
            };
            Some(PendingOutgoing::from_balance(spend.owner, shut))
        }),
        OutgoingPurpose::Payout(id) => families.payouts.read(&id).await?.and_then(|(payout, _)| {
            let (owner, rests_on) = (payout.owner, payout.charge.payment);
            let shut = closure_for(rests_on);
            // What the rail has told of is ordered.
            (payout.is_pending() && payout.last_sequence == 0).then_some(PendingOutgoing {
                owner,
                closure: shut,
                underlying_payment: rests_on,
            })
        }),
        OutgoingPurpose::BankTransfer(id) => families.bank_transfers.read(&id).await?.and_then(|(moved, _)| {
            let leaves = moved.direction == transfer::TransferDirection::ToAccount
                && matches!(moved.status, transfer::Status::Pending(_));
            let (owner, shut) = (moved.owner, GateClosure::UntilTracked);
            leaves.then_some(PendingOutgoing::from_balance(owner, shut))
        }),
    })
}

/// What a payment paid for is ordered whatever else has left. A balance may be one that the lost history has paid out.
pub(in crate::engine) fn closure_for(payment: PaymentId) -> GateClosure {
    match payment == PaymentId::NONE {
        true => GateClosure::UntilTracked,
        false => GateClosure::Open,
    }
}

impl OutgoingTransferGuard {
    /// Whether the account is frozen. Its row is the account's own batch: once a freeze is told, it is there.
    pub(in crate::engine) async fn is_frozen(&self, owner: &Wallet) -> Result<bool, StoreError> {
        let frozen = self.store.read(&table::frozen(owner)).await?.is_some();
        Ok(frozen && !mutants::is_enabled(Mutant::FrozenAccountSigns))
    }

    /// A payment is about to be told that it has settled.
    pub(in crate::engine) fn note_finality(&self, finality: Finality) {
        if finality == Finality::Confirmed {
            self.any_pending_finality.store(true, Ordering::Release);
        }
    }

    /// Finds whether there are payments that are not final, before anything is asked of the gate.
    pub(in crate::engine) async fn load_pending_finality(&self) -> Result<(), StoreError> {
        let rows = self
            .store
            .scan(&table::pending_finality(PaymentId::NONE)[..2], None, 1)
            .await?;
        self.any_pending_finality.fetch_or(!rows.is_empty(), Ordering::AcqRel);
        Ok(())
    }

    /// Whether there may be payments that are not final: if not, nothing is read.
    pub(in crate::engine) fn may_be_pending_finality(&self) -> bool {
        self.any_pending_finality.load(Ordering::Acquire)
    }

    /// Whether what rests on this payment stays: it is not final, or was gone before it was. What is final once stays so.
    pub(in crate::engine) async fn is_pending_finality(&self, payment: PaymentId) -> Result<bool, StoreError> {
        if payment == PaymentId::NONE || !self.may_be_pending_finality() {
            return Ok(false);
        }
        Ok(self.store.read(&table::pending_finality(payment)).await?.is_some())
    }

    /// Whether a restore keeps it.
    pub(in crate::engine) fn is_closed(&self, shut: GateClosure) -> bool {
        match shut {
            _ if mutants::is_enabled(Mutant::SignsOutsideGate) => false,
            GateClosure::UntilTracked => self.must_wait(None),
            GateClosure::UntilRestoreWindowOver => !self.is_restore_window_over(),
            GateClosure::Open => false,
        }
    }
}

impl Engine {
    /// Why work that would move money out of the house waits, if it does.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn gate_hold(&self, work: &Job) -> Result<Option<GateHold>, StoreError> {
        if let Job::ReleaseCredit { payment, .. } = work {
            let unfinal = self.0.outgoing_guard.is_pending_finality(*payment).await?;
            return Ok(unfinal.then_some(GateHold::PaymentNotFinal));
        }
        let Some(leaves) = work.outgoing_purpose() else {
            return Ok(None);
        };
        let waits = pending_outgoing(&self.0.registries, leaves).await.map_err(corrupt)?;
        let Some(PendingOutgoing {
            owner,
            closure: shut,
            underlying_payment: rests_on,
        }) = waits
        else {
            return Ok(None);
        };
        if self.0.outgoing_guard.is_frozen(&owner).await? {
            return Ok(Some(GateHold::AccountFrozen));
        }
        if self.0.outgoing_guard.is_pending_finality(rests_on).await? {
            return Ok(Some(GateHold::PaymentNotFinal));
        }
        Ok(self.0.outgoing_guard.is_closed(shut).then_some(GateHold::Restored))
    }

    /// Whether a payment has settled and is not final: what it bought is made, and nothing that opens it is told.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_pending_finality(&self, payment: PaymentId) -> Result<bool, StoreError> {
        self.0.outgoing_guard.is_pending_finality(payment).await
    }

    /// Whether this account's money is kept from leaving because it is frozen.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_frozen(&self, owner: &Wallet) -> Result<bool, StoreError> {
        self.0.outgoing_guard.is_frozen(owner).await
    }

    /// Everything that waits at the gate and why, the oldest first. Reads every open effect.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn gated_jobs(&self) -> Result<Vec<(OutboxJob, GateHold)>, StoreError> {
        let mut all = Vec::new();
        for effect in self.open_jobs(usize::MAX).await? {
            if let Some(held) = self.gate_hold(&effect.job).await? {
                all.push((effect, held));
            }
        }
        all.sort_by_key(|(effect, _)| (effect.created_at, effect.id));
        Ok(all)
    }
}
