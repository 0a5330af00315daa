//! An order of an international card: an operator makes it by hand, within a day.
//!
//! ```text
//! queued --an operator claims it--> claimed --the operator enters the card--> ready --its last month ends--> EXPIRED
//!   |  ^------an operator releases it--' |                                    ready <--an operator--> paused
//!   |--holder--> CANCELLED               |                                    ready, paused --an operator--> CLOSED
//!   `--operator--> REJECTED <------------'   both credit the whole charge
//! ```
//!
//! Whoever made the card is known to operators alone. What its holder wants of it waits in a list of theirs; what they were
//! told of it (that it is paused or closed, its charges, what was given back) they report, and only that changes it.
//!
//! A claim is a lease with a number ([`crate::lease`]). When it ends, the order stays claimed and nobody holds it: the next
//! claim has a higher number, and whoever comes back with an old one is refused. Such an order cannot be cancelled, because the
//! card may be on its way; an operator who releases it says that it is not.
//!
//! An order that is a day old is overdue: an event, and its place at the top of the queue. Its state stays as it is.

mod card_actions;
mod machine;

use purser_storage::codec::Stored;

use crate::card::lifecycle::{CardLifecycle, CardUpdate, LifecycleState};
use crate::id::{CardId, JobId, Wallet};
use crate::kernel::{Context, InvalidTransition, NewEntity};
use crate::lease::{Lease, LeaseError, LeaseHolder};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::operator::AuditedAction;
use crate::port::{CardAction, CardActivity, CardState, CardTransaction, Timestamp, month_end};
use crate::refund::Refunded;

/// From the payment until an order is overdue.
pub const OVERDUE_AFTER_MS: u64 = 86_400_000;

/// An order's state. Its id is the card's, from the payment to the end.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IntlOrder {
    /// Who paid for it and may see it.
    pub owner: Wallet,
    /// What it cost; credited if there will be no card.
    pub charge: Charge,
    /// Loaded on the card.
    pub amount: Cents,
    /// The holder's own name for it.
    pub label: Option<String>,
    /// When it was bought.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Whether it was still open after a day.
    pub overdue: bool,
    /// The number of the last lease; 0 before the first.
    pub lease: u64,
    /// When an operator last put it back: by then no card was made for it.
    pub released_at: Option<Timestamp>,
    /// Of the card, once it is ready: wishes, charges, and what was given back.
    pub lifecycle: CardLifecycle,
    /// When the holder first wanted something that no operator has answered yet.
    pub action_requested_at: Option<Timestamp>,
    /// Where it stands.
    pub status: Status,
}

/// Where an order stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Waits for an operator.
    Queued,
    /// An operator works on it; nobody once the lease has ended.
    Claimed(Option<LeaseHolder>),
    /// The card can be used.
    Ready(IntlCardDetails),
    /// It refuses charges until it is resumed.
    Paused(IntlCardDetails),
    /// It has ended.
    Closed(IntlCardDetails),
    /// The holder took it back.
    Cancelled,
    /// An operator refused it.
    Rejected {
        /// The operator's words.
        reason: String,
    },
    /// The card's life is over.
    Expired(IntlCardDetails),
}

/// What may be known of the card outside the vault.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IntlCardDetails {
    /// Last four digits.
    pub last4: String,
    /// 1 to 12.
    pub exp_month: u8,
    /// Four digits.
    pub exp_year: u16,
    /// Where its bills go.
    pub billing: BillingAddress,
}

/// What merchants are told when they ask where a card's bills go: an address of the issuer's, never of the holder's.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BillingAddress {
    /// Street and number.
    pub line1: String,
    /// City.
    pub city: String,
    /// State or region, as merchants' forms have it.
    pub state: String,
    /// Postal code.
    pub postal_code: String,
    /// ISO 3166-1 alpha-2.
    pub country: String,
}

impl IntlCardDetails {
    /// The first moment after the month that is printed on the card.
    pub const fn end(&self) -> Timestamp {
        month_end(self.exp_year, self.exp_month)
    }
}

/// A card as an operator entered it, its secrets sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnteredCard {
    /// What may be known of it.
    pub details: IntlCardDetails,
    /// Number and expiry, sealed by the vault.
    pub number: Vec<u8>,
    /// The CVV, sealed under a key of its own.
    pub cvv: Vec<u8>,
}

/// What an operator was told of a card by whoever made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardReport {
    /// Where it stands.
    pub state: CardState,
    /// What is left on it and what was spent.
    pub activity: CardActivity,
    /// Of what was left at its end, all that was given back so far.
    pub released: Cents,
    /// Whether that is all that will come of what the holder wants; else it goes on waiting until the report fulfils it.
    pub ends_action: bool,
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is done.
    Done,
    /// To a claim: the lease.
    Lease(Lease),
    /// To a wish: whether operators are asked.
    ActionRequested(bool),
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The holder wants something of the card.
    RequestAction(CardAction),
    /// An operator says what became of it.
    RecordReport {
        /// Who.
        act: AuditedAction,
        /// What.
        report: Box<CardReport>,
        /// What a refund has given.
        refunded: Refunded,
    },
    /// An operator takes it.
    Claim {
        /// Who.
        act: AuditedAction,
        /// For how long, in milliseconds.
        life_ms: u64,
    },
    /// An operator puts it back.
    Release {
        /// Who.
        act: AuditedAction,
        /// The last lease's number.
        lease: u64,
    },
    /// The operator who holds it enters the card.
    Fulfil {
        /// Who.
        act: AuditedAction,
        /// The number of the operator's lease.
        lease: u64,
        /// The card.
        card: Box<EnteredCard>,
    },
    /// An operator refuses it.
    Reject {
        /// Who.
        act: AuditedAction,
        /// The number of the operator's lease, if it is claimed.
        lease: Option<u64>,
        /// For the holder.
        reason: String,
    },
    /// The holder takes it back.
    Cancel,
    /// The holder reads the number: kept as a fact, for the audit.
    Reveal,
    /// A lease's time is up.
    ExpireLease {
        /// The timer that says so.
        job: JobId,
        /// Which lease.
        lease: u64,
    },
    /// A day has gone by.
    MarkOverdue {
        /// The timer that says so.
        job: JobId,
    },
    /// The card's life is over.
    Expire {
        /// The timer that says so.
        job: JobId,
    },
    /// The key of the CVV is destroyed.
    RecordCvvShredded {
        /// What was to be done.
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
        /// The holder's own name for it.
        label: Option<String>,
        /// When.
        at: Timestamp,
    },
    /// An operator took it: a new lease.
    Claimed(LeaseHolder, Timestamp),
    /// The lease ended by itself.
    LeaseExpired(Timestamp),
    /// An operator put it back.
    Released(Timestamp),
    /// The card was entered.
    Fulfilled(IntlCardDetails, Timestamp),
    /// The holder took it back.
    Cancelled(Timestamp),
    /// An operator refused it.
    Rejected(String, Timestamp),
    /// A day has gone by.
    BecameOverdue {
        /// Whether it was claimed then; if not, it was queued.
        claimed: bool,
        /// When.
        at: Timestamp,
    },
    /// The number was shown to its owner.
    Revealed(Timestamp),
    /// The card's life is over.
    Expired(Timestamp),
    /// The holder wants something of it.
    ActionRequested(CardAction, Timestamp),
    /// That is done.
    ActionCompleted(Timestamp),
    /// Nothing comes of it.
    ActionCancelled(Timestamp),
    /// An operator reported something new.
    Updated(CardUpdate, Timestamp),
    /// Of what was left on the card, the house kept so much: a refund gave the holder as much. What was reported follows.
    RemainderRetained(Usdc, Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// This state takes no such command.
    InvalidState(&'static str),
    /// It is not this operator's.
    Lease(LeaseError),
    /// More would be given back than was on the card, or less than was given back before.
    Released,
    /// The card has ended: of what it was before nothing is reported any more.
    Ended,
    /// The card may have been made in a history that a restore has lost.
    InDoubt,
}

impl From<LeaseError> for Rejection {
    fn from(not: LeaseError) -> Self {
        Self::Lease(not)
    }
}

impl Stored for IntlOrder {
    const SCHEMA: u16 = 470;
}

impl Stored for Event {
    const SCHEMA: u16 = 433;
}

impl IntlOrder {
    /// The first snapshot of an order, for the batch of the payment that bought it.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn order(
        id: CardId,
        owner: Wallet,
        charge: Charge,
        amount: Cents,
        label: Option<String>,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let at = context.now;
        let ordered = Event::Ordered {
            owner,
            charge,
            amount,
            label,
            at,
        };
        NewEntity::from_event::<Self>(&id, &ordered, context)
    }

    /// What may be known of the card, once there is one.
    pub const fn details(&self) -> Option<&IntlCardDetails> {
        match &self.status {
            Status::Ready(details) | Status::Paused(details) | Status::Closed(details) | Status::Expired(details) => {
                Some(details)
            }
            Status::Queued | Status::Claimed(_) | Status::Cancelled | Status::Rejected { .. } => None,
        }
    }

    /// Where the card stands, once there is one.
    pub const fn lifecycle_state(&self) -> Option<LifecycleState> {
        match self.status {
            Status::Ready(_) => Some(LifecycleState::Usable),
            Status::Paused(_) => Some(LifecycleState::Paused),
            Status::Closed(_) | Status::Expired(_) => Some(LifecycleState::Ended),
            Status::Queued | Status::Claimed(_) | Status::Cancelled | Status::Rejected { .. } => None,
        }
    }

    /// Whether something can still be bought with the card, now or after it is resumed.
    pub const fn is_usable(&self) -> bool {
        matches!(self.status, Status::Ready(_) | Status::Paused(_))
    }

    /// What was credited to its holder so far: the whole charge if there is no card, else what was left at its end.
    pub fn credited(&self) -> Usdc {
        match self.status {
            Status::Cancelled | Status::Rejected { .. } => self.charge.charged,
            _ => self.lifecycle.credited(),
        }
    }

    /// When a card that has not ended does.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.details().filter(|_| self.is_usable()).map(IntlCardDetails::end)
    }

    /// What was bought with it, newest first.
    pub fn transactions(&self) -> &[CardTransaction] {
        self.lifecycle.transactions()
    }

    /// Who held it last, while it is claimed and the end of the lease is not told.
    pub const fn lease_holder(&self) -> Option<&LeaseHolder> {
        match &self.status {
            Status::Claimed(Some(holder)) => Some(holder),
            _ => None,
        }
    }

    /// Whether an operator has still to decide.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Queued | Status::Claimed(_))
    }
}
