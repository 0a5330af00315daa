//! Fulfilment of every kind of purchase. An order at a provider uses the product's number as its key, so each is found
//! by the other. The number is derived from the payment, so it can be found from the paying transfer alone.

use super::{Event, Payment, ResolvedPreconditions, SessionSeed};
use crate::card::Card;
use crate::gift_card::GiftCard;
use crate::id::{CardId, JobId, PaymentId, PayoutId, TopUpId};
use crate::intl_order::{IntlCardTerms, IntlOrder};
use crate::kernel::{Context, Decision, InvalidTransition};
use crate::ledger::LedgerTransaction;
use crate::payout::{Payout, PayoutOrdered};
use crate::port::GiftCardOrder;
use crate::product::{Product as _, Purchase, PurchasedProduct, Sale};
use crate::session::{AuthMethod, Session};
use crate::top_up::{TopUp, TopUpTerms};

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
        let number = id.product_id();
        let sale = Sale { number, owner, charge };
        let bought = |product| Event::Fulfilled(product, context.now);
        let decision = match &self.claim.purchase {
            Purchase::UsaCard { amount } => {
                let decision = decision.event(bought(PurchasedProduct::Card(CardId(number))));
                Card::sell(decision, &sale, *amount, context)?
            }
            Purchase::GiftCard {
                amount,
                currency,
                product,
                country,
            } => {
                let (fee_rate, quoted) = self.claim.resolved.offer();
                let order = GiftCardOrder {
                    product: product.clone(),
                    amount: *amount,
                    currency: *currency,
                    country: *country,
                    fee_rate,
                    quoted,
                };
                let decision = decision.event(bought(PurchasedProduct::GiftCard(CardId(number))));
                GiftCard::sell(decision, &sale, order, context)?
            }
            Purchase::IntlCard { amount, label } => {
                let terms = IntlCardTerms {
                    amount: *amount,
                    label: label.clone(),
                };
                let decision = decision.event(bought(PurchasedProduct::IntlOrder(CardId(number))));
                IntlOrder::sell(decision, &sale, terms, context)?
            }
            Purchase::PushToCard { .. } | Purchase::BankPayment { .. } | Purchase::AppPayment { .. } => {
                let ResolvedPreconditions::Payout(plan) = &self.claim.resolved else {
                    return Err(InvalidTransition::new("settling", &self.claim.resolved));
                };
                let (amount, currency) = self.claim.purchase.amount();
                let ordered = PayoutOrdered {
                    owner,
                    charge,
                    amount,
                    currency,
                    plan: (**plan).clone(),
                    key: JobId(number),
                    at: context.now,
                };
                let decision = decision.event(bought(PurchasedProduct::Payout(PayoutId(number))));
                Payout::sell(decision, &sale, ordered, context)?
            }
            Purchase::CardBalance { amount } => {
                let ResolvedPreconditions::DepositAddress(address) = self.claim.resolved else {
                    return Err(InvalidTransition::new("settling", &self.claim.resolved));
                };
                let terms = TopUpTerms {
                    amount: *amount,
                    rail: self.claim.authorization.network(),
                    address,
                };
                let decision = decision.event(bought(PurchasedProduct::TopUp(TopUpId(number))));
                TopUp::sell(decision, &sale, terms, context)?
            }
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
}
