//! An international card as a product.

use super::{IntlOrder, Job, OVERDUE_AFTER_MS, Status};
use crate::currency::Currency;
use crate::id::CardId;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, table};
use crate::ledger::Charge;
use crate::money::Cents;
use crate::product::{
    ListedOrder, Money, Precondition, Product, ProductLine, PurchaseTerms, Sale, Usable, encode_fingerprint,
};
use crate::reconciliation::ReconciliationSource;

/// Purchase of an international card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IntlCardPurchase {
    /// Amount on the card.
    pub amount: Cents,
    /// The owner's name for it.
    pub label: Option<String>,
}

impl PurchaseTerms for IntlCardPurchase {
    type Product = IntlOrder;
    type Resolved = ();

    const LINE: ProductLine = ProductLine::IntlCard;
    const STORES_QUOTE: bool = false;

    fn amount(&self) -> (Cents, Currency) {
        (self.amount, Currency::USD)
    }

    fn fingerprint_bytes(&self) -> Vec<u8> {
        let Self { amount, label } = self;
        encode_fingerprint((1_u32, amount, label))
    }

    fn preconditions(&self) -> Vec<Precondition> {
        Vec::new()
    }

    fn order(&self, _: &Sale, (): (), _: &Context) -> Self {
        self.clone()
    }
}

impl Product for IntlOrder {
    const ID_FIELD: &'static str = "card_id";
    const FIELD: &'static str = "intl_card_order";
    /// Operators issue the cards, and no list shows them.
    const LISTS: &'static [ReconciliationSource] = &[];
    const WAITS_FOR_FINALITY: bool = false;

    type Order = IntlCardPurchase;

    fn sell<D: Entity>(
        decision: Decision<D>,
        sale: &Sale,
        order: IntlCardPurchase,
        context: &Context,
    ) -> Result<Decision<D>, InvalidTransition> {
        let (id, owner) = (CardId(sale.number), sale.owner);
        let overdue = context.now.plus_ms(OVERDUE_AFTER_MS);
        Ok(decision
            .open(Self::order(id, owner, sale.charge, order.amount, order.label, context)?)
            .index_for_owner(&owner, EntityKind::IntlOrder, id.0, context)
            .put_new(table::intl_order_queue(context.now, id), Vec::new())
            .enqueue_at(overdue, Job::MarkOrderOverdue(id), context))
    }

    fn return_instructions(id: &CardId) -> String {
        format!(
            "Have the card closed where it was created and report it first (`purser admin intl-orders report {id} closed`): what is left \
             is credited automatically, and the rest can be refunded."
        )
    }

    fn charge(&self) -> &Charge {
        &self.charge
    }

    /// Only operators report what was spent of a card, and the requester of a refund may be one of them. The card
    /// therefore counts as unspent.
    fn money(&self) -> Money {
        let (credited, refundable) = (self.credited(), self.charge.remaining(self.credited()));
        match self.status {
            Status::Queued | Status::Claimed(_) => Money::InFlight,
            Status::Ready(_) | Status::Paused(_) => Money::Delivered {
                credited,
                refundable,
                usable: Usable::All,
            },
            Status::Closed(_) | Status::Expired(_) => Money::Returned { credited, refundable },
            Status::Cancelled | Status::Rejected { .. } => Money::Credited,
        }
    }

    fn listed(&self, _: &CardId) -> Vec<ListedOrder> {
        Vec::new()
    }
}
