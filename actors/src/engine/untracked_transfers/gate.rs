//! The single gate for outgoing money. It checks the owner, the finality of the payment behind it, and whether anything
//! new may be signed or ordered now. Signed transfers may already be in flight; they are looked up, and not sent again
//! while the account is frozen.

use std::sync::atomic::Ordering;

use purser_storage::StoreError;
use purser_storage::mutants::{self, Mutant};

use super::OutgoingTransferGuard;
use crate::engine::Engine;
use crate::engine::operators::corrupt;
use crate::engine::registries::Registries;
use crate::entity::account;
use crate::entity::banking::transfer;
use crate::entity::{top_up, wallet_payment, withdrawal};
use crate::id::{PaymentId, Wallet};
use crate::jobs::OutgoingPurpose;
use crate::kernel::job::AnyJob;
use crate::kernel::registry::LoadError;
use crate::kernel::{OutboxJob, table};
use crate::port::Finality;

/// Why outgoing money waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateHold {
    /// The owner's account is frozen. Continues when it is unfrozen.
    AccountFrozen,
    /// The store was restored, and the lost history may have sent it. Continues when that can no longer be, or it is
    /// tracked.
    Restored,
    /// The payment behind it is not final, so a reorg may still remove it. Continues when the payment is final, and
    /// ends if it is permanently reversed.
    PaymentNotFinal,
}

impl GateHold {
    /// Every reason, in declaration order.
    pub const ALL: [Self; 3] = [Self::AccountFrozen, Self::Restored, Self::PaymentNotFinal];

    /// Name in responses, lists and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AccountFrozen => "held_frozen",
            Self::Restored => "held_restored",
            Self::PaymentNotFinal => "held_unfinal",
        }
    }
}

crate::answer::serialize_as_name!(GateHold);

/// Open jobs of an account, by what a freeze does to them.
#[derive(Clone, Debug, Default)]
pub struct FreezeEffect {
    /// They would move money out, and wait until the account is unfrozen. What is already signed is only looked up.
    pub waits: Vec<OutboxJob>,
    /// They move no money out, or what they move has left or is ordered already.
    pub continues: Vec<OutboxJob>,
}

/// How long a restore blocks an outgoing transfer or order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum GateClosure {
    /// Until every outgoing transfer is in the ledger: before that, balances do not reflect what has left.
    UntilTracked,
    /// Until nothing that the lost history signed can settle any more. Then the chain shows whether it did.
    UntilRestoreWindowOver,
    /// Not at all. A repeated order is the same order, and a repeated transfer the same transfer.
    Open,
}

/// An entity for which money may still leave.
#[derive(Clone, Copy, Debug)]
struct PendingOutgoing {
    owner: Wallet,
    closure: GateClosure,
    underlying_payment: PaymentId,
}

impl PendingOutgoing {
    /// For something paid by a balance or an agent wallet. Neither makes a credit available that is not final.
    const fn from_balance(owner: Wallet, closure: GateClosure) -> Self {
        let underlying_payment = PaymentId::NONE;
        Self {
            owner,
            closure,
            underlying_payment,
        }
    }
}

/// What may still leave for the job's entity, if anything.
async fn pending_outgoing(
    registries: &Registries,
    leaves: OutgoingPurpose,
) -> Result<Option<PendingOutgoing>, LoadError> {
    Ok(match leaves {
        OutgoingPurpose::Withdrawal(id) => registries.withdrawals.read(&id).await?.and_then(|(asked, _)| {
            let shut = match asked.status {
                withdrawal::Status::Pending => GateClosure::UntilTracked,
                withdrawal::Status::Sent(_) => GateClosure::Open,
                withdrawal::Status::Complete { .. }
                | withdrawal::Status::CompleteSigned { .. }
                | withdrawal::Status::Failed { .. } => return None,
            };
            Some(PendingOutgoing::from_balance(asked.owner, shut))
        }),
        OutgoingPurpose::TopUp(id) => registries.top_ups.read(&id).await?.and_then(|(top_up, _)| {
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
        OutgoingPurpose::WalletPayment(id) => registries.wallet_payments.read(&id).await?.and_then(|(spend, _)| {
            let shut = match spend.status {
                wallet_payment::Status::Pending => GateClosure::UntilRestoreWindowOver,
                wallet_payment::Status::Signed(_) => GateClosure::Open,
                // Only the chain is read; the server is not called again.
                wallet_payment::Status::Sent(..)
                | wallet_payment::Status::Settled { .. }
                | wallet_payment::Status::Failed { .. }
                | wallet_payment::Status::Unsettled { .. } => return None,
            };
            Some(PendingOutgoing::from_balance(spend.owner, shut))
        }),
        OutgoingPurpose::Payout(id) => registries.payouts.read(&id).await?.and_then(|(payout, _)| {
            let (owner, rests_on) = (payout.owner, payout.charge.payment);
            let shut = closure_for(rests_on);
            // A payout that the rail has reported is ordered.
            (payout.is_pending() && payout.last_sequence == 0).then_some(PendingOutgoing {
                owner,
                closure: shut,
                underlying_payment: rests_on,
            })
        }),
        OutgoingPurpose::BankTransfer(id) => registries.bank_transfers.read(&id).await?.and_then(|(moved, _)| {
            let leaves = moved.direction == transfer::TransferDirection::ToAccount
                && matches!(moved.status, transfer::Status::Pending(_));
            let (owner, shut) = (moved.owner, GateClosure::UntilTracked);
            leaves.then_some(PendingOutgoing::from_balance(owner, shut))
        }),
    })
}

/// An order paid by a payment is placed whatever else has left. A balance may be one that the lost history has paid
/// out.
pub(in crate::engine) fn closure_for(payment: PaymentId) -> GateClosure {
    match payment == PaymentId::NONE {
        true => GateClosure::UntilTracked,
        false => GateClosure::Open,
    }
}

impl OutgoingTransferGuard {
    /// Whether the account is frozen. Its row is part of the account's own batch: once a freeze is reported, the row
    /// exists.
    pub(in crate::engine) async fn is_frozen(&self, owner: &Wallet) -> Result<bool, StoreError> {
        let frozen = self.store.read(&table::frozen(owner)).await?.is_some();
        Ok(frozen && !mutants::is_enabled(Mutant::FrozenAccountSigns))
    }

    /// Called before a payment is reported as settled.
    pub(in crate::engine) fn note_finality(&self, finality: Finality) {
        if finality == Finality::Confirmed {
            self.any_pending_finality.store(true, Ordering::Release);
        }
    }

    /// Loads whether there are payments that are not final, before the gate is first checked.
    pub(in crate::engine) async fn load_pending_finality(&self) -> Result<(), StoreError> {
        let rows = self
            .store
            .scan(&table::pending_finality(PaymentId::NONE)[..2], None, 1)
            .await?;
        self.any_pending_finality.fetch_or(!rows.is_empty(), Ordering::AcqRel);
        Ok(())
    }

    /// Whether there may be payments that are not final. If false, no row is read for the check.
    pub(in crate::engine) fn may_be_pending_finality(&self) -> bool {
        self.any_pending_finality.load(Ordering::Acquire)
    }

    /// Whether the payment is not final, or was reversed before it was. A final payment stays final.
    pub(in crate::engine) async fn is_pending_finality(&self, payment: PaymentId) -> Result<bool, StoreError> {
        if payment == PaymentId::NONE || !self.may_be_pending_finality() {
            return Ok(false);
        }
        Ok(self.store.read(&table::pending_finality(payment)).await?.is_some())
    }

    /// Whether a restore blocks it.
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
    /// Why a job that would send money waits, if it does.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn gate_hold(&self, work: &AnyJob) -> Result<Option<GateHold>, StoreError> {
        if let Some(account::Job::ReleaseCredit { payment, .. }) = work.typed() {
            let unfinal = self.0.outgoing_guard.is_pending_finality(payment).await?;
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

    /// What a freeze of this account would reach: its open jobs whose money waits, and those that go on. Oldest first.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn freeze_effect(&self, owner: &Wallet) -> Result<FreezeEffect, StoreError> {
        let mut effect = FreezeEffect::default();
        for outbox_job in self.open_jobs_of(owner).await.map_err(corrupt)? {
            let waits = match outbox_job.job.outgoing_purpose() {
                Some(leaves) => pending_outgoing(&self.0.registries, leaves).await.map_err(corrupt)?,
                None => None,
            };
            match waits {
                Some(_) => effect.waits.push(outbox_job),
                None => effect.continues.push(outbox_job),
            }
        }
        Ok(effect)
    }

    /// Whether a payment has settled and is not final. Its product is made, but credentials that open it are withheld.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_pending_finality(&self, payment: PaymentId) -> Result<bool, StoreError> {
        self.0.outgoing_guard.is_pending_finality(payment).await
    }

    /// Whether this account's outgoing money is blocked by a freeze.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_frozen(&self, owner: &Wallet) -> Result<bool, StoreError> {
        self.0.outgoing_guard.is_frozen(owner).await
    }

    /// Every job that waits at the gate and why, oldest first. Reads every open job.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn gated_jobs(&self) -> Result<Vec<(OutboxJob, GateHold)>, StoreError> {
        let mut all = Vec::new();
        for outbox_job in self.open_jobs(usize::MAX).await? {
            if let Some(held) = self.gate_hold(&outbox_job.job).await? {
                all.push((outbox_job, held));
            }
        }
        all.sort_by_key(|(outbox_job, _)| (outbox_job.created_at, outbox_job.id));
        Ok(all)
    }
}
