//! Fulfilment of every kind of purchase. An order at a provider uses the product's number as its key, so each is found
//! by the other. The number is derived from the payment, so it can be found from the paying transfer alone.

use super::{Event, Payment, ResolvedPreconditions, SessionSeed};
use crate::card::{self, Card};
use crate::gift_card::{self, GiftCard};
use crate::id::{CardId, JobId, PaymentId, PayoutId, TopUpId};
use crate::intl_order;
use crate::intl_order::{IntlOrder, OVERDUE_AFTER_MS};
use crate::kernel::{Context, Decision, EntityKind, InvalidTransition, table};
use crate::ledger::{Charge, LedgerTransaction};
use crate::money::Cents;
use crate::payment_recipient;
use crate::payout::{self, Payout, PayoutTarget};
use crate::product::{Purchase, PurchasedProduct};
use crate::session::{AuthMethod, Session};
use crate::top_up;
use crate::top_up::TopUp;

impl Payment {
    /// Adds the product to a decision, and the payer's session unless an agent wallet paid. The received payment and
    /// the capture are one ledger transaction.
    pub(super) fn fulfil(
        &self,
        id: &PaymentId,
        decision: Decision<Self>,
        received: LedgerTransaction,
        context: &Context,
    ) -> Result<Decision<Self>, InvalidTransition> {
        let owner = self.account();
        let charge = self.charge(*id);
        let sold = charge.capture(received, self.claim.purchase.line().provider());
        let decision = self.open_session(id, decision, context)?;
        let bought = |product| Event::Fulfilled(product, context.now);
        let decision = match &self.claim.purchase {
            Purchase::UsaCard { amount } => {
                let card = CardId(id.product_id());
                decision
                    .event(bought(PurchasedProduct::Card(card)))
                    .open(Card::order(card, owner, charge, *amount, context)?)
                    .index_for_owner(&owner, EntityKind::Card, card.0, context)
                    .enqueue_as(JobId(card.0), card::Job::IssueCard(card), context)
            }
            Purchase::GiftCard {
                amount,
                currency,
                product,
                country,
            } => {
                let card = CardId(id.product_id());
                let (fee_rate, quoted) = self.claim.resolved.offer();
                let order = gift_card::GiftCardOrder {
                    product: product.clone(),
                    amount: *amount,
                    currency: *currency,
                    country: *country,
                    fee_rate,
                    quoted,
                };
                decision
                    .event(bought(PurchasedProduct::GiftCard(card)))
                    .open(GiftCard::order(card, owner, charge, order, context)?)
                    .index_for_owner(&owner, EntityKind::GiftCard, card.0, context)
                    .enqueue_as(JobId(card.0), gift_card::Job::OrderGiftCard(card), context)
            }
            Purchase::IntlCard { amount, label } => {
                let card = CardId(id.product_id());
                let overdue = context.now.plus_ms(OVERDUE_AFTER_MS);
                decision
                    .event(bought(PurchasedProduct::IntlOrder(card)))
                    .open(IntlOrder::order(card, owner, charge, *amount, label.clone(), context)?)
                    .index_for_owner(&owner, EntityKind::IntlOrder, card.0, context)
                    .put_new(table::intl_order_queue(context.now, card), Vec::new())
                    .enqueue_at(overdue, intl_order::Job::MarkOrderOverdue(card), context)
            }
            Purchase::PushToCard { .. } | Purchase::BankPayment { .. } | Purchase::AppPayment { .. } => {
                let payout = PayoutId(id.product_id());
                let decision = decision
                    .event(bought(PurchasedProduct::Payout(payout)))
                    .index_for_owner(&owner, EntityKind::Payout, payout.0, context);
                self.open_payout(*id, payout, decision, context)?
            }
            Purchase::CardBalance { amount } => self.open_top_up((*id, charge), *amount, decision, context)?,
        };
        Ok(decision.post_ledger(&sold, context))
    }

    /// Only for the payer's own wallet: the owner of an agent wallet already has tokens, and no other caller may get
    /// any.
    fn open_session(
        &self,
        payment: &PaymentId,
        decision: Decision<Self>,
        context: &Context,
    ) -> Result<Decision<Self>, InvalidTransition> {
        if self.by_managed_wallet() {
            return Ok(decision);
        }
        let SessionSeed { id, first, life_ms } = self.claim.session;
        let by = AuthMethod::Payment(*payment);
        let opened = Session::open(id, self.account(), by, first, life_ms, context)?;
        Ok(decision.open(opened))
    }

    fn open_top_up(
        &self,
        (id, charge): (PaymentId, Charge),
        amount: Cents,
        decision: Decision<Self>,
        context: &Context,
    ) -> Result<Decision<Self>, InvalidTransition> {
        let ResolvedPreconditions::DepositAddress(address) = self.claim.resolved else {
            return Err(InvalidTransition::new("settling", &self.claim.resolved));
        };
        let (owner, rail) = (self.account(), self.claim.authorization.network());
        let top_up = TopUpId(id.product_id());
        Ok(decision
            .event(Event::Fulfilled(PurchasedProduct::TopUp(top_up), context.now))
            .open(TopUp::open(top_up, owner, charge, (amount, rail, address), context)?)
            .put(TopUp::list_key(&owner, context.now, top_up), Vec::new())
            .enqueue(top_up::Job::SendTopUp(top_up), context))
    }

    fn open_payout(
        &self,
        id: PaymentId,
        payout: PayoutId,
        decision: Decision<Self>,
        context: &Context,
    ) -> Result<Decision<Self>, InvalidTransition> {
        let ResolvedPreconditions::Payout(plan) = &self.claim.resolved else {
            return Err(InvalidTransition::new("settling", &self.claim.resolved));
        };
        let (amount, currency) = self.claim.purchase.amount();
        let ordered = payout::PayoutOrdered {
            owner: self.account(),
            charge: self.charge(id),
            amount,
            currency,
            plan: (**plan).clone(),
            key: JobId(payout.0),
            at: context.now,
        };
        let (key, until) = (ordered.key, context.now.plus_ms(plan.terms.wait_ms));
        let decision = decision.open(Payout::order(payout, ordered, context)?);
        Ok(match plan.target {
            PayoutTarget::Card(_) => decision.enqueue_at(until, payout::Job::ExpirePayout(payout), context),
            PayoutTarget::Bank(..) => decision.enqueue_as(key, payout::Job::SendPayout(payout), context),
            PayoutTarget::App(..) => decision
                .enqueue_as(key, payout::Job::SendPayout(payout), context)
                .enqueue(payment_recipient::Job::SaveRecipient(payout), context),
        })
    }
}
