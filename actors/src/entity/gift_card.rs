//! A gift card: ordered from a catalog once its payment has settled.
//!
//! ```text
//! processing --catalog--> COMPLETED
//!      `--catalog's definite decline--> FAILED, the whole charge credited to the payer's balance
//! ```
//!
//! The redemption secrets (link, code, PIN) are a vault record and in no event. A time-out of the catalog never counts
//! as a decline: the order remains open under the same idempotency key until the catalog confirms or declines it.

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::{ExactDecimal, Time};
use crate::currency::{Country, Currency};
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::id::PaymentId;
use crate::id::{CardId, JobId, Wallet};
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, Queue, jobs};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, NewEntity, StateMachine as _, table};
use crate::ledger::{Charge, LedgerProvider};
use crate::money::Cents;
use crate::money::Usdc;
use crate::port::ExternalText;
use crate::port::GiftCardOrder;
use crate::port::Timestamp;
use crate::product::{
    ListedOrder, Money, Precondition, Product, ProductLine, PurchaseTerms, Sale, Usable, encode_fingerprint,
};
use crate::quote::QuoteFacts;
use crate::reconciliation::{EntryStatus, ReconciliationSource};

jobs! { GiftCard:
    /// Order a gift card from the catalog.
    8 OrderGiftCard(id: CardId) = "order_gift_card" => JobPolicy {
        line: LineDependency::WaitsForLine(ProductLine::GiftCard),
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::NotCompleted,
            credits: Credits::IfNotCompleted,
            credit_needs_proof: true,
            absence_is_definitive: false,
            pending_means_not_completed: false,
        }),
    };
}

/// Purchase of a gift card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct GiftCardPurchase {
    /// Amount in the product's currency.
    pub amount: Cents,
    /// Currency of the product.
    pub currency: Currency,
    /// Id of the product in the catalog.
    pub product: String,
    /// Country where it will be redeemed.
    pub country: Country,
}

impl PurchaseTerms for GiftCardPurchase {
    type Product = GiftCard;
    type Resolved = StockOffer;

    const LINE: ProductLine = ProductLine::GiftCard;
    const STORES_QUOTE: bool = true;

    fn amount(&self) -> (Cents, Currency) {
        (self.amount, self.currency)
    }

    fn fingerprint_bytes(&self) -> Vec<u8> {
        let Self {
            amount,
            currency,
            product,
            country,
        } = self;
        encode_fingerprint((2_u32, amount, currency, product, country))
    }

    fn preconditions(&self) -> Vec<Precondition> {
        vec![Precondition::InStock]
    }

    fn order(&self, _: &Sale, offer: StockOffer, _: &Context) -> GiftCardOrder {
        GiftCardOrder {
            product: self.product.clone(),
            amount: self.amount,
            currency: self.currency,
            country: self.country,
            fee_rate: offer.fee_rate,
            quoted: offer.quoted,
        }
    }
}

/// The catalog's offer when the stock was checked.
#[derive(Debug, Default)]
pub struct StockOffer {
    /// Fee rate of the catalog, as decimal text.
    pub fee_rate: String,
    /// Quote of the sale.
    pub quoted: Box<QuoteFacts>,
}

/// State of a gift card order.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct GiftCard {
    /// Account that paid for it and may redeem it.
    pub owner: Wallet,
    /// Charge paid for it; credited if it fails.
    pub charge: Charge,
    /// Order at the catalog.
    pub order: GiftCardOrder,
    /// Time of the purchase.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Status; the vault has the code once the catalog has issued the card.
    pub status: Status,
}

/// Status of a gift card order.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Ordered from the catalog.
    Processing,
    /// It can be redeemed; the vault has the secrets.
    Completed,
    /// The catalog declined; the charge is credited.
    Failed {
        /// Reason given by the catalog.
        reason: ExternalText,
    },
}

/// Commands to a gift card order.
#[derive(Clone, Debug)]
pub enum Command {
    /// The catalog delivered it.
    RecordDelivery {
        /// Job that sent the order.
        job: JobId,
        /// Redemption secrets, sealed by the vault.
        sealed: Vec<u8>,
    },
    /// The catalog declined definitely.
    RecordDecline {
        /// Job that sent the order.
        job: JobId,
        /// Reason given by the catalog.
        reason: ExternalText,
    },
    /// The account owner reads the redemption secrets; recorded for the audit.
    Reveal,
}

/// Events of a gift card order.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The payment for it settled.
    Ordered {
        /// Account that pays for it.
        owner: Wallet,
        /// Charge paid for it.
        charge: Charge,
        /// Order at the catalog.
        order: GiftCardOrder,
        /// Time of the event.
        at: Timestamp,
    },
    /// The catalog delivered it.
    Delivered(Timestamp),
    /// The catalog declined it.
    Declined(ExternalText, Timestamp),
    /// The redemption secrets were shown to the account owner.
    Revealed(Timestamp),
}

/// A gift card without its code and link.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = GiftCard))]
pub struct GiftCardView<'a> {
    /// Id of the gift card.
    pub card_id: CardId,
    /// `processing`, `completed` or `failed`.
    pub status: State,
    /// Same as `status`.
    pub state: State,
    /// `Gift Card` is the card type.
    pub card_type: GiftCardType,
    /// Product id, as in `GET /search-gift-cards`.
    pub product_id: &'a str,
    /// Amount in its own currency.
    pub amount: ExactDecimal,
    /// Currency of the amount (ISO 4217).
    pub currency: Currency,
    /// Country of redemption (ISO 3166-1 alpha-2).
    pub country: Country,
    /// US dollars paid, fees included.
    pub charged_usd_amount: ExactDecimal,
    /// Fees in US dollars.
    pub fees_paid: ExactDecimal,
    /// Reason of a failed gift card.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failure_reason: Option<&'a str>,
    /// Payment that bought the gift card.
    pub payment_id: PaymentId,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// Type of a gift card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum GiftCardType {
    /// From the catalog.
    #[serde(rename = "Gift Card")]
    GiftCard,
}

crate::state_machine! { GiftCard, Status, Event;
    states { Processing = "processing", Completed = "completed", Failed = "failed" }
    events {
        Ordered "processing" { - => Processing: "settlement of the payment" }
        Delivered "completed" { Processing => Completed: "issue by the catalog" }
        Declined "failed" { Processing => Failed: "decline by the catalog; charge credited" }
        Revealed "details_viewed" { Completed }
    }
}

/// Reason why a gift card order rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for GiftCard {
    const SCHEMA: u16 = 70;
}

impl Stored for Event {
    const SCHEMA: u16 = 71;
}

impl GiftCard {
    /// First snapshot, for the batch of the payment that bought it.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn order(
        id: CardId,
        owner: Wallet,
        charge: Charge,
        order: GiftCardOrder,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let at = context.now;
        let event = Event::Ordered {
            owner,
            charge,
            order,
            at,
        };
        NewEntity::from_event::<Self>(&id, &event, context)
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }
}

impl Product for GiftCard {
    const ID_FIELD: &'static str = "card_id";
    const FIELD: &'static str = "gift_card";
    const LISTS: &'static [ReconciliationSource] = &[ReconciliationSource::GiftCards];
    const WAITS_FOR_FINALITY: bool = false;

    type Order = GiftCardOrder;

    fn sell<D: Entity>(
        decision: Decision<D>,
        sale: &Sale,
        order: GiftCardOrder,
        context: &Context,
    ) -> Result<Decision<D>, InvalidTransition> {
        let id = CardId(sale.number);
        Ok(decision
            .open(Self::order(id, sale.owner, sale.charge, order, context)?)
            .index_for_owner(&sale.owner, EntityKind::GiftCard, id.0, context)
            .enqueue_as(JobId(id.0), Job::OrderGiftCard(id), context))
    }

    fn return_instructions(_: &CardId) -> String {
        "A gift card code cannot be revoked.".to_owned()
    }

    fn charge(&self) -> &Charge {
        &self.charge
    }

    fn money(&self) -> Money {
        match self.status {
            Status::Processing => Money::InFlight,
            Status::Completed => Money::Delivered {
                credited: Usdc::ZERO,
                refundable: self.charge.charged,
                usable: Usable::All,
            },
            Status::Failed { .. } => Money::Credited,
        }
    }

    fn listed(&self, id: &CardId) -> Vec<ListedOrder> {
        vec![ListedOrder {
            source: ReconciliationSource::GiftCards,
            key: id.0,
            subject: id.to_string(),
            status: match self.status {
                Status::Processing => EntryStatus::Pending,
                Status::Completed => EntryStatus::Completed,
                Status::Failed { .. } => EntryStatus::Declined,
            },
            amount: self.order.amount,
            currency: self.order.currency,
            at: self.updated_at,
        }]
    }
}

impl Entity for GiftCard {
    const KIND: EntityKind = EntityKind::GiftCard;

    type Id = CardId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = Self;
    type View<'a> = GiftCardView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &CardId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(gift) = this else { return Err(Rejection("-")) };
        let (decided, now) = (Decision::answer(()), context.now);
        match (&gift.status, command) {
            (Status::Processing, Command::RecordDelivery { job, sealed }) => Ok(decided
                .completes_job(job)
                .put_new(table::vault(*id), sealed)
                .event(Event::Delivered(now))),
            (Status::Processing, Command::RecordDecline { job, reason }) => Ok(decided
                .completes_job(job)
                .event(Event::Declined(reason, now))
                .post_ledger(&gift.charge.reversal(now, id, LedgerProvider::GiftCards), context)
                .enqueue(
                    account::Job::CreditAccount {
                        account: gift.owner,
                        amount: gift.charge.charged,
                        cause: CreditCause::Card(*id),
                    },
                    context,
                )),
            (Status::Completed, Command::Reveal) => Ok(decided.event(Event::Revealed(now))),
            (_, _) => Err(Rejection(gift.status())),
        }
    }

    fn apply(this: Option<Self>, _: &CardId, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        let Some(gift) = this else {
            return match event {
                Event::Ordered {
                    owner,
                    charge,
                    order,
                    at,
                } => Ok(Self {
                    owner: *owner,
                    charge: *charge,
                    order: order.clone(),
                    created_at: *at,
                    updated_at: *at,
                    status: Status::Processing,
                }),
                event => Err(InvalidTransition::new(status, event)),
            };
        };
        match (&gift.status, event) {
            (Status::Processing, Event::Delivered(at)) => Ok(gift.at(Status::Completed, *at)),
            (Status::Processing, Event::Declined(reason, at)) => {
                let reason = reason.clone();
                Ok(gift.at(Status::Failed { reason }, *at))
            }
            (Status::Completed, Event::Revealed(_)) => Ok(gift),
            (_, event) => Err(InvalidTransition::new(status, event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &CardId) -> GiftCardView<'_> {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        GiftCardView {
            card_id: *id,
            status: self.state(),
            state: self.state(),
            card_type: GiftCardType::GiftCard,
            product_id: &self.order.product,
            amount: self.order.amount.into(),
            currency: self.order.currency,
            country: self.order.country,
            charged_usd_amount: self.charge.charged.into(),
            fees_paid: self.charge.fee().into(),
            failure_reason: reason,
            payment_id: self.charge.payment,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<Self> {
        (self.status != Status::Processing).then(|| self.clone())
    }
}
