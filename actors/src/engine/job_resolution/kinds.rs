//! What operators can resolve. [`Job::resolvable`] names every job type and has no wildcard arm.

#![deny(clippy::wildcard_enum_match_arm, reason = "a new kind of work is asked about here")]

use super::JobOutcome;
use crate::id::{BankAccountId, BankTransferId, CardId, PaymentId, PayoutId, TopUpId, Wallet, WithdrawalId};
use crate::kernel::job::{CreditCause, Job};
use crate::money::Usdc;
use crate::reconciliation::EntryStatus;

/// The subject of a job, as its resolution sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Resolvable {
    /// A card at its issuer.
    Card(CardId),
    /// A gift card at its catalog.
    GiftCard(CardId),
    /// A payout at its rail.
    Payout(PayoutId),
    /// A payout to recall from its rail.
    Recall(PayoutId),
    /// A credit that was withheld.
    Credit(Wallet, Usdc, CreditCause),
    /// A transfer between a balance and the bank.
    BankTransfer(BankTransferId),
    /// An account at the bank.
    BankAccount(BankAccountId),
    /// An owner's account at the issuer.
    IssuerAccount(Wallet),
    /// A reloadable card.
    ReloadableCard(CardId),
    /// A hold on a card balance at the issuer.
    CardHold(WithdrawalId),
    /// The end of such a hold.
    CardHoldSettlement(WithdrawalId),
    /// A delivery that the issuer has to credit.
    IssuerCredit(TopUpId),
    /// A payment with an unknown outcome.
    Payment(PaymentId),
    /// No operator can resolve it: only we or a chain decide the outcome.
    Unresolvable,
}

impl Job {
    /// How the job can be resolved.
    pub(in crate::engine) const fn resolvable(&self) -> Resolvable {
        match *self {
            Self::IssueCard(id) => Resolvable::Card(id),
            Self::OrderGiftCard(id) => Resolvable::GiftCard(id),
            Self::SendPayout(id) => Resolvable::Payout(id),
            Self::RecallPayout(id) => Resolvable::Recall(id),
            Self::CreditAccount { account, amount, cause } => Resolvable::Credit(account, amount, cause),
            Self::ExecuteBankTransfer(id) => Resolvable::BankTransfer(id),
            Self::OpenBankAccount(id) => Resolvable::BankAccount(id),
            Self::OpenIssuerAccount(wallet) => Resolvable::IssuerAccount(wallet),
            Self::OpenReloadableCard(id) => Resolvable::ReloadableCard(id),
            Self::HoldCardBalance(id) => Resolvable::CardHold(id),
            Self::SettleCardHold(id) => Resolvable::CardHoldSettlement(id),
            Self::AwaitIssuerCredit(id) => Resolvable::IssuerCredit(id),
            Self::WatchPayment(id) => Resolvable::Payment(id),
            Self::SettlePayment(_)
            | Self::ConfirmPaymentCredit(_)
            | Self::ReleaseCapReservation { .. }
            | Self::CountCapReservation { .. }
            | Self::CountUnclaimed { .. }
            | Self::CountClaimed { .. }
            | Self::ExpireCard(_)
            | Self::ReadmitPayment { .. }
            | Self::ExpireOrderLease { .. }
            | Self::MarkOrderOverdue(_)
            | Self::ExpireIntlCard(_)
            | Self::ShredCvv(_)
            | Self::CheckIdentity(_)
            | Self::SendWithdrawal(_)
            | Self::SettleHold { .. }
            | Self::ExpirePayout(_)
            | Self::CloseReturnWindow(_)
            | Self::ConfirmLateReturnCredit(_)
            | Self::SaveRecipient(_)
            | Self::SendTopUp(_)
            | Self::BridgeTopUp(_)
            | Self::RefreshCard(_)
            | Self::SendWalletPayment(_)
            | Self::SettleWalletHold { .. }
            | Self::SubmitBankApplication(_)
            | Self::ShredAccountNumber(_)
            | Self::ChangeCardState(_)
            | Self::ChangePrepaidCardState(_)
            | Self::ExpireWithdrawalLease { .. }
            | Self::ReverseRecipientTotals(_)
            | Self::PurgeHttpRecord(_)
            | Self::DeliverWebhook { .. }
            | Self::RedeliverWebhooks { .. }
            | Self::ConfirmRefund(_)
            | Self::ExpireRefund { .. }
            | Self::ConfirmReorg(_)
            | Self::ClassifyIncoming(_)
            | Self::SendBack { .. }
            | Self::ConfirmIncoming(_)
            | Self::AwaitFinal(_)
            | Self::ReleaseCredit { .. } => Resolvable::Unresolvable,
        }
    }

    /// The outcomes that an operator may record once the job is dead-lettered: completed, and not completed.
    pub const fn resolvable_outcomes(&self) -> (bool, bool) {
        match self.resolvable() {
            Resolvable::Payout(_) | Resolvable::BankTransfer(_) | Resolvable::CardHold(_) | Resolvable::Payment(_) => {
                (true, true)
            }
            Resolvable::Recall(_) | Resolvable::CardHoldSettlement(_) | Resolvable::IssuerCredit(_) => (true, false),
            Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::ReloadableCard(_) => (false, true),
            Resolvable::Credit(..) | Resolvable::Unresolvable => (false, false),
        }
    }

    /// Whether an operator can have the owner credited: the job was not executed, or is itself a withheld credit.
    pub const fn is_creditable(&self) -> bool {
        match self.resolvable() {
            Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::Payout(_)
            | Resolvable::BankTransfer(_)
            | Resolvable::Credit(..) => true,
            Resolvable::Recall(_)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::ReloadableCard(_)
            | Resolvable::CardHold(_)
            | Resolvable::CardHoldSettlement(_)
            | Resolvable::IssuerCredit(_)
            | Resolvable::Payment(_)
            | Resolvable::Unresolvable => false,
        }
    }
}

impl Resolvable {
    /// Whether absence from the provider's records proves that the order was never placed. A list may leave out
    /// undecided orders.
    pub(super) const fn absence_is_definitive(self) -> bool {
        match self {
            Self::Payout(_) | Self::CardHold(_) => true,
            Self::Card(_)
            | Self::GiftCard(_)
            | Self::Recall(_)
            | Self::Credit(..)
            | Self::BankTransfer(_)
            | Self::BankAccount(_)
            | Self::IssuerAccount(_)
            | Self::ReloadableCard(_)
            | Self::CardHoldSettlement(_)
            | Self::IssuerCredit(_)
            | Self::Payment(_)
            | Self::Unresolvable => false,
        }
    }

    /// Whether a pending status means “not completed”: a hold that is still active, or a delivery not credited yet. Not
    /// for a recall, whose money may have come back by hand.
    const fn pending_means_not_completed(self) -> bool {
        match self {
            Self::CardHoldSettlement(_) | Self::IssuerCredit(_) => true,
            Self::Card(_)
            | Self::GiftCard(_)
            | Self::Payout(_)
            | Self::Recall(_)
            | Self::Credit(..)
            | Self::BankTransfer(_)
            | Self::BankAccount(_)
            | Self::IssuerAccount(_)
            | Self::ReloadableCard(_)
            | Self::CardHold(_)
            | Self::Payment(_)
            | Self::Unresolvable => false,
        }
    }

    /// Whether the outcome brings the owner money that was not on a balance before. `from_balance`, for bank transfers:
    /// whether the money was to leave the balance.
    pub(super) const fn credits_owner(self, outcome: JobOutcome, from_balance: bool) -> bool {
        let done = matches!(outcome, JobOutcome::Completed);
        match self {
            Self::Card(_) | Self::GiftCard(_) | Self::Payout(_) | Self::Credit(..) => !done,
            Self::Recall(_) => done,
            Self::BankTransfer(_) => done != from_balance,
            // A payment counts as its chain shows it, whatever the operator records.
            Self::Payment(_) => false,
            // Money at the issuer stays there: a separate operation pays it out.
            Self::CardHold(_) | Self::CardHoldSettlement(_) | Self::IssuerCredit(_) => false,
            Self::BankAccount(_) | Self::IssuerAccount(_) | Self::ReloadableCard(_) | Self::Unresolvable => false,
        }
    }

    /// Whether the provider's or chain's status contradicts the outcome.
    pub(super) const fn is_contradicted(self, outcome: JobOutcome, standing: EntryStatus) -> bool {
        match (outcome, standing) {
            (JobOutcome::Completed, EntryStatus::Declined | EntryStatus::Returned)
            | (JobOutcome::NotCompleted, EntryStatus::Completed | EntryStatus::Pending | EntryStatus::Held) => true,
            (JobOutcome::Completed, EntryStatus::NotSubmitted) => self.absence_is_definitive(),
            (JobOutcome::Completed, EntryStatus::Pending | EntryStatus::Held) => self.pending_means_not_completed(),
            (JobOutcome::Completed, EntryStatus::Completed)
            | (JobOutcome::NotCompleted, EntryStatus::NotSubmitted | EntryStatus::Declined | EntryStatus::Returned) => {
                false
            }
        }
    }
}
