//! Jobs that move money out of the service.

use super::Job;
use crate::id::{BankTransferId, PayoutId, TopUpId, WalletPaymentId, WithdrawalId};

/// Purpose of outgoing money. All of it passes one gate, which checks the account and the payment behind each purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutgoingPurpose {
    /// From the treasury, for a withdrawal.
    Withdrawal(WithdrawalId),
    /// From the treasury, for a top-up: over the bridge, or to its address.
    TopUp(TopUpId),
    /// From an agent wallet.
    WalletPayment(WalletPaymentId),
    /// By a payout rail.
    Payout(PayoutId),
    /// By the bank, if it goes to the account there.
    BankTransfer(BankTransferId),
}

impl Job {
    /// Purpose of the money that this job moves out. `None` for jobs that move none: they decide, poll, notify or
    /// credit, or deliver what was paid. A mint only continues a burn whose money has already left.
    pub const fn outgoing_purpose(&self) -> Option<OutgoingPurpose> {
        match self {
            Self::SendWithdrawal(id) => Some(OutgoingPurpose::Withdrawal(*id)),
            Self::SendTopUp(id) => Some(OutgoingPurpose::TopUp(*id)),
            Self::SendWalletPayment(id) => Some(OutgoingPurpose::WalletPayment(*id)),
            Self::SendPayout(id) => Some(OutgoingPurpose::Payout(*id)),
            Self::ExecuteBankTransfer(id) => Some(OutgoingPurpose::BankTransfer(*id)),
            Self::SettlePayment(_)
            | Self::WatchPayment(_)
            | Self::IssueCard(_)
            | Self::CreditAccount { .. }
            | Self::ConfirmPaymentCredit(_)
            | Self::ReleaseCapReservation { .. }
            | Self::CountCapReservation { .. }
            | Self::CountUnclaimed { .. }
            | Self::CountClaimed { .. }
            | Self::ExpireCard(_)
            | Self::OrderGiftCard(_)
            | Self::ReadmitPayment { .. }
            | Self::ExpireOrderLease { .. }
            | Self::MarkOrderOverdue(_)
            | Self::ExpireIntlCard(_)
            | Self::ShredCvv(_)
            | Self::CheckIdentity(_)
            | Self::OpenIssuerAccount(_)
            | Self::SettleHold { .. }
            | Self::RecallPayout(_)
            | Self::ExpirePayout(_)
            | Self::CloseReturnWindow(_)
            | Self::ConfirmLateReturnCredit(_)
            | Self::SaveRecipient(_)
            | Self::BridgeTopUp(_)
            | Self::AwaitIssuerCredit(_)
            | Self::RefreshCard(_)
            | Self::SettleWalletHold { .. }
            | Self::SubmitBankApplication(_)
            | Self::OpenBankAccount(_)
            | Self::ShredAccountNumber(_)
            | Self::OpenReloadableCard(_)
            | Self::ChangeCardState(_)
            | Self::ChangePrepaidCardState(_)
            | Self::HoldCardBalance(_)
            | Self::SettleCardHold(_)
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
            | Self::ReleaseCredit { .. } => None,
        }
    }
}
