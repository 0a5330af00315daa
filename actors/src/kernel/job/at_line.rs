//! Which work a line's provider is asked for.

use super::Job;
use crate::product::ProductLine;

/// The line whose provider is asked for work, and whether the work waits while that provider is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtLine {
    /// Its orders wait while the provider is down, and are tried one at a time.
    Waits(ProductLine),
    /// The same for the line of the payout's rail, which the payout names.
    WaitsForRail,
    /// It is never held back: what it carries is under way already.
    Goes(ProductLine),
    /// No line's provider is asked.
    None,
}

impl Job {
    /// Which line's provider is asked for this.
    pub const fn at_line(&self) -> AtLine {
        match self {
            Self::IssueCard(_) => AtLine::Waits(ProductLine::UsaCard),
            Self::OrderGiftCard(_) => AtLine::Waits(ProductLine::GiftCard),
            Self::SendPayout(_) => AtLine::WaitsForRail,
            Self::SendTopUp(_) | Self::BridgeTopUp(_) | Self::AwaitIssuerCredit(_) => {
                AtLine::Goes(ProductLine::CardBalance)
            }
            Self::SendWithdrawal(_)
            | Self::SendWalletPayment(_)
            | Self::ExecuteBankTransfer(_)
            | Self::SettlePayment(_)
            | Self::WatchPayment(_)
            | Self::CreditAccount { .. }
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
            | Self::SteerPrepaid(_)
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
            | Self::PlaceIncoming(_)
            | Self::SendBack { .. }
            | Self::ConfirmIncoming(_)
            | Self::AwaitFinal(_)
            | Self::ReleaseCredit { .. } => AtLine::None,
        }
    }

    /// Whether it waits for a provider that may be closed for a while: then it is tried again soon after that has ended, however
    /// long it would wait otherwise.
    pub const fn may_be_woken(&self) -> bool {
        match self.at_line() {
            AtLine::Waits(_) | AtLine::WaitsForRail => true,
            AtLine::Goes(_) | AtLine::None => false,
        }
    }
}
