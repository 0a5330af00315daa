//! A gift card: ordered from a catalog once its payment has settled.
//!
//! ```text
//! processing --catalog--> COMPLETED
//!      `--catalog's definite refusal--> FAILED, the whole charge credited to the payer's balance
//! ```
//!
//! What opens the card to whoever holds it (link, code, PIN) is a vault record and in no event. A time-out of the catalog is
//! never a refusal: the order stands, under the same idempotency key, until the catalog says yes or no.

use purser_storage::codec::Stored;

use crate::id::{CardId, JobId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::job::{CreditCause, Job};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, NewEntity, table};
use crate::ledger::{Charge, LedgerProvider};
use crate::money::{Cents, Usdc};
use crate::port::{ExternalText, Timestamp};
use crate::product::{Country, Currency};
use crate::quote::QuoteFacts;

/// What is ordered from the catalog: fixed for the gift card's life.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct GiftCardOrder {
    /// The catalog's name of the product.
    pub product: String,
    /// In the product's own currency.
    pub amount: Cents,
    /// The product's own currency.
    pub currency: Currency,
    /// Where it will be redeemed.
    pub country: Country,
    /// The catalog's fee rate when its stock was looked at, as decimal text: it declines if it has raised it since.
    pub fee_rate: String,
    /// What the payer's price was made from. What comes on top is ours; the catalog is owed what the card is worth.
    pub quoted: Box<QuoteFacts>,
}

/// A gift card's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct GiftCard {
    /// Who paid for it and may redeem it.
    pub owner: Wallet,
    /// What it cost; credited if it fails.
    pub charge: Charge,
    /// What was ordered.
    pub order: GiftCardOrder,
    /// When it was bought.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where a gift card stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Ordered.
    Processing,
    /// It can be redeemed; the vault knows how.
    Completed,
    /// Refused by the catalog; the charge is credited.
    Failed {
        /// The catalog's word.
        reason: ExternalText,
    },
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The catalog made it.
    RecordDelivery {
        /// The order this answers.
        job: JobId,
        /// How to redeem it, sealed by the vault.
        sealed: Vec<u8>,
    },
    /// The catalog definitely refused.
    RecordDecline {
        /// The order this answers.
        job: JobId,
        /// The catalog's word.
        reason: ExternalText,
    },
    /// The owner reads how to redeem it: kept as a fact, for the audit.
    Reveal,
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Bought.
    Ordered {
        /// By whom.
        owner: Wallet,
        /// For what.
        charge: Charge,
        /// What.
        order: GiftCardOrder,
        /// When.
        at: Timestamp,
    },
    /// The catalog made it.
    Delivered(Timestamp),
    /// The catalog refused.
    Declined(ExternalText, Timestamp),
    /// How to redeem it was shown to its owner.
    Revealed(Timestamp),
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for GiftCard {
    const SCHEMA: u16 = 70;
}

impl Stored for Event {
    const SCHEMA: u16 = 71;
}

impl GiftCard {
    /// USDC of its charge on the account's balance.
    pub const fn credited(&self) -> Usdc {
        match self.status {
            Status::Failed { .. } => self.charge.charged,
            Status::Processing | Status::Completed => Usdc::ZERO,
        }
    }

    /// The first snapshot, for the batch of the payment that bought it.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
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

impl Entity for GiftCard {
    const KIND: EntityKind = EntityKind::GiftCard;
    const EVENT_NAMES: &'static [&'static str] = &["processing", "completed", "failed", "details_viewed"];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "payment settled", "processing"),
        ("processing", "catalog made it", "completed"),
        ("processing", "catalog definitely refused; charge credited", "failed"),
    ];

    type Id = CardId;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = Self;

    fn decide(
        this: Option<&Self>,
        id: &CardId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(gift) = this else { return Err(Rejection("-")) };
        let (decided, now) = (Decision::answer(()), context.now);
        match (&gift.status, command) {
            (Status::Processing, Command::RecordDelivery { job: effect, sealed }) => Ok(decided
                .completes_job(effect)
                .put_new(table::vault(*id), sealed)
                .event(Event::Delivered(now))),
            (Status::Processing, Command::RecordDecline { job: effect, reason }) => Ok(decided
                .completes_job(effect)
                .event(Event::Declined(reason, now))
                .post_ledger(&gift.charge.reversal(now, id, LedgerProvider::GiftCards), context)
                .enqueue(
                    Job::CreditAccount {
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

    fn status(&self) -> &'static str {
        match self.status {
            Status::Processing => "processing",
            Status::Completed => "completed",
            Status::Failed { .. } => "failed",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Ordered { .. } => "processing",
            Event::Delivered(_) => "completed",
            Event::Declined(..) => "failed",
            Event::Revealed(_) => "details_viewed",
        })
    }

    fn view(&self, id: &CardId) -> JsonObject {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        JsonObject::new()
            .text("card_id", id)
            .text("status", self.status())
            .text("state", self.status())
            .text("card_type", "Gift Card")
            .text("product_id", &self.order.product)
            .number("amount", self.order.amount.decimal())
            .text("currency", self.order.currency)
            .text("country", self.order.country)
            .number("charged_usd_amount", self.charge.charged.decimal())
            .number("fees_paid", self.charge.fee().decimal())
            .optional_text("failure_reason", reason)
            .text("payment_id", self.charge.payment)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        (self.status != Status::Processing).then(|| self.clone())
    }
}
