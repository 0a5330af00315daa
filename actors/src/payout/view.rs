//! A payout as its owner sees it.

use super::{Payout, PayoutTarget, Status};
use crate::currency::Currency;
use crate::id::{PaymentId, PayoutId};
use crate::kernel::{Entity as _, JsonObject};
use crate::money::Usdc;

impl Payout {
    /// Failure reason given by the rail.
    pub fn reason(&self) -> Option<&str> {
        match &self.status {
            Status::Failed { reason } | Status::Cancelled { reason } | Status::Returned { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Amount credited to the payer's balance.
    pub fn credited(&self) -> Option<Usdc> {
        match &self.status {
            Status::Returned { return_fee: kept, .. } => {
                Some(self.charge.provider_amount().checked_sub(*kept).unwrap_or(Usdc::ZERO))
            }
            _ if self.is_credited() => Some(self.charge.charged),
            _ => None,
        }
    }

    /// Without the card or account number, for any reader.
    pub(super) fn view(&self, id: PayoutId) -> JsonObject {
        let view = JsonObject::new()
            .text("payout_id", id)
            .text("product", self.plan.target.line().name())
            .text("status", self.status())
            .text("state", self.status())
            .number("amount", self.amount.decimal())
            .text("currency", self.currency)
            .number("fee_amount", self.charge.fee().decimal())
            .text("fee_currency", Currency::USD)
            .number("charged_amount", self.charge.charged.decimal())
            .number("charged_usd_amount", self.charge.charged.decimal());
        let view = match &self.plan.target {
            PayoutTarget::Card(last4) => view.optional_text("card_last4", last4.as_ref()),
            PayoutTarget::Bank(destination, _) => view.text("destination_id", destination),
            PayoutTarget::App(recipient, platform, _) => {
                view.text("recipient_id", recipient).text("platform", platform.name())
            }
        };
        let view = view.optional_text("failure_reason", self.reason());
        let view = match self.credited() {
            Some(amount) => view.number("credited_amount", amount.decimal()),
            None => view,
        };
        let payment = Some(self.charge.payment).filter(|payment| *payment != PaymentId::NONE);
        view.optional_text("payment_id", payment)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    /// A bank destination as its owner sees it with a payout.
    pub fn destination(&self) -> Option<JsonObject> {
        match &self.plan.target {
            PayoutTarget::Bank(_, bank) => Some(
                JsonObject::new()
                    .text("name", &bank.name)
                    .text("bank_name", &bank.bank_name)
                    .text("account_holder_name", &bank.account_holder_name)
                    .text("account_number_last4", &bank.last4),
            ),
            _ => None,
        }
    }
}
