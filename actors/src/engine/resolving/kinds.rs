//! What an operator's word may be about. Every kind of work stands in [`Work::resolvable`], one way or the other: there is no
//! arm for the rest.

#![deny(clippy::wildcard_enum_match_arm, reason = "a new kind of work is asked about here")]

use super::Outcome;
use crate::id::{BankAccountId, BankTransferId, CardId, PaymentId, PayoutId, TopUpId, Wallet, WithdrawalId};
use crate::kernel::effect::{CreditCause, Work};
use crate::money::Usdc;
use crate::reconcile::Standing;

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

impl Work {
    /// How it can be resolved.
    pub(in crate::engine) const fn resolvable(&self) -> Resolvable {
        match *self {
            Self::IssueCard(id) => Resolvable::Card(id),
            Self::OrderGiftCard(id) => Resolvable::GiftCard(id),
            Self::SendPayout(id) => Resolvable::Payout(id),
            Self::RecallPayout(id) => Resolvable::Recall(id),
            Self::Credit { account, amount, cause } => Resolvable::Credit(account, amount, cause),
            Self::MoveBankMoney(id) => Resolvable::BankMove(id),
            Self::OpenBankAccount(id) => Resolvable::BankAccount(id),
            Self::OpenIssuerAccount(wallet) => Resolvable::IssuerAccount(wallet),
            Self::OpenCard(id) => Resolvable::Reloadable(id),
            Self::ReserveCardBalance(id) => Resolvable::Reservation(id),
            Self::EndReservation(id) => Resolvable::ReservationEnd(id),
            Self::AwaitCardCredit(id) => Resolvable::CardCredit(id),
            Self::Watch(id) => Resolvable::Payment(id),
            Self::Settle(_)
            | Self::ConfirmCredit(_)
            | Self::FreeShare { .. }
            | Self::CountShare { .. }
            | Self::CountUnclaimed { .. }
            | Self::CountClaimed { .. }
            | Self::ExpireCard(_)
            | Self::Readmit { .. }
            | Self::EndLease { .. }
            | Self::IntlOverdue(_)
            | Self::ExpireIntl(_)
            | Self::ForgetCvv(_)
            | Self::CheckIdentity(_)
            | Self::Withdraw(_)
            | Self::EndHold { .. }
            | Self::ExpirePayout(_)
            | Self::CloseReturns(_)
            | Self::LateReturn(_)
            | Self::SaveRecipient(_)
            | Self::SendTopUp(_)
            | Self::CrossBridge(_)
            | Self::RefreshCard(_)
            | Self::Spend(_)
            | Self::EndSpend { .. }
            | Self::ReviewApplication(_)
            | Self::ForgetNumber(_)
            | Self::SteerCard(_)
            | Self::SteerPrepaid(_)
            | Self::EndCardLease { .. }
            | Self::UncountPayment(_)
            | Self::ForgetSpoken(_)
            | Self::PostWebhook { .. }
            | Self::ResendWebhooks { .. }
            | Self::ConfirmRefund(_)
            | Self::ExpireRefund { .. }
            | Self::Pursue(_)
            | Self::PlaceIncoming(_)
            | Self::SendBack { .. }
            | Self::ConfirmIncoming(_)
            | Self::AwaitFinal(_)
            | Self::ReleaseCredit { .. } => Resolvable::Nobodys,
        }
    }

    /// What an operator may know of it once it is stuck: whether it was done, and whether it was not.
    pub const fn may_be_known(&self) -> (bool, bool) {
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
    pub(super) const fn gives(self, outcome: Outcome, from_balance: bool) -> bool {
        let done = matches!(outcome, Outcome::Done);
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
    pub(super) const fn is_contradicted(self, outcome: Outcome, standing: Standing) -> bool {
        match (outcome, standing) {
            (Outcome::Done, Standing::Refused | Standing::Returned)
            | (Outcome::NotDone, Standing::Done | Standing::UnderWay | Standing::Held) => true,
            (Outcome::Done, Standing::NotAsked) => self.is_known_where_asked(),
            (Outcome::Done, Standing::UnderWay | Standing::Held) => self.is_not_done_under_way(),
            (Outcome::Done, Standing::Done)
            | (Outcome::NotDone, Standing::NotAsked | Standing::Refused | Standing::Returned) => false,
        }
    }
}
