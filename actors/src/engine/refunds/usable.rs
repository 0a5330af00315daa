//! Product value of a payment: the refundable part, and the part that its owner can still use.

use purser_storage::{Condition, StoreError};

use crate::card::{self, Card};
use crate::engine::Engine;
use crate::engine::operators::corrupt;
use crate::gift_card::{self, GiftCard};
use crate::intl_order::{self, IntlOrder};
use crate::kernel::entity::EntityId as _;
use crate::kernel::{Entity, EntityRegistry, table};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::payout::{self, Payout};
use crate::port::{CardActivity, TransactionStatus};
use crate::product::PurchasedProduct;
use crate::top_up::{self, TopUp};

/// The part of a purchase that its owner can still use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usable {
    /// No product exists, it was reversed, or it is used up.
    Nothing,
    /// Amount left on a card, by the issuer's latest report.
    Remaining(Usdc),
    /// All of it: the owner has the product, and its use can't be determined or prevented.
    All,
}

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
    /// For a charge of which `gone` was already credited automatically. Our fee buys nothing that can be used.
    fn for_charge(charge: &Charge, gone: Usdc, (refundable, usable): (Usdc, Usable)) -> Self {
        let usable = match usable {
            Usable::Nothing => Usdc::ZERO,
            Usable::Remaining(left) => left.min(charge.provider_amount()),
            Usable::All => charge.provider_amount(),
        };
        let kept = gone.checked_add(usable).unwrap_or(charge.charged);
        Self {
            refundable,
            usable,
            refundable_with_product: charge.remaining(kept).min(refundable),
        }
    }
}

/// Refundable amounts of a product's entity.
trait RefundableProduct: Entity {
    fn refundable_amounts(&self) -> RefundableAmounts;
}

impl RefundableProduct for Card {
    fn refundable_amounts(&self) -> RefundableAmounts {
        let (gone, left) = (self.credited(), self.charge.remaining(self.credited()));
        let found = match self.status {
            card::Status::Ready(_) | card::Status::Paused(_) => {
                (left, Usable::Remaining(card_balance(&self.lifecycle.activity)))
            }
            card::Status::Closed(_) | card::Status::Expired(_) => (left, Usable::Nothing),
            card::Status::Pending | card::Status::Failed { .. } => (Usdc::ZERO, Usable::Nothing),
        };
        RefundableAmounts::for_charge(&self.charge, gone, found)
    }
}

/// Amount on a card including pending transactions: a pending transaction that is cancelled returns to the card.
fn card_balance(activity: &CardActivity) -> Usdc {
    let pending = activity.transactions.iter();
    let pending = pending.filter(|one| one.status == TransactionStatus::Pending);
    let cents = pending.fold(activity.available, |sum, one| {
        sum.checked_add(one.amount).unwrap_or(Cents::new(u64::MAX))
    });
    // More cents than USDC can represent are more than was charged.
    Usdc::from_cents(cents).unwrap_or(Usdc::from_atomic(u64::MAX))
}

impl RefundableProduct for GiftCard {
    fn refundable_amounts(&self) -> RefundableAmounts {
        let found = match self.status {
            gift_card::Status::Completed => (self.charge.charged, Usable::All),
            gift_card::Status::Processing | gift_card::Status::Failed { .. } => (Usdc::ZERO, Usable::Nothing),
        };
        RefundableAmounts::for_charge(&self.charge, Usdc::ZERO, found)
    }
}

impl RefundableProduct for IntlOrder {
    /// Only operators report what was spent of a card, and the requester may be one of them. The card therefore counts
    /// as unspent.
    fn refundable_amounts(&self) -> RefundableAmounts {
        let (gone, left) = (self.credited(), self.charge.remaining(self.credited()));
        let found = match self.status {
            intl_order::Status::Ready(_) | intl_order::Status::Paused(_) => (left, Usable::All),
            intl_order::Status::Closed(_) | intl_order::Status::Expired(_) => (left, Usable::Nothing),
            intl_order::Status::Queued
            | intl_order::Status::Claimed(_)
            | intl_order::Status::Cancelled
            | intl_order::Status::Rejected { .. } => (Usdc::ZERO, Usable::Nothing),
        };
        RefundableAmounts::for_charge(&self.charge, gone, found)
    }
}

impl RefundableProduct for Payout {
    /// A payout may be returned at any time and is credited then. Our fee never is.
    fn refundable_amounts(&self) -> RefundableAmounts {
        let found = match self.status {
            payout::Status::Complete { .. } => (self.charge.fee(), Usable::All),
            payout::Status::Returned { .. } => (self.charge.fee(), Usable::Nothing),
            payout::Status::AwaitingDetails
            | payout::Status::Queued
            | payout::Status::InProcess
            | payout::Status::Failed { .. }
            | payout::Status::Cancelled { .. }
            | payout::Status::Expired => (Usdc::ZERO, Usable::Nothing),
        };
        RefundableAmounts::for_charge(&self.charge, Usdc::ZERO, found)
    }
}

impl RefundableProduct for TopUp {
    fn refundable_amounts(&self) -> RefundableAmounts {
        let found = match self.status {
            top_up::Status::Delivered | top_up::Status::Credited => (self.charge.charged, Usable::All),
            top_up::Status::Paid(_) | top_up::Status::Bridging(_) | top_up::Status::Failed { .. } => {
                (Usdc::ZERO, Usable::Nothing)
            }
        };
        RefundableAmounts::for_charge(&self.charge, Usdc::ZERO, found)
    }
}

impl Engine {
    /// Refundable amounts of a product, and the condition that it has not changed since it was read.
    pub(super) async fn refundable_amounts(
        &self,
        product: PurchasedProduct,
    ) -> Result<(RefundableAmounts, Condition), StoreError> {
        let all = &self.0.registries;
        match product {
            PurchasedProduct::Card(id) => read_refundable(&all.cards, id).await,
            PurchasedProduct::GiftCard(id) => read_refundable(&all.gift_cards, id).await,
            PurchasedProduct::IntlOrder(id) => read_refundable(&all.intl_orders, id).await,
            PurchasedProduct::Payout(id) => read_refundable(&all.payouts, id).await,
            PurchasedProduct::TopUp(id) => read_refundable(&all.top_ups, id).await,
        }
    }
}

async fn read_refundable<E: RefundableProduct>(
    family: &EntityRegistry<E>,
    id: E::Id,
) -> Result<(RefundableAmounts, Condition), StoreError> {
    let read = family.read(&id).await.map_err(corrupt)?;
    let revision = read.as_ref().map_or(0, |(_, revision)| *revision);
    let amounts = read.map_or_else(RefundableAmounts::default, |(entity, _)| entity.refundable_amounts());
    let unchanged = Condition::Revision(table::entity(E::KIND, &id.key()), revision);
    Ok((amounts, unchanged))
}
