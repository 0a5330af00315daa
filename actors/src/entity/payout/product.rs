//! A payout as a product.

use super::{Job, Payout, PayoutOrdered, PayoutPlan, PayoutTarget, Status};
use crate::currency::Currency;
use crate::entity::payment_recipient;
use crate::id::{BankDestinationId, JobId, PayoutId};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::port::payouts::{AppPayee, Platform};
use crate::product::{
    ListedOrder, Money, Precondition, Product, ProductLine, PurchaseTerms, Sale, Usable, encode_fingerprint,
};
use crate::reconciliation::{EntryStatus, ReconciliationSource};

/// Purchase of a payout to a debit card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PushToCardPurchase {
    /// Amount in its currency.
    pub amount: Cents,
    /// Currency that the recipient gets.
    pub currency: Currency,
    /// What the payer writes to the recipient.
    pub message: Option<String>,
}

/// Purchase of a payout to a registered bank destination.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankPaymentPurchase {
    /// Amount in US dollars.
    pub amount: Cents,
    /// Destination of the payer.
    pub destination: BankDestinationId,
}

/// Purchase of a payout to a payment app.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AppPaymentPurchase {
    /// Amount in US dollars.
    pub amount: Cents,
    /// May be omitted for a saved recipient.
    pub platform: Option<Platform>,
    /// Recipient as the caller names it.
    pub payee: Box<AppPayee>,
}

impl PurchaseTerms for PushToCardPurchase {
    type Product = Payout;
    type Resolved = PayoutPlan;

    const LINE: ProductLine = ProductLine::PushToCard;
    const STORES_QUOTE: bool = true;

    fn amount(&self) -> (Cents, Currency) {
        (self.amount, self.currency)
    }

    fn fingerprint_bytes(&self) -> Vec<u8> {
        let Self {
            amount,
            currency,
            message,
        } = self;
        match message {
            // As before there were messages.
            None => encode_fingerprint((3_u32, amount, currency)),
            Some(message) => encode_fingerprint((3_u32, amount, currency, message)),
        }
    }

    fn preconditions(&self) -> Vec<Precondition> {
        Vec::new()
    }

    fn order(&self, sale: &Sale, plan: PayoutPlan, context: &Context) -> PayoutOrdered {
        PayoutOrdered {
            message: self.message.clone(),
            ..ordered(sale, self.amount(), plan, context)
        }
    }
}

impl PurchaseTerms for BankPaymentPurchase {
    type Product = Payout;
    type Resolved = PayoutPlan;

    const LINE: ProductLine = ProductLine::BankPayment;
    const STORES_QUOTE: bool = true;

    fn amount(&self) -> (Cents, Currency) {
        (self.amount, Currency::USD)
    }

    fn fingerprint_bytes(&self) -> Vec<u8> {
        let Self { amount, destination } = self;
        encode_fingerprint((4_u32, amount, destination))
    }

    fn preconditions(&self) -> Vec<Precondition> {
        vec![Precondition::OwnsDestination(self.destination)]
    }

    fn order(&self, sale: &Sale, plan: PayoutPlan, context: &Context) -> PayoutOrdered {
        ordered(sale, self.amount(), plan, context)
    }
}

impl PurchaseTerms for AppPaymentPurchase {
    type Product = Payout;
    type Resolved = PayoutPlan;

    const LINE: ProductLine = ProductLine::AppPayment;
    const STORES_QUOTE: bool = true;

    fn amount(&self) -> (Cents, Currency) {
        (self.amount, Currency::USD)
    }

    fn fingerprint_bytes(&self) -> Vec<u8> {
        let Self {
            amount,
            platform,
            payee,
        } = self;
        let AppPayee {
            recipient,
            first_name,
            last_name,
            email,
        } = &**payee;
        encode_fingerprint((5_u32, amount, platform, recipient, first_name, last_name, email))
    }

    fn preconditions(&self) -> Vec<Precondition> {
        let saved = self.payee.recipient.parse().ok().map(Precondition::OwnsRecipient);
        [Precondition::IdentityVerified].into_iter().chain(saved).collect()
    }

    fn order(&self, sale: &Sale, plan: PayoutPlan, context: &Context) -> PayoutOrdered {
        ordered(sale, self.amount(), plan, context)
    }
}

fn ordered(sale: &Sale, (amount, currency): (Cents, Currency), plan: PayoutPlan, context: &Context) -> PayoutOrdered {
    PayoutOrdered {
        owner: sale.owner,
        charge: sale.charge,
        amount,
        currency,
        message: None,
        plan,
        key: JobId(sale.number),
        at: context.now,
    }
}

impl Product for Payout {
    const ID_FIELD: &'static str = "payout_id";
    const FIELD: &'static str = "payout";
    const LISTS: &'static [ReconciliationSource] = &[ReconciliationSource::Payouts];
    const WAITS_FOR_FINALITY: bool = true;

    type Order = PayoutOrdered;

    fn sell<D: Entity>(
        decision: Decision<D>,
        sale: &Sale,
        ordered: PayoutOrdered,
        context: &Context,
    ) -> Result<Decision<D>, InvalidTransition> {
        let (id, key, target) = (PayoutId(sale.number), ordered.key, ordered.plan.target.clone());
        let until = context.now.plus_ms(ordered.plan.terms.wait_ms);
        let decision = decision
            .index_for_owner(&sale.owner, EntityKind::Payout, id.0, context)
            .open(Self::order(id, ordered, context)?);
        Ok(match target {
            PayoutTarget::Card(_) => decision.enqueue_at(until, Job::ExpirePayout(id), context),
            PayoutTarget::Bank(..) => decision.enqueue_as(key, Job::SendPayout(id), context),
            PayoutTarget::App(..) => decision
                .enqueue_as(key, Job::SendPayout(id), context)
                .enqueue(payment_recipient::Job::SaveRecipient(id), context),
        })
    }

    fn return_instructions(_: &PayoutId) -> String {
        "A completed payout cannot be recalled.".to_owned()
    }

    fn charge(&self) -> &Charge {
        &self.charge
    }

    /// A payout may be returned at any time and is credited then. Our fee never is.
    fn money(&self) -> Money {
        let refundable = self.charge.fee();
        match self.status {
            Status::AwaitingDetails | Status::Queued | Status::InProcess => Money::InFlight,
            Status::Complete { .. } => Money::Delivered {
                credited: Usdc::ZERO,
                refundable,
                usable: Usable::All,
            },
            Status::Returned { .. } => Money::Returned {
                credited: self.credited().unwrap_or(Usdc::ZERO),
                refundable,
            },
            Status::Failed { .. } | Status::Cancelled { .. } | Status::Expired => Money::Credited,
        }
    }

    fn listed(&self, id: &PayoutId) -> Vec<ListedOrder> {
        let status = match &self.status {
            Status::AwaitingDetails | Status::Expired => EntryStatus::NotSubmitted,
            Status::Queued | Status::InProcess => EntryStatus::Pending,
            Status::Complete { .. } if self.returned_late => EntryStatus::Returned,
            Status::Complete { .. } => EntryStatus::Completed,
            Status::Failed { .. } | Status::Cancelled { .. } => EntryStatus::Declined,
            Status::Returned { .. } => EntryStatus::Returned,
        };
        vec![ListedOrder {
            source: ReconciliationSource::Payouts,
            key: self.key.0,
            subject: id.to_string(),
            status,
            amount: self.amount,
            currency: self.currency,
            at: self.updated_at,
        }]
    }
}
