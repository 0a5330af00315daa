//! How each purchase becomes a product: the one place that knows all of them. What is ordered of a provider has the
//! product's own number as its key, so that either is found by the other; and that number follows from the payment, so that it is
//! found by whoever knows no more than the transfer that paid.

use super::{Event, Found, NewSession, Payment};
use crate::card::Card;
use crate::gift_card::{self, GiftCard};
use crate::id::{CardId, EffectId, PaymentId, PayoutId, TopUpId};
use crate::intl_order::{IntlOrder, OVERDUE_AFTER_MS};
use crate::kernel::effect::Work;
use crate::kernel::{Context, Decision, Kind, OutOfOrder, table};
use crate::ledger::{Charge, Transaction};
use crate::money::Cents;
use crate::payout::{self, Payout, Target};
use crate::product::{Product, Purchase};
use crate::session::{Amr, Session};
use crate::top_up::TopUp;

impl Payment {
    /// Adds the product to a decision, and the payer's session unless a managed wallet paid. What was received and what is owed for it are one ledger
    /// transaction.
    pub(super) fn fulfil(
        &self,
        id: &PaymentId,
        decision: Decision<Self>,
        received: Transaction,
        context: &Context,
    ) -> Result<Decision<Self>, OutOfOrder> {
        let owner = self.account();
        let charge = self.charge(*id);
        let sold = charge.sold(received, self.claim.purchase.line().provider());
        let decision = self.open_session(id, decision, context)?;
        let bought = |product| Event::Fulfilled(product, context.now);
        let decision = match &self.claim.purchase {
            Purchase::UsaCard { amount } => {
                let card = CardId(id.product());
                decision
                    .event(bought(Product::Card(card)))
                    .open(Card::order(card, owner, charge, *amount, context)?)
                    .owned(&owner, Kind::Card, card.0, context)
                    .then_as(EffectId(card.0), Work::IssueCard(card), context)
            }
            Purchase::GiftCard {
                amount,
                currency,
                product,
                country,
            } => {
                let card = CardId(id.product());
                let (fee_rate, quoted) = self.claim.found.offer();
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
                    .then_as(EffectId(card.0), Work::OrderGiftCard(card), context)
            }
            Purchase::IntlCard { amount, label } => {
                let card = CardId(id.product());
                let overdue = context.now.plus_ms(OVERDUE_AFTER_MS);
                decision
                    .event(bought(Product::IntlOrder(card)))
                    .open(IntlOrder::order(card, owner, charge, *amount, label.clone(), context)?)
                    .owned(&owner, Kind::IntlOrder, card.0, context)
                    .put_new(table::queued(context.now, card), Vec::new())
                    .then_at(overdue, Work::IntlOverdue(card), context)
            }
            Purchase::PushToCard { .. } | Purchase::BankPayment { .. } | Purchase::AppPayment { .. } => {
                let payout = PayoutId(id.product());
                let decision =
                    decision
                        .event(bought(Product::Payout(payout)))
                        .owned(&owner, Kind::Payout, payout.0, context);
                self.pay_out(*id, payout, decision, context)?
            }
            Purchase::CardBalance { amount } => self.top_up((*id, charge), *amount, decision, context)?,
        };
        Ok(decision.post(&sold, context))
    }

    /// For the payer's own wallet: whose managed wallet paid has tokens, and nobody else is to have any.
    fn open_session(
        &self,
        payment: &PaymentId,
        decision: Decision<Self>,
        context: &Context,
    ) -> Result<Decision<Self>, OutOfOrder> {
        if self.by_managed_wallet() {
            return Ok(decision);
        }
        let NewSession { id, first, life_ms } = self.claim.session;
        let by = Amr::Payment(*payment);
        let opened = Session::open(id, self.account(), by, first, life_ms, context)?;
        Ok(decision.open(opened))
    }

    fn top_up(
        &self,
        (id, charge): (PaymentId, Charge),
        amount: Cents,
        decision: Decision<Self>,
        context: &Context,
    ) -> Result<Decision<Self>, OutOfOrder> {
        let Found::Linked(address) = self.claim.found else {
            return Err(OutOfOrder::new("settling", &self.claim.found));
        };
        let (owner, rail) = (self.account(), self.claim.authorization.network());
        let top_up = TopUpId(id.product());
        Ok(decision
            .event(Event::Fulfilled(Product::TopUp(top_up), context.now))
            .open(TopUp::pay(top_up, owner, charge, (amount, rail, address), context)?)
            .put(TopUp::listed(&owner, context.now, top_up), Vec::new())
            .then(Work::SendTopUp(top_up), context))
    }

    fn pay_out(
        &self,
        id: PaymentId,
        payout: PayoutId,
        decision: Decision<Self>,
        context: &Context,
    ) -> Result<Decision<Self>, OutOfOrder> {
        let Found::Payout(plan) = &self.claim.found else {
            return Err(OutOfOrder::new("settling", &self.claim.found));
        };
        let (amount, currency) = self.claim.purchase.amount();
        let ordered = payout::Ordered {
            owner: self.account(),
            charge: self.charge(id),
            amount,
            currency,
            plan: (**plan).clone(),
            key: EffectId(payout.0),
            at: context.now,
        };
        let (key, until) = (ordered.key, context.now.plus_ms(plan.terms.wait_ms));
        let decision = decision.open(Payout::order(payout, ordered, context)?);
        Ok(match plan.target {
            Target::Card(_) => decision.then_at(until, Work::ExpirePayout(payout), context),
            Target::Bank(..) => decision.then_as(key, Work::SendPayout(payout), context),
            Target::App(..) => decision
                .then_as(key, Work::SendPayout(payout), context)
                .then(Work::SaveRecipient(payout), context),
        })
    }
}
