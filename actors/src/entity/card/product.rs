//! A prepaid card as a product.

use super::{Card, Job, Status};
use crate::currency::Currency;
use crate::id::{CardId, JobId};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::port::{CardActivity, TransactionStatus};
use crate::product::{
    ListedOrder, Money, Precondition, Product, ProductLine, PurchaseTerms, Sale, Usable, encode_fingerprint,
};
use crate::reconciliation::{EntryStatus, ReconciliationSource};

/// Purchase of a card: its amount.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardPurchase {
    /// Amount on the card.
    pub amount: Cents,
}

impl PurchaseTerms for CardPurchase {
    type Product = Card;
    type Resolved = ();

    const LINE: ProductLine = ProductLine::UsaCard;
    const STORES_QUOTE: bool = false;

    fn amount(&self) -> (Cents, Currency) {
        (self.amount, Currency::USD)
    }

    fn fingerprint_bytes(&self) -> Vec<u8> {
        let Self { amount } = self;
        encode_fingerprint((0_u32, amount))
    }

    fn preconditions(&self) -> Vec<Precondition> {
        Vec::new()
    }

    fn order(&self, _: &Sale, (): (), _: &Context) -> Cents {
        self.amount
    }
}

impl Product for Card {
    const ID_FIELD: &'static str = "card_id";
    const FIELD: &'static str = "card";
    const LISTS: &'static [ReconciliationSource] =
        &[ReconciliationSource::Cards, ReconciliationSource::PrepaidRemainders];
    const WAITS_FOR_FINALITY: bool = false;

    /// Amount on the card.
    type Order = Cents;

    fn sell<D: Entity>(
        decision: Decision<D>,
        sale: &Sale,
        amount: Cents,
        context: &Context,
    ) -> Result<Decision<D>, InvalidTransition> {
        let id = CardId(sale.number);
        Ok(decision
            .open(Self::order(id, sale.owner, sale.charge, amount, context)?)
            .index_for_owner(&sale.owner, EntityKind::Card, id.0, context)
            .enqueue_as(JobId(id.0), Job::IssueCard(id), context))
    }

    fn return_instructions(id: &CardId) -> String {
        format!(
            "The account owner closes {id} first (`POST /close-card`): what is left on it is credited automatically, and the rest can \
             be refunded."
        )
    }

    fn charge(&self) -> &Charge {
        &self.charge
    }

    fn money(&self) -> Money {
        let (credited, refundable) = (self.credited(), self.charge.remaining(self.credited()));
        match self.status {
            Status::Pending => Money::InFlight,
            Status::Ready(_) | Status::Paused(_) => Money::Delivered {
                credited,
                refundable,
                usable: Usable::Remaining(balance(&self.lifecycle.activity)),
            },
            Status::Closed(_) | Status::Expired(_) => Money::Returned { credited, refundable },
            Status::Failed { .. } => Money::Credited,
        }
    }

    fn listed(&self, id: &CardId) -> Vec<ListedOrder> {
        let status = match self.status {
            Status::Pending => EntryStatus::Pending,
            Status::Ready(_) | Status::Paused(_) | Status::Closed(_) | Status::Expired(_) => EntryStatus::Completed,
            Status::Failed { .. } => EntryStatus::Declined,
        };
        let order = ListedOrder {
            source: ReconciliationSource::Cards,
            key: id.0,
            subject: id.to_string(),
            status,
            amount: self.amount,
            currency: Currency::USD,
            at: self.updated_at,
        };
        // Total released so far, once the card has ended.
        let released = self.lifecycle.released;
        let remainder = (released > Cents::ZERO).then_some(ListedOrder {
            source: ReconciliationSource::PrepaidRemainders,
            status: EntryStatus::Completed,
            amount: released,
            ..order.clone()
        });
        [Some(order), remainder].into_iter().flatten().collect()
    }
}

/// Amount on a card including pending transactions: a pending transaction that is cancelled returns to the card.
fn balance(activity: &CardActivity) -> Usdc {
    let pending = activity.transactions.iter();
    let pending = pending.filter(|one| one.status == TransactionStatus::Pending);
    let cents = pending.fold(activity.available, |sum, one| {
        sum.checked_add(one.amount).unwrap_or(Cents::new(u64::MAX))
    });
    // More cents than USDC can represent are more than was charged.
    Usdc::from_cents(cents).unwrap_or(Usdc::from_atomic(u64::MAX))
}
