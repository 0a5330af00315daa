//! What a payment bought: how much of its charge can be given back, and how much its holder would keep besides.

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

/// How much of what a payment bought its holder can still use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usable {
    /// There is none, it is taken back, or it is used up.
    Nothing,
    /// So much is left on a card, by its issuer's newest word.
    Remaining(Usdc),
    /// The holder has it, and it cannot be known or no longer be helped how much of it is used.
    All,
}

/// What can be given back of a payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RefundableAmounts {
    /// At most, whatever the holder keeps. A product that may still fail, or whose money may still come back, credits its payer
    /// by itself: that much is never given back twice.
    pub(super) refundable: Usdc,
    /// Of what the product is worth, what its holder can still use.
    pub(super) usable: Usdc,
    /// What can be given back without giving the holder money for what they can still use.
    pub(super) refundable_with_product: Usdc,
}

impl RefundableAmounts {
    /// Of a charge of which so much went back by itself. Our fee buys nothing that can be used.
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

/// A product's answer.
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

/// Left on a card, with what pending charges have set aside: a charge that is given up is on the card again.
fn card_balance(activity: &CardActivity) -> Usdc {
    let pending = activity.transactions.iter();
    let pending = pending.filter(|one| one.status == TransactionStatus::Pending);
    let cents = pending.fold(activity.available, |sum, one| {
        sum.checked_add(one.amount).unwrap_or(Cents::new(u64::MAX))
    });
    // What is more than there is in USDC is more than was charged.
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
    /// What was spent of a card that is used only operators say, and one of them may be asking: it counts as unspent.
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
    /// What was paid out may come back for ever, and is credited then; our fee is never.
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
    /// What a product leaves to give back, and the condition that it has not changed since it was read.
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
    let room = read.map_or_else(RefundableAmounts::default, |(entity, _)| entity.refundable_amounts());
    let unchanged = Condition::Revision(table::entity(E::KIND, &id.key()), revision);
    Ok((room, unchanged))
}
