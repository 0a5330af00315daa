//! A payment as clients see it.

use serde::Serialize;

use super::{Payment, Resolution, State, Status};
use crate::answer::{Address, ExactDecimal, NetworkId, Time};
use crate::entity::PurchasedProduct;
use crate::id::PaymentId;
use crate::kernel::StateMachine as _;
use crate::port::{Decline, PreparedTransaction};
use crate::product::ProductLine;

/// A payment as its payer sees it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = Payment))]
pub struct PaymentView<'a> {
    /// Id of the payment.
    pub payment_id: PaymentId,
    /// Status of the payment, not of its product; `docs/states.md` has the state chart. `credited` only if the account
    /// was credited. `resolved` if an operator decided its transfer separately and the account was not credited: see
    /// `resolution`.
    pub status: State,
    /// Amount in USDC.
    pub amount: ExactDecimal,
    /// `USDC` is the token.
    pub asset: &'static str,
    /// Network as a CAIP-2 name.
    pub network: NetworkId,
    /// Exact wallet address of the payer.
    pub payer: Address,
    /// Transaction id, once settled.
    #[cfg_attr(feature = "documents", schema(required))]
    pub transaction: Option<&'a str>,
    /// Reason of a failed payment.
    #[cfg_attr(feature = "documents", schema(required))]
    pub error_reason: Option<&'a str>,
    /// Product of the payment, as in `GET /get-pricing`.
    pub product: ProductLine,
    /// `card_…`, `po_…` or `top_…`: id of the product.
    #[cfg_attr(feature = "documents", schema(required))]
    pub product_id: Option<PurchasedProduct>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
    /// Only for `resolved`: `returned` to its sender, `forwarded` for its payer before a restore, or `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

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

    pub(super) fn view(&self, id: &PaymentId) -> PaymentView<'_> {
        let (decline, product) = match &self.status {
            Status::Declined(d, _) | Status::Refused(d) | Status::DeclinedUnsent(d) => (Some(d.reason.as_str()), None),
            Status::Fulfilled { product, .. } => (None, Some(*product)),
            Status::Reversed { product, .. } => (None, *product),
            _ => (None, None),
        };
        let resolution = match self.status {
            Status::Resolved { resolution, .. } => Some(resolution),
            _ => None,
        };
        PaymentView {
            payment_id: *id,
            status: self.state(),
            amount: self.price().into(),
            asset: "USDC",
            network: self.claim.authorization.network().into(),
            payer: self.payer().into(),
            transaction: self.transaction(),
            error_reason: decline,
            product: self.claim.purchase.line(),
            product_id: product,
            created_at: self.claim.at.into(),
            last_updated_at: self.updated_at.into(),
            resolution,
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
