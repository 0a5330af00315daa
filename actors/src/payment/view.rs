//! A payment as clients see it.

use super::{Payment, Status};
use crate::id::PaymentId;
use crate::kernel::{Entity as _, JsonObject};
use crate::port::{Decline, PreparedTransaction};

impl Payment {
    /// Whether it was released without being sent: a retry claims it again.
    pub const fn is_released(&self) -> bool {
        matches!(self.status, Status::Released | Status::DeclinedUnsent(_))
    }

    /// Transaction made durable for sending, while its outcome is open.
    pub const fn prepared(&self) -> Option<&PreparedTransaction> {
        match &self.status {
            Status::Settling(prepared) | Status::Unknown(prepared) | Status::Declined(_, prepared) => Some(prepared),
            _ => None,
        }
    }

    pub(super) fn view(&self, id: &PaymentId) -> JsonObject {
        let (decline, product) = match &self.status {
            Status::Declined(d, _) | Status::Refused(d) | Status::DeclinedUnsent(d) => (Some(d.reason.as_str()), None),
            Status::Fulfilled { product, .. } => (None, Some(*product)),
            Status::Reversed { product, .. } => (None, *product),
            _ => (None, None),
        };
        let view = JsonObject::new()
            .text("payment_id", id)
            .text("status", self.status())
            .number("amount", self.price().decimal())
            .text("asset", "USDC")
            .text("network", self.claim.authorization.network().caip2())
            .text("payer", self.payer().address())
            .optional_text("transaction", self.transaction())
            .optional_text("error_reason", decline)
            .text("product", self.claim.purchase.line().name())
            .optional_text("product_id", product)
            .time("created_at", self.claim.at)
            .time("last_updated_at", self.updated_at);
        match self.status {
            Status::Resolved { resolution, .. } => view.text("resolution", resolution.name()),
            _ => view,
        }
    }
}

pub(super) fn reorged() -> Decline {
    Decline {
        reason: "payment_reversed".into(),
        message: "the chain has taken the transfer back".into(),
    }
}

pub(super) fn never_settled() -> Decline {
    Decline {
        reason: "settlement_expired".into(),
        message: "the transfer did not reach the chain while it was valid".into(),
    }
}
