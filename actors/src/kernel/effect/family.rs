//! Who runs which work.

use super::Work;
use crate::kernel::Kind;

impl Work {
    /// Whose supervisor runs it.
    pub const fn family(&self) -> Kind {
        match self {
            Self::Settle(_) | Self::Watch(_) | Self::ConfirmCredit(_) | Self::Readmit { .. } | Self::AwaitFinal(_) => {
                Kind::Payment
            }
            Self::IssueCard(_) | Self::ExpireCard(_) | Self::RefreshCard(_) | Self::SteerPrepaid(_) => Kind::Card,
            Self::OrderGiftCard(_) => Kind::GiftCard,
            Self::Credit { .. }
            | Self::FreeShare { .. }
            | Self::CountShare { .. }
            | Self::CountUnclaimed { .. }
            | Self::CountClaimed { .. }
            | Self::EndHold { .. }
            | Self::ReleaseCredit { .. }
            | Self::SendBack { .. } => Kind::Account,
            Self::EndLease { .. } | Self::IntlOverdue(_) | Self::ExpireIntl(_) | Self::ForgetCvv(_) => Kind::IntlOrder,
            Self::CheckIdentity(_) => Kind::Identity,
            Self::OpenIssuerAccount(_) => Kind::Link,
            Self::Withdraw(_) => Kind::Withdrawal,
            Self::SendPayout(_) | Self::RecallPayout(_) | Self::ExpirePayout(_) | Self::CloseReturns(_) => Kind::Payout,
            Self::LateReturn(_) => Kind::LateReturn,
            Self::SaveRecipient(_) | Self::UncountPayment(_) => Kind::Recipient,
            Self::OpenCard(_) | Self::SteerCard(_) => Kind::Reloadable,
            Self::ReserveCardBalance(_) | Self::EndReservation(_) | Self::EndCardLease { .. } => Kind::CardWithdrawal,
            Self::ReviewApplication(_) => Kind::Application,
            Self::OpenBankAccount(_) => Kind::BankAccount,
            Self::MoveBankMoney(_) => Kind::BankTransfer,
            Self::ForgetNumber(_) => Kind::Destination,
            Self::SendTopUp(_) | Self::CrossBridge(_) | Self::AwaitCardCredit(_) => Kind::TopUp,
            Self::Spend(_) | Self::ForgetSpoken(_) => Kind::Spend,
            Self::EndSpend { .. } => Kind::AgentWallet,
            Self::PostWebhook { .. } => Kind::WebhookDelivery,
            Self::ResendWebhooks { .. } => Kind::Webhook,
            Self::ConfirmRefund(_) | Self::ExpireRefund { .. } => Kind::Refund,
            Self::Pursue(_) => Kind::Difference,
            Self::PlaceIncoming(_) | Self::ConfirmIncoming(_) => Kind::Incoming,
        }
    }
}
