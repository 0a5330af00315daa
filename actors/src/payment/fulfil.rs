//! How each purchase becomes a product: the one place that knows all of them.

use super::{Event, Found, Payment};
use crate::card::Card;
use crate::gift_card::{self, GiftCard};
use crate::id::{CardId, PaymentId};
use crate::intl_order::{IntlOrder, OVERDUE_AFTER_MS};
use crate::kernel::effect::Work;
use crate::kernel::{Context, Decision, Kind, OutOfOrder, table};
use crate::ledger::Transaction;
use crate::product::{Product, Purchase};
use crate::session::{Amr, Session};

impl Payment {
    /// Adds the product and the payer's session to a decision. What was received and what is owed for it are one ledger
    /// transaction.
    pub(super) fn fulfil(
        &self,
        id: &PaymentId,
        decision: Decision<Self>,
        received: Transaction,
        context: &Context,
    ) -> Result<Decision<Self>, OutOfOrder> {
        let (owner, session) = (self.payer(), self.claim.session);
        let charge = self.charge(*id);
        let (life, first) = (session.life_ms, session.first);
        let opened = Session::open(session.id, owner, Amr::Payment, first, life, context)?;
        let sold = charge.sold(received, self.claim.purchase.line().provider());
        let decision = decision.open(opened);
        let bought = |product| Event::Fulfilled(product, context.now);
        let decision = match &self.claim.purchase {
            Purchase::UsaCard { amount } => {
                let card = CardId(context.id());
                decision
                    .event(bought(Product::Card(card)))
                    .open(Card::order(card, owner, charge, *amount, context)?)
                    .owned(&owner, Kind::Card, card.0, context)
                    .then(Work::IssueCard(card), context)
            }
            Purchase::GiftCard {
                amount,
                currency,
                product,
                country,
            } => {
                let card = CardId(context.id());
                let (fee_rate, quoted) = match &self.claim.found {
                    Found::Offer { fee_rate, quoted } => (fee_rate.clone(), quoted.clone()),
                    Found::Nothing => Default::default(),
                };
                let order = gift_card::Order {
                    product: product.clone(),
                    amount: *amount,
                    currency: *currency,
                    country: *country,
                    fee_rate,
                    quoted,
                };
                decision
                    .event(bought(Product::GiftCard(card)))
                    .open(GiftCard::order(card, owner, charge, order, context)?)
                    .owned(&owner, Kind::GiftCard, card.0, context)
                    .then(Work::OrderGiftCard(card), context)
            }
            Purchase::IntlCard { amount, label } => {
                let card = CardId(context.id());
                let overdue = context.now.plus_ms(OVERDUE_AFTER_MS);
                decision
                    .event(bought(Product::IntlOrder(card)))
                    .open(IntlOrder::order(card, owner, charge, *amount, label.clone(), context)?)
                    .owned(&owner, Kind::IntlOrder, card.0, context)
                    .put_new(table::queued(context.now, card), Vec::new())
                    .then_at(overdue, Work::IntlOverdue(card), context)
            }
            other => return Err(OutOfOrder::new("settling", other)),
        };
        Ok(decision.post(&sold, context))
    }
}
