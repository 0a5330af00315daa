//! What work is about.

use super::Work;

impl Work {
    /// What it is about, for the operator's list.
    pub fn subject(&self) -> String {
        match self {
            Self::Settle(id)
            | Self::Watch(id)
            | Self::AwaitFinal(id)
            | Self::ConfirmCredit(id)
            | Self::Readmit { payment: id, .. } => id.to_string(),
            Self::IssueCard(id)
            | Self::ExpireCard(id)
            | Self::RefreshCard(id)
            | Self::OpenCard(id)
            | Self::SteerCard(id)
            | Self::SteerPrepaid(id)
            | Self::OrderGiftCard(id)
            | Self::EndLease { order: id, .. }
            | Self::IntlOverdue(id)
            | Self::ExpireIntl(id)
            | Self::ForgetCvv(id) => id.to_string(),
            Self::Withdraw(id)
            | Self::EndHold { withdrawal: id, .. }
            | Self::ReserveCardBalance(id)
            | Self::EndReservation(id)
            | Self::EndCardLease { withdrawal: id, .. } => id.to_string(),
            Self::SendPayout(id)
            | Self::RecallPayout(id)
            | Self::ExpirePayout(id)
            | Self::CloseReturns(id)
            | Self::SaveRecipient(id)
            | Self::UncountPayment(id) => id.to_string(),
            Self::LateReturn(id) => id.to_string(),
            Self::SendTopUp(id) | Self::CrossBridge(id) | Self::AwaitCardCredit(id) => id.to_string(),
            Self::Spend(id) | Self::EndSpend { spend: id, .. } | Self::ForgetSpoken(id) => id.to_string(),
            Self::Credit { account, .. }
            | Self::ReleaseCredit { account, .. }
            | Self::FreeShare { account, .. }
            | Self::CountShare { account, .. }
            | Self::CountUnclaimed { account, .. }
            | Self::CountClaimed { account, .. } => account.to_string(),
            Self::CheckIdentity(wallet) | Self::OpenIssuerAccount(wallet) | Self::ReviewApplication(wallet) => {
                wallet.to_string()
            }
            Self::OpenBankAccount(id) => id.to_string(),
            Self::MoveBankMoney(id) => id.to_string(),
            Self::ForgetNumber(id) => id.to_string(),
            Self::PostWebhook { delivery, .. } => delivery.to_string(),
            Self::ResendWebhooks { endpoint, .. } => endpoint.to_string(),
            Self::ConfirmRefund(id) | Self::ExpireRefund { refund: id, .. } => id.to_string(),
            Self::Pursue(id) => id.to_string(),
            Self::PlaceIncoming(id) | Self::SendBack { deposit: id, .. } | Self::ConfirmIncoming(id) => id.to_string(),
        }
    }
}
