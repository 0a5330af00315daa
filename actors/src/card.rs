//! A prepaid card: ordered at the issuer once its payment has settled.
//!
//! ```text
//! pending --issuer--> ready <--holder or issuer--> paused
//!    |                  |-----holder or issuer---> CLOSED <-- paused
//!    |                  `--end of its last month-> EXPIRED <-- paused
//!    `--issuer's definite refusal--> FAILED, the whole charge credited to the payer's balance
//! ```
//!
//! It lives to the end of the month that the issuer printed on it. What is left on a card that has ended is the issuer's to
//! say, and credited when it says so ([`life`]).
//!
//! A time-out of the issuer is never a refusal: the order stands, under the same idempotency key, until the issuer says
//! yes or no.

pub mod lifecycle;
mod machine;
mod refresh;

use purser_storage::codec::Stored;

use self::lifecycle::{CardLifecycle, CardUpdate, LifecycleState};
use crate::id::{CardId, JobId, Wallet};
use crate::kernel::{Context, InvalidTransition, NewEntity};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::port::{CardAction, CardSnapshot, CardTransaction, ExternalText, IssuedCard, Timestamp};
use crate::refund::Refunded;

pub use refresh::{MAX_REFRESHES_PER_DAY, REFRESH_SPACING_MS};

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
    /// Wishes, charges, and what was given back.
    pub lifecycle: CardLifecycle,
}

/// Where a card stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Ordered.
    Pending,
    /// Usable.
    Ready(CardDetails),
    /// It refuses charges until it is resumed.
    Paused(CardDetails),
    /// Refused by the issuer; the charge is credited.
    Failed {
        /// The issuer's word.
        reason: ExternalText,
    },
    /// Closed for good.
    Closed(CardDetails),
    /// Past its life.
    Expired(CardDetails),
}

/// What may be known of a card outside the vault.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardDetails {
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
    RecordIssuance {
        /// The order this answers.
        job: JobId,
        /// The card, its number sealed.
        card: IssuedCard,
    },
    /// The issuer definitely refused.
    RecordDecline {
        /// The order this answers.
        job: JobId,
        /// The issuer's word.
        reason: ExternalText,
    },
    /// The owner reads the number: kept as a fact, for the audit.
    Reveal,
    /// Its holder wants news of it.
    RequestRefresh,
    /// The issuer's answer to that.
    RecordRefresh {
        /// The question this answers.
        job: JobId,
        /// How the card stands.
        snapshot: CardSnapshot,
        /// What a refund has given.
        refunded: Refunded,
    },
    /// The holder wants something of it.
    RequestAction(CardAction),
    /// The issuer's answer to that.
    RecordActionResult {
        /// The wish this answers.
        job: JobId,
        /// How the card stands.
        snapshot: CardSnapshot,
        /// What a refund has given.
        refunded: Refunded,
    },
    /// The issuer's word unasked, and what a refund has given.
    RecordCardEvent(CardSnapshot, Refunded),
    /// Its life is over, if it has not ended otherwise.
    Expire {
        /// The timer that says so.
        job: JobId,
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
    Issued(CardDetails, Timestamp),
    /// The issuer refused.
    Declined(ExternalText, Timestamp),
    /// The number was shown to its owner.
    Revealed(Timestamp),
    /// News were asked for.
    RefreshRequested(Timestamp),
    /// They have come, if there were any.
    Refreshed(Timestamp),
    /// The holder wants something of it.
    ActionRequested(CardAction, Timestamp),
    /// The issuer has answered the wish.
    ActionCompleted(Timestamp),
    /// The issuer said something new of it.
    Updated(CardUpdate, Timestamp),
    /// Expired.
    Expired(Timestamp),
    /// Of what was left on it, the house kept so much: a refund gave the holder as much. What was said of the card follows.
    RemainderRetained(Usdc, Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The state it met.
    InvalidState(&'static str),
    /// News are being asked for already.
    RefreshInProgress,
    /// News were asked for too often.
    RefreshTooSoon {
        /// Until another question is free, in milliseconds; above zero.
        wait_ms: u64,
    },
    /// The issuer has not answered another wish yet.
    ActionInProgress(CardAction),
}

impl Stored for Card {
    const SCHEMA: u16 = 430;
}

impl Stored for Event {
    const SCHEMA: u16 = 431;
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
    ) -> Result<NewEntity, InvalidTransition> {
        let event = Event::Ordered {
            owner,
            charge,
            amount,
            at: context.now,
        };
        NewEntity::from_event::<Self>(&id, &event, context)
    }

    /// What may be known of it, once it was issued.
    pub const fn details(&self) -> Option<&CardDetails> {
        match &self.status {
            Status::Ready(d) | Status::Paused(d) | Status::Closed(d) | Status::Expired(d) => Some(d),
            Status::Pending | Status::Failed { .. } => None,
        }
    }

    /// Where it stands, once it was issued.
    pub const fn lifecycle_state(&self) -> Option<LifecycleState> {
        match self.status {
            Status::Ready(_) => Some(LifecycleState::Usable),
            Status::Paused(_) => Some(LifecycleState::Paused),
            Status::Closed(_) | Status::Expired(_) => Some(LifecycleState::Ended),
            Status::Pending | Status::Failed { .. } => None,
        }
    }

    /// Whether something can still be bought with it, now or after it is resumed.
    pub const fn is_usable(&self) -> bool {
        matches!(self.status, Status::Ready(_) | Status::Paused(_))
    }

    /// What was credited to its holder so far: the whole charge if there is no card, else what was left at its end.
    pub fn credited(&self) -> Usdc {
        match self.status {
            Status::Failed { .. } => self.charge.charged,
            _ => self.lifecycle.credited(),
        }
    }

    /// What was bought with it, newest first.
    pub fn transactions(&self) -> &[CardTransaction] {
        self.lifecycle.transactions()
    }
}
