//! Which work moves money out of the house.

use super::Work;
use crate::id::{BankTransferId, PayoutId, SpendId, TopUpId, WithdrawalId};

/// What money leaves for: all of it passes one gate, which asks of each whose it is and what still may leave for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// Out of the treasury, for a withdrawal.
    Withdrawal(WithdrawalId),
    /// Out of the treasury, for a top-up: over the bridge, or to its address.
    TopUp(TopUpId),
    /// Out of a managed wallet.
    Spend(SpendId),
    /// By a rail.
    Payout(PayoutId),
    /// By the bank, if it goes to the account there.
    BankTransfer(BankTransferId),
}

impl Work {
    /// What money leaves for when this is done. `None` is work by which none leaves: it is decided, asked after, told or
    /// given back, or what was paid for is delivered. A mint brings on what has left with its burn.
    pub const fn leaves(&self) -> Option<Leaves> {
        match self {
            Self::Withdraw(id) => Some(Leaves::Withdrawal(*id)),
            Self::SendTopUp(id) => Some(Leaves::TopUp(*id)),
            Self::Spend(id) => Some(Leaves::Spend(*id)),
            Self::SendPayout(id) => Some(Leaves::Payout(*id)),
            Self::MoveBankMoney(id) => Some(Leaves::BankTransfer(*id)),
            Self::Settle(_)
            | Self::Watch(_)
            | Self::IssueCard(_)
            | Self::Credit { .. }
            | Self::ConfirmCredit(_)
            | Self::FreeShare { .. }
            | Self::CountShare { .. }
            | Self::CountUnclaimed { .. }
            | Self::CountClaimed { .. }
            | Self::ExpireCard(_)
            | Self::OrderGiftCard(_)
            | Self::Readmit { .. }
            | Self::EndLease { .. }
            | Self::IntlOverdue(_)
            | Self::ExpireIntl(_)
            | Self::ForgetCvv(_)
            | Self::CheckIdentity(_)
            | Self::OpenIssuerAccount(_)
            | Self::EndHold { .. }
            | Self::RecallPayout(_)
            | Self::ExpirePayout(_)
            | Self::CloseReturns(_)
            | Self::LateReturn(_)
            | Self::SaveRecipient(_)
            | Self::CrossBridge(_)
            | Self::AwaitCardCredit(_)
            | Self::RefreshCard(_)
            | Self::EndSpend { .. }
            | Self::ReviewApplication(_)
            | Self::OpenBankAccount(_)
            | Self::ForgetNumber(_)
            | Self::OpenCard(_)
            | Self::SteerCard(_)
            | Self::SteerPrepaid(_)
            | Self::ReserveCardBalance(_)
            | Self::EndReservation(_)
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
            | Self::ReleaseCredit { .. } => None,
        }
    }
}
