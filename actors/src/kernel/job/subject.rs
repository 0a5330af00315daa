//! Subject of each job type.

use super::Job;

impl Job {
    /// Id of the job's subject, for the operator API.
    pub fn subject(&self) -> String {
        match self {
            Self::SettlePayment(id)
            | Self::WatchPayment(id)
            | Self::AwaitFinal(id)
            | Self::ConfirmPaymentCredit(id)
            | Self::ReadmitPayment { payment: id, .. } => id.to_string(),
            Self::IssueCard(id)
            | Self::ExpireCard(id)
            | Self::RefreshCard(id)
            | Self::OpenReloadableCard(id)
            | Self::ChangeCardState(id)
            | Self::ChangePrepaidCardState(id)
            | Self::OrderGiftCard(id)
            | Self::ExpireOrderLease { order: id, .. }
            | Self::MarkOrderOverdue(id)
            | Self::ExpireIntlCard(id)
            | Self::ShredCvv(id) => id.to_string(),
            Self::SendWithdrawal(id)
            | Self::SettleHold { withdrawal: id, .. }
            | Self::HoldCardBalance(id)
            | Self::SettleCardHold(id)
            | Self::ExpireWithdrawalLease { withdrawal: id, .. } => id.to_string(),
            Self::SendPayout(id)
            | Self::RecallPayout(id)
            | Self::ExpirePayout(id)
            | Self::CloseReturnWindow(id)
            | Self::SaveRecipient(id)
            | Self::ReverseRecipientTotals(id) => id.to_string(),
            Self::ConfirmLateReturnCredit(id) => id.to_string(),
            Self::SendTopUp(id) | Self::BridgeTopUp(id) | Self::AwaitIssuerCredit(id) => id.to_string(),
            Self::SendWalletPayment(id) | Self::SettleWalletHold { payment: id, .. } | Self::PurgeHttpRecord(id) => {
                id.to_string()
            }
            Self::CreditAccount { account, .. }
            | Self::ReleaseCredit { account, .. }
            | Self::ReleaseCapReservation { account, .. }
            | Self::CountCapReservation { account, .. }
            | Self::CountUnclaimed { account, .. }
            | Self::CountClaimed { account, .. } => account.to_string(),
            Self::CheckIdentity(wallet) | Self::OpenIssuerAccount(wallet) | Self::SubmitBankApplication(wallet) => {
                wallet.to_string()
            }
            Self::OpenBankAccount(id) => id.to_string(),
            Self::ExecuteBankTransfer(id) => id.to_string(),
            Self::ShredAccountNumber(id) => id.to_string(),
            Self::DeliverWebhook { delivery, .. } => delivery.to_string(),
            Self::RedeliverWebhooks { endpoint, .. } => endpoint.to_string(),
            Self::ConfirmRefund(id) | Self::ExpireRefund { refund: id, .. } => id.to_string(),
            Self::ConfirmReorg(id) => id.to_string(),
            Self::ClassifyIncoming(id) | Self::SendBack { deposit: id, .. } | Self::ConfirmIncoming(id) => {
                id.to_string()
            }
        }
    }
}
