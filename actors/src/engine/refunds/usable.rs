//! Product value of a payment: the refundable part, and the part that its owner can still use.

use purser_storage::{Condition, StoreError};

use crate::engine::Engine;
use crate::engine::operators::corrupt;
use crate::entity::PurchasedProduct;
use crate::kernel::table;
use crate::ledger::Charge;
use crate::money::Usdc;
use crate::product::{Money, Usable};

/// Refundable amounts of a payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RefundableAmounts {
    /// Upper bound, whatever the owner keeps. A product that may still fail, or whose money may still return, credits
    /// its payer automatically. That part is never credited twice.
    pub(super) refundable: Usdc,
    /// Value of the product that its owner can still use.
    pub(super) usable: Usdc,
    /// Amount that can be refunded without leaving the owner both the money and the use of it.
    pub(super) refundable_with_product: Usdc,
}

impl RefundableAmounts {
    /// For a charge whose money is there. Our fee buys nothing that can be used.
    fn of(charge: &Charge, money: Money) -> Self {
        let (credited, refundable, usable) = match money {
            Money::InFlight | Money::Credited => return Self::default(),
            Money::Returned { credited, refundable } => (credited, refundable, Usdc::ZERO),
            Money::Delivered {
                credited,
                refundable,
                usable: Usable::All,
            } => (credited, refundable, charge.provider_amount()),
            Money::Delivered {
                credited,
                refundable,
                usable: Usable::Remaining(left),
            } => (credited, refundable, left.min(charge.provider_amount())),
        };
        let kept = credited.checked_add(usable).unwrap_or(charge.charged);
        Self {
            refundable,
            usable,
            refundable_with_product: charge.remaining(kept).min(refundable),
        }
    }
}

impl Engine {
    /// Refundable amounts of a product, and the condition that it has not changed since it was read.
    pub(super) async fn refundable_amounts(
        &self,
        product: PurchasedProduct,
    ) -> Result<(RefundableAmounts, Condition), StoreError> {
        let read = self.product(product).await.map_err(corrupt)?;
        let revision = read.as_ref().map_or(0, |record| record.revision);
        let amounts = read.map_or_else(RefundableAmounts::default, |record| {
            RefundableAmounts::of(&record.charge, record.money)
        });
        let row = table::entity(product.product_type().kind, &product.number().to_be_bytes());
        Ok((amounts, Condition::Revision(row, revision)))
    }
}
