//! Which work a line's provider is asked for.

use super::Work;
use crate::product::Line;

/// The line whose provider is asked for work, and whether the work waits while that provider is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtLine {
    /// Its orders wait while the provider is down, and are tried one at a time.
    Waits(Line),
    /// The same for the line of the payout's rail, which the payout names.
    WaitsForRail,
    /// It is never held back: what it carries is under way already.
    Goes(Line),
    /// No line's provider is asked.
    None,
}

impl Work {
    /// Which line's provider is asked for this.
    pub const fn at_line(&self) -> AtLine {
        match self {
            Self::IssueCard(_) => AtLine::Waits(Line::UsaCard),
            Self::OrderGiftCard(_) => AtLine::Waits(Line::GiftCard),
            Self::SendPayout(_) => AtLine::WaitsForRail,
            Self::SendTopUp(_) | Self::CrossBridge(_) | Self::AwaitCardCredit(_) => AtLine::Goes(Line::CardBalance),
            Self::Withdraw(_)
            | Self::Spend(_)
            | Self::MoveBankMoney(_)
            | Self::Settle(_)
            | Self::Watch(_)
            | Self::Credit { .. }
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
            | Self::OpenIssuerAccount(_)
            | Self::EndHold { .. }
            | Self::RecallPayout(_)
            | Self::ExpirePayout(_)
            | Self::CloseReturns(_)
            | Self::LateReturn(_)
            | Self::SaveRecipient(_)
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
