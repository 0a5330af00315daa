//! Product line that a job depends on.

use super::Job;
use crate::product::ProductLine;

/// Line whose provider executes the job, and whether the job waits while that provider is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineDependency {
    /// Its orders wait while the provider is down, and are attempted one at a time.
    WaitsForLine(ProductLine),
    /// The same for the line of the payout's rail, which the payout names.
    WaitsForRail,
    /// It is never delayed, because its order is already in progress.
    Unblocked(ProductLine),
    /// No line's provider is called.
    None,
}

impl Job {
    /// Line whose provider executes this job.
    pub const fn line_dependency(&self) -> LineDependency {
        match self {
            Self::IssueCard(_) => LineDependency::WaitsForLine(ProductLine::UsaCard),
            Self::OrderGiftCard(_) => LineDependency::WaitsForLine(ProductLine::GiftCard),
            Self::SendPayout(_) => LineDependency::WaitsForRail,
            Self::SendTopUp(_) | Self::BridgeTopUp(_) | Self::AwaitIssuerCredit(_) => {
                LineDependency::Unblocked(ProductLine::CardBalance)
            }
            Self::SendWithdrawal(_)
            | Self::SendWalletPayment(_)
            | Self::ExecuteBankTransfer(_)
            | Self::SettlePayment(_)
            | Self::WatchPayment(_)
            | Self::CreditAccount { .. }
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
            | Self::OpenIssuerAccount(_)
            | Self::SettleHold { .. }
            | Self::RecallPayout(_)
            | Self::ExpirePayout(_)
            | Self::CloseReturnWindow(_)
            | Self::ConfirmLateReturnCredit(_)
            | Self::SaveRecipient(_)
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
            | Self::ReleaseCredit { .. } => LineDependency::None,
        }
    }

    /// Whether it waits for a provider that may be closed for a while. It is then retried soon after the provider
    /// opens, however long its delay is.
    pub const fn waits_for_provider(&self) -> bool {
        match self.line_dependency() {
            LineDependency::WaitsForLine(_) | LineDependency::WaitsForRail => true,
            LineDependency::Unblocked(_) | LineDependency::None => false,
        }
    }
}
