//! What an operator's word may be about. Every kind of work stands in [`Work::resolvable`], one way or the other: there is no
//! arm for the rest.

#![deny(clippy::wildcard_enum_match_arm, reason = "a new kind of work is asked about here")]

use super::JobOutcome;
use crate::id::{BankAccountId, BankTransferId, CardId, PaymentId, PayoutId, TopUpId, Wallet, WithdrawalId};
use crate::kernel::job::{CreditCause, Job};
use crate::money::Usdc;
use crate::reconciliation::EntryStatus;

/// Work as whoever resolves it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Resolvable {
    /// A card at its issuer.
    Card(CardId),
    /// A gift card at its catalog.
    GiftCard(CardId),
    /// A payout at its rail.
    Payout(PayoutId),
    /// A payout that its rail is to give back.
    Recall(PayoutId),
    /// A credit that was withheld.
    Credit(Wallet, Usdc, CreditCause),
    /// Money between a balance and the bank.
    BankMove(BankTransferId),
    /// An account at the bank.
    BankAccount(BankAccountId),
    /// A holder's account at the issuer.
    IssuerAccount(Wallet),
    /// A reloadable card.
    Reloadable(CardId),
    /// What the issuer is to set aside.
    Reservation(WithdrawalId),
    /// The end of that.
    ReservationEnd(WithdrawalId),
    /// What the issuer is to count.
    CardCredit(TopUpId),
    /// A payment whose outcome is not known.
    Payment(PaymentId),
    /// Nobody's word stands for it: it is ours, or a chain's alone.
    Nobodys,
}

impl Job {
    /// How it can be resolved.
    pub(in crate::engine) const fn resolvable(&self) -> Resolvable {
        match *self {
            Self::IssueCard(id) => Resolvable::Card(id),
            Self::OrderGiftCard(id) => Resolvable::GiftCard(id),
            Self::SendPayout(id) => Resolvable::Payout(id),
            Self::RecallPayout(id) => Resolvable::Recall(id),
            Self::CreditAccount { account, amount, cause } => Resolvable::Credit(account, amount, cause),
            Self::ExecuteBankTransfer(id) => Resolvable::BankMove(id),
            Self::OpenBankAccount(id) => Resolvable::BankAccount(id),
            Self::OpenIssuerAccount(wallet) => Resolvable::IssuerAccount(wallet),
            Self::OpenReloadableCard(id) => Resolvable::Reloadable(id),
            Self::HoldCardBalance(id) => Resolvable::Reservation(id),
            Self::SettleCardHold(id) => Resolvable::ReservationEnd(id),
            Self::AwaitIssuerCredit(id) => Resolvable::CardCredit(id),
            Self::WatchPayment(id) => Resolvable::Payment(id),
            Self::SettlePayment(_)
            | Self::ConfirmPaymentCredit(_)
            | Self::ReleaseCapReservation { .. }
            | Self::CountShare { .. }
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
            | Self::SteerPrepaid(_)
            | Self::ExpireWithdrawalLease { .. }
            | Self::ReverseRecipientTotals(_)
            | Self::PurgeHttpRecord(_)
            | Self::DeliverWebhook { .. }
            | Self::RedeliverWebhooks { .. }
            | Self::ConfirmRefund(_)
            | Self::ExpireRefund { .. }
            | Self::ConfirmReorg(_)
            | Self::PlaceIncoming(_)
            | Self::SendBack { .. }
            | Self::ConfirmIncoming(_)
            | Self::AwaitFinal(_)
            | Self::ReleaseCredit { .. } => Resolvable::Nobodys,
        }
    }

    /// What an operator may know of it once it is stuck: whether it was done, and whether it was not.
    pub const fn resolvable_outcomes(&self) -> (bool, bool) {
        match self.resolvable() {
            Resolvable::Payout(_) | Resolvable::BankMove(_) | Resolvable::Reservation(_) | Resolvable::Payment(_) => {
                (true, true)
            }
            Resolvable::Recall(_) | Resolvable::ReservationEnd(_) | Resolvable::CardCredit(_) => (true, false),
            Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::Reloadable(_) => (false, true),
            Resolvable::Credit(..) | Resolvable::Nobodys => (false, false),
        }
    }

    /// Whether an operator can have its holder credited: it was not done, or is itself a credit that was withheld.
    pub const fn credits(&self) -> bool {
        match self.resolvable() {
            Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::Payout(_)
            | Resolvable::BankMove(_)
            | Resolvable::Credit(..) => true,
            Resolvable::Recall(_)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::Reloadable(_)
            | Resolvable::Reservation(_)
            | Resolvable::ReservationEnd(_)
            | Resolvable::CardCredit(_)
            | Resolvable::Payment(_)
            | Resolvable::Nobodys => false,
        }
    }
}

impl Resolvable {
    /// Whether it is certain that it was never asked for where that is said: a list may leave out what is not decided.
    pub(super) const fn is_known_where_asked(self) -> bool {
        match self {
            Self::Payout(_) | Self::Reservation(_) => true,
            Self::Card(_)
            | Self::GiftCard(_)
            | Self::Recall(_)
            | Self::Credit(..)
            | Self::BankMove(_)
            | Self::BankAccount(_)
            | Self::IssuerAccount(_)
            | Self::Reloadable(_)
            | Self::ReservationEnd(_)
            | Self::CardCredit(_)
            | Self::Payment(_)
            | Self::Nobodys => false,
        }
    }

    /// Whether what is still under way there is not done: what the issuer still sets aside or has not counted. A recall's money
    /// may have come back by hand.
    const fn is_not_done_under_way(self) -> bool {
        match self {
            Self::ReservationEnd(_) | Self::CardCredit(_) => true,
            Self::Card(_)
            | Self::GiftCard(_)
            | Self::Payout(_)
            | Self::Recall(_)
            | Self::Credit(..)
            | Self::BankMove(_)
            | Self::BankAccount(_)
            | Self::IssuerAccount(_)
            | Self::Reloadable(_)
            | Self::Reservation(_)
            | Self::Payment(_)
            | Self::Nobodys => false,
        }
    }

    /// Whether an operator's word brings its holder money that was not on a balance before. `from_balance` is of money between a
    /// balance and the bank: whether it was to leave the balance.
    pub(super) const fn gives(self, outcome: JobOutcome, from_balance: bool) -> bool {
        let done = matches!(outcome, JobOutcome::Done);
        match self {
            Self::Card(_) | Self::GiftCard(_) | Self::Payout(_) | Self::Credit(..) => !done,
            Self::Recall(_) => done,
            Self::BankMove(_) => done != from_balance,
            // A payment counts as its chain shows it, whoever says so.
            Self::Payment(_) => false,
            // What is at the issuer stays there: it is paid out by another act.
            Self::Reservation(_) | Self::ReservationEnd(_) | Self::CardCredit(_) => false,
            Self::BankAccount(_) | Self::IssuerAccount(_) | Self::Reloadable(_) | Self::Nobodys => false,
        }
    }

    /// Whether the other side's own word rules that out.
    pub(super) const fn is_contradicted(self, outcome: JobOutcome, standing: EntryStatus) -> bool {
        match (outcome, standing) {
            (JobOutcome::Done, EntryStatus::Declined | EntryStatus::Returned)
            | (JobOutcome::NotDone, EntryStatus::Completed | EntryStatus::Pending | EntryStatus::Held) => true,
            (JobOutcome::Done, EntryStatus::NotSubmitted) => self.is_known_where_asked(),
            (JobOutcome::Done, EntryStatus::Pending | EntryStatus::Held) => self.is_not_done_under_way(),
            (JobOutcome::Done, EntryStatus::Completed)
            | (JobOutcome::NotDone, EntryStatus::NotSubmitted | EntryStatus::Declined | EntryStatus::Returned) => false,
        }
    }
}
