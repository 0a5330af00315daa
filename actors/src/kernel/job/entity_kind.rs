//! Entity kind of each job type.

use super::Job;
use crate::kernel::EntityKind;

impl Job {
    /// Entity kind whose supervisor runs the job.
    pub const fn entity_kind(&self) -> EntityKind {
        match self {
            Self::SettlePayment(_)
            | Self::WatchPayment(_)
            | Self::ConfirmPaymentCredit(_)
            | Self::ReadmitPayment { .. }
            | Self::AwaitFinal(_) => EntityKind::Payment,
            Self::IssueCard(_) | Self::ExpireCard(_) | Self::RefreshCard(_) | Self::ChangePrepaidCardState(_) => {
                EntityKind::Card
            }
            Self::OrderGiftCard(_) => EntityKind::GiftCard,
            Self::CreditAccount { .. }
            | Self::ReleaseCapReservation { .. }
            | Self::CountCapReservation { .. }
            | Self::CountUnclaimed { .. }
            | Self::CountClaimed { .. }
            | Self::SettleHold { .. }
            | Self::ReleaseCredit { .. }
            | Self::SendBack { .. } => EntityKind::Account,
            Self::ExpireOrderLease { .. } | Self::MarkOrderOverdue(_) | Self::ExpireIntlCard(_) | Self::ShredCvv(_) => {
                EntityKind::IntlOrder
            }
            Self::CheckIdentity(_) => EntityKind::Identity,
            Self::OpenIssuerAccount(_) => EntityKind::IssuerLink,
            Self::SendWithdrawal(_) => EntityKind::Withdrawal,
            Self::SendPayout(_) | Self::RecallPayout(_) | Self::ExpirePayout(_) | Self::CloseReturnWindow(_) => {
                EntityKind::Payout
            }
            Self::ConfirmLateReturnCredit(_) => EntityKind::LateReturn,
            Self::SaveRecipient(_) | Self::ReverseRecipientTotals(_) => EntityKind::PaymentRecipient,
            Self::OpenReloadableCard(_) | Self::ChangeCardState(_) => EntityKind::ReloadableCard,
            Self::HoldCardBalance(_) | Self::SettleCardHold(_) | Self::ExpireWithdrawalLease { .. } => {
                EntityKind::CardWithdrawal
            }
            Self::SubmitBankApplication(_) => EntityKind::BankingApplication,
            Self::OpenBankAccount(_) => EntityKind::BankAccount,
            Self::ExecuteBankTransfer(_) => EntityKind::BankTransfer,
            Self::ShredAccountNumber(_) => EntityKind::BankDestination,
            Self::SendTopUp(_) | Self::BridgeTopUp(_) | Self::AwaitIssuerCredit(_) => EntityKind::TopUp,
            Self::SendWalletPayment(_) | Self::PurgeHttpRecord(_) => EntityKind::WalletPayment,
            Self::SettleWalletHold { .. } => EntityKind::AgentWallet,
            Self::DeliverWebhook { .. } => EntityKind::WebhookDelivery,
            Self::RedeliverWebhooks { .. } => EntityKind::Webhook,
            Self::ConfirmRefund(_) | Self::ExpireRefund { .. } => EntityKind::Refund,
            Self::ConfirmReorg(_) => EntityKind::Discrepancy,
            Self::ClassifyIncoming(_) | Self::ConfirmIncoming(_) => EntityKind::Incoming,
        }
    }
}
