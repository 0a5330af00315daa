//! A prepaid card: ordered at the issuer once its payment has settled.
//!
//! ```text
//! pending --issuer--> ready --holder or issuer--> CLOSED
//!    |                  `------six months-------> EXPIRED
//!    `--issuer's definite refusal--> FAILED, the whole charge credited to the payer's balance
//! ```
//!
//! A time-out of the issuer is never a refusal: the order stands, under the same idempotency key, until the issuer says
//! yes or no.

mod refresh;

use purser_storage::codec::Stored;
use purser_storage::planted::{self, Bug};

use crate::id::{CardId, EffectId, Wallet};
use crate::kernel::effect::{CreditCause, Work};
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, Opening, OutOfOrder, View, table};
use crate::ledger::{Charge, Provider, Transaction};
use crate::money::Cents;
use crate::port::{CardActivity, IssuedCard, Said, Timestamp, months_later};

/// From issue to expiry.
const LIFE_MONTHS: u64 = 6;

pub use refresh::{REFRESH_SPACING_MS, REFRESHES_A_DAY};

/// A card's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Card {
    /// Who paid for it and may see it.
    pub owner: Wallet,
    /// What it cost; credited if the card fails.
    pub charge: Charge,
    /// Loaded on it.
    pub amount: Cents,
    /// When it was bought.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
    /// When its holder asked for news of it, oldest first: those that still count, at most [`REFRESHES_A_DAY`].
    pub refreshes: Vec<Timestamp>,
    /// Whether such a question is under way.
    pub refreshing: bool,
    /// The newest answer, and when it came.
    pub activity: Option<(CardActivity, Timestamp)>,
}

/// Where a card stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Ordered.
    Pending,
    /// Usable.
    Ready(Details),
    /// Refused by the issuer; the charge is credited.
    Failed {
        /// The issuer's word.
        reason: Said,
    },
    /// Closed for good.
    Closed(Details),
    /// Past its life.
    Expired(Details),
}

/// What may be known of a card outside the vault.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Details {
    /// The issuer's name of it.
    pub issuer_ref: String,
    /// Last four digits.
    pub last4: String,
    /// 1 to 12.
    pub exp_month: u8,
    /// Four digits.
    pub exp_year: u16,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The issuer made it.
    Issued {
        /// The order this answers.
        effect: EffectId,
        /// The card, its number sealed.
        card: IssuedCard,
    },
    /// The issuer definitely refused.
    Refused {
        /// The order this answers.
        effect: EffectId,
        /// The issuer's word.
        reason: Said,
    },
    /// The owner reads the number: kept as a fact, for the audit.
    Reveal,
    /// Its holder wants news of it.
    Refresh,
    /// The issuer's news.
    Refreshed {
        /// The question this answers.
        effect: EffectId,
        /// The news.
        activity: CardActivity,
    },
    /// Close it.
    Close,
    /// Its life is over, if it has not ended otherwise.
    Expire {
        /// The timer that says so.
        effect: EffectId,
    },
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
        /// To be loaded.
        amount: Cents,
        /// When.
        at: Timestamp,
    },
    /// The issuer made it.
    Issued(Details, Timestamp),
    /// The issuer refused.
    Refused(Said, Timestamp),
    /// The number was shown to its owner.
    Revealed(Timestamp),
    /// News were asked for.
    RefreshAsked(Timestamp),
    /// News came.
    Refreshed(CardActivity, Timestamp),
    /// Closed.
    Closed(Timestamp),
    /// Expired.
    Expired(Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The state it met.
    State(&'static str),
    /// News are being asked for already.
    Refreshing,
    /// News were asked for too often.
    TooOften {
        /// Until another question is free, in milliseconds; above zero.
        wait_ms: u64,
    },
}

impl Stored for Card {
    const SCHEMA: u16 = 34;
}

impl Stored for Event {
    const SCHEMA: u16 = 35;
}

impl Card {
    /// The first snapshot of a card, for the batch of the payment that bought it.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn order(
        id: CardId,
        owner: Wallet,
        charge: Charge,
        amount: Cents,
        context: &Context,
    ) -> Result<Opening, OutOfOrder> {
        let event = Event::Ordered {
            owner,
            charge,
            amount,
            at: context.now,
        };
        Opening::of::<Self>(&id, &event, context)
    }

    /// What may be known of it, once it was issued.
    pub const fn details(&self) -> Option<&Details> {
        match &self.status {
            Status::Ready(d) | Status::Closed(d) | Status::Expired(d) => Some(d),
            Status::Pending | Status::Failed { .. } => None,
        }
    }

    /// Takes back what fulfilment had posted, so that the whole charge stands in suspense for the credit.
    fn reversal(&self, id: &CardId, at: Timestamp) -> Transaction {
        let mut reversal = self.charge.undone(at, id, Provider::CardIssuer);
        if planted::is(Bug::FeeReversedOneSided) {
            reversal.postings.pop();
        }
        reversal
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }
}

impl Entity for Card {
    const KIND: Kind = Kind::Card;
    const CHANGES: &'static [&'static str] = &[
        "pending",
        "ready",
        "failed",
        "details_viewed",
        "refresh_requested",
        "refreshed",
        "closed",
        "expired",
    ];
    const MOVES: &'static [Move] = &[
        ("-", "payment settled", "pending"),
        ("pending", "issuer made it", "ready"),
        ("pending", "issuer definitely refused; charge credited", "failed"),
        ("ready", "holder or issuer closed it", "closed"),
        ("ready", "six months after issue", "expired"),
    ];

    type Id = CardId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = Self;

    fn decide(
        this: Option<&Self>,
        id: &CardId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(card) = this else {
            return Err(Rejection::State("-"));
        };
        let decided = Decision::answer(());
        match (&card.status, command) {
            (Status::Pending, Command::Issued { effect, card: issued }) => Ok(decided
                .completes(effect)
                .put_new(table::vault(*id), issued.sealed.clone())
                .then_at(months_later(context.now, LIFE_MONTHS), Work::ExpireCard(*id), context)
                .event(Event::Issued(
                    Details {
                        issuer_ref: issued.issuer_ref,
                        last4: issued.last4,
                        exp_month: issued.exp_month,
                        exp_year: issued.exp_year,
                    },
                    context.now,
                ))),
            (Status::Pending, Command::Refused { effect, reason }) => Ok(decided
                .completes(effect)
                .event(Event::Refused(reason, context.now))
                .post(&card.reversal(id, context.now), context)
                .then(
                    Work::Credit {
                        account: card.owner,
                        amount: card.charge.charged,
                        cause: CreditCause::Card(*id),
                    },
                    context,
                )),
            (Status::Ready(_), Command::Reveal) => Ok(decided.event(Event::Revealed(context.now))),
            (Status::Ready(_), Command::Refresh) => {
                let asked = card.may_refresh(context.now)?;
                Ok(decided
                    .event(Event::RefreshAsked(asked))
                    .then(Work::RefreshCard(*id), context))
            }
            // What was spent last is news of a card that has ended meanwhile, too.
            (_, Command::Refreshed { effect, activity }) if card.refreshing => {
                let activity = activity.bounded();
                Ok(decided.completes(effect).event(Event::Refreshed(activity, context.now)))
            }
            (Status::Ready(_), Command::Close) => Ok(decided.event(Event::Closed(context.now))),
            (Status::Ready(_), Command::Expire { effect }) => {
                Ok(decided.completes(effect).event(Event::Expired(context.now)))
            }
            (_, Command::Expire { effect }) => Ok(decided.completes(effect)),
            (_, _) => Err(Rejection::State(card.status())),
        }
    }

    fn apply(this: Option<Self>, _: &CardId, event: &Event) -> Result<Self, OutOfOrder> {
        let status = this.as_ref().map_or("-", Self::status);
        match (this, event) {
            (
                None,
                Event::Ordered {
                    owner,
                    charge,
                    amount,
                    at,
                },
            ) => Ok(Self {
                owner: *owner,
                charge: *charge,
                amount: *amount,
                created_at: *at,
                updated_at: *at,
                status: Status::Pending,
                refreshes: Vec::new(),
                refreshing: false,
                activity: None,
            }),
            (Some(card), Event::Issued(details, at)) if card.status == Status::Pending => {
                Ok(card.at(Status::Ready(details.clone()), *at))
            }
            (Some(card), Event::Refused(reason, at)) if card.status == Status::Pending => {
                Ok(card.at(Status::Failed { reason: reason.clone() }, *at))
            }
            (Some(card), event) => match (card.status.clone(), event) {
                (Status::Ready(_), Event::Revealed(_)) => Ok(card),
                (Status::Ready(_), Event::RefreshAsked(at)) => Ok(card.asked(*at)),
                (_, Event::Refreshed(activity, at)) if card.refreshing => Ok(Self {
                    refreshing: false,
                    activity: Some((activity.clone(), *at)),
                    updated_at: *at,
                    ..card
                }),
                (Status::Ready(d), Event::Closed(at)) => Ok(card.at(Status::Closed(d), *at)),
                (Status::Ready(d), Event::Expired(at)) => Ok(card.at(Status::Expired(d), *at)),
                (_, event) => Err(OutOfOrder::new(status, event)),
            },
            (None, event) => Err(OutOfOrder::new(status, event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Pending => "pending",
            Status::Ready(_) => "ready",
            Status::Failed { .. } => "failed",
            Status::Closed(_) => "closed",
            Status::Expired(_) => "expired",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Ordered { .. } => "pending",
            Event::Issued(..) => "ready",
            Event::Refused(..) => "failed",
            Event::Revealed(_) => "details_viewed",
            Event::RefreshAsked(_) => "refresh_requested",
            Event::Refreshed(..) => "refreshed",
            Event::Closed(_) => "closed",
            Event::Expired(_) => "expired",
        })
    }

    fn view(&self, id: &CardId) -> View {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        View::new()
            .text("card_id", id)
            .text("status", self.status())
            .text("card_type", "Non-Reloadable U.S.")
            .number("usd_amount", self.amount.decimal())
            .number("charged_usd_amount", self.charge.charged.decimal())
            .text("country", "US")
            .maybe("last4", self.details().map(|d| d.last4.as_str()))
            .maybe("failure_reason", reason)
            .text("payment_id", self.charge.payment)
            .flag("refreshing", self.refreshing)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        (self.status != Status::Pending).then(|| self.clone())
    }
}
