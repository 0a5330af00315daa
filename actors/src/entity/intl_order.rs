//! An order of an international card, which an operator fulfils by hand within a day.
//!
//! ```text
//! queued --an operator claims it--> claimed --the operator enters the card--> ready --its last month ends--> EXPIRED
//!   |  ^------an operator releases it--' |                                    ready <--an operator--> paused
//!   |--owner--> CANCELLED                |                                    ready, paused --an operator--> CLOSED
//!   `--operator--> REJECTED <------------'   both credit the whole charge
//! ```
//!
//! Only operators know who issued the card. Actions requested by the account owner wait in the operators' list.
//! Operators report what the issuer confirmed: paused, closed, transactions, released amounts. Only such a report
//! changes the card.
//!
//! A claim is a lease with a number ([`crate::lease`]). When it expires, the order stays claimed without a lease
//! holder. The next claim gets a higher number, and a command with an older number is rejected. Such an order cannot be
//! cancelled, because the card may already be on its way. An operator who releases it confirms that it is not.
//!
//! An order that is open for a day becomes overdue: this emits an event and moves it to the top of the queue. Its
//! status does not change.

mod card_actions;
mod job;
mod machine;
mod product;
mod view;

pub use self::view::{IntlCardType, IntlCardView};
use purser_storage::codec::Stored;
use serde::{Deserialize, Serialize};

use crate::entity::card::lifecycle::{CardLifecycle, CardUpdate, LifecycleState};
use crate::entity::refund::Refunded;
use crate::id::{CardId, JobId, Wallet};
use crate::kernel::{Context, InvalidTransition, NewEntity};
use crate::lease::{Lease, LeaseError, LeaseHolder};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::operator::AuditedAction;
use crate::port::{CardAction, CardActivity, CardState, CardTransaction, Timestamp, month_end};

pub use self::job::Job;
pub use self::product::IntlCardPurchase;

/// Milliseconds from the payment until an open order is overdue.
pub const OVERDUE_AFTER_MS: u64 = 86_400_000;

/// State of an order. Its id is also the card's id, from the payment to the end.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IntlOrder {
    /// Account that paid for it and may see it.
    pub owner: Wallet,
    /// Charge paid for it; credited if no card is delivered.
    pub charge: Charge,
    /// Amount loaded on the card.
    pub amount: Cents,
    /// Label chosen by the account owner.
    pub label: Option<String>,
    /// Time of the purchase.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Whether it was still open after a day.
    pub overdue: bool,
    /// Number of the last lease; 0 before the first.
    pub lease: u64,
    /// Time of an operator's last release. Up to then no card was made for it.
    pub released_at: Option<Timestamp>,
    /// Data of the card once it is ready: actions, transactions and released amounts.
    pub lifecycle: CardLifecycle,
    /// Time of the first action request that no operator has answered yet.
    pub action_requested_at: Option<Timestamp>,
    /// Status, from the queue to the end of the card.
    pub status: Status,
}

/// Status of an order.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Waits for an operator.
    Queued,
    /// Claimed by an operator; `None` once the lease has expired.
    Claimed(Option<LeaseHolder>),
    /// The card can be used.
    Ready(IntlCardDetails),
    /// The card declines purchases until it is resumed.
    Paused(IntlCardDetails),
    /// The card was closed before its expiry.
    Closed(IntlCardDetails),
    /// The account owner cancelled the order.
    Cancelled,
    /// An operator rejected the order.
    Rejected {
        /// Reason given by the operator.
        reason: String,
    },
    /// The card's last month has ended.
    Expired(IntlCardDetails),
}

/// Card data that may be stored outside the vault.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IntlCardDetails {
    /// Last four digits of the card number.
    pub last4: String,
    /// Month, 1 to 12.
    pub exp_month: u8,
    /// Year, four digits.
    pub exp_year: u16,
    /// Billing address for merchants' forms.
    pub billing: BillingAddress,
}

/// Billing address that merchants accept for a card. It belongs to the issuer, never to the account owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BillingAddress {
    /// Street and number.
    pub line1: String,
    /// City, as merchants' forms expect it.
    pub city: String,
    /// State or region; of a U.S. address its two letters.
    pub state: String,
    /// Postal code, in the format of its country.
    pub postal_code: String,
    /// Country code, ISO 3166-1 alpha-2.
    pub country: String,
}

impl IntlCardDetails {
    /// First moment after the month that is printed on the card.
    pub const fn end(&self) -> Timestamp {
        month_end(self.exp_year, self.exp_month)
    }
}

/// A card as an operator entered it, with its secrets sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnteredCard {
    /// Card data that may be stored outside the vault.
    pub details: IntlCardDetails,
    /// Card number and expiry, sealed by the vault.
    pub number: Vec<u8>,
    /// CVV, sealed under a separate key.
    pub cvv: Vec<u8>,
}

/// An operator's report of what the card issuer confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardReport {
    /// State of the card at the issuer.
    pub state: CardState,
    /// Remaining amount and transactions.
    pub activity: CardActivity,
    /// Total released so far of the remainder at the card's end.
    pub released: Cents,
    /// Whether the pending action ends with this report. If not, it stays pending until a report fulfils it.
    pub ends_action: bool,
}

/// Reply to an accepted command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The command was carried out.
    Done,
    /// Reply to a claim: the new lease.
    Lease(Lease),
    /// Reply to an action: whether operators must carry it out.
    ActionRequested(bool),
}

/// Commands to an international card order.
#[derive(Clone, Debug)]
pub enum Command {
    /// The account owner requests a card action.
    RequestAction(CardAction),
    /// An operator reports what the issuer confirmed.
    RecordReport {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// The operator's report.
        report: Box<CardReport>,
        /// Refund of the payment, as read.
        refunded: Refunded,
    },
    /// An operator claims it.
    Claim {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Duration of the lease in milliseconds.
        life_ms: u64,
    },
    /// An operator releases the claim.
    Release {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Number of the last lease.
        lease: u64,
    },
    /// The lease holder extends the claim by a new lease.
    Renew {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Number of the operator's lease.
        lease: u64,
        /// Duration of the new lease in milliseconds.
        life_ms: u64,
    },
    /// The lease holder enters the card.
    Fulfil {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Number of the operator's lease.
        lease: u64,
        /// Entered card with sealed secrets.
        card: Box<EnteredCard>,
    },
    /// An operator rejects the order.
    Reject {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Number of the operator's lease, if the order is claimed.
        lease: Option<u64>,
        /// Reason shown to the account owner.
        reason: String,
    },
    /// The account owner cancels the order.
    Cancel,
    /// The account owner reads the card number; recorded for the audit.
    Reveal,
    /// A lease expired.
    ExpireLease {
        /// Scheduled job that triggers it.
        job: JobId,
        /// Number of the lease that ended.
        lease: u64,
    },
    /// The lease holder is no operator any more.
    EndLease {
        /// Number of the lease.
        lease: u64,
    },
    /// The order is a day old.
    MarkOverdue {
        /// Scheduled job that triggers it.
        job: JobId,
    },
    /// The card's last month has ended.
    Expire {
        /// Scheduled job that triggers it.
        job: JobId,
    },
    /// The key of the CVV was destroyed.
    RecordCvvShredded {
        /// Job that destroyed the key.
        job: JobId,
    },
}

/// Events of an international card order.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The payment for it settled.
    Ordered {
        /// Account that pays for it.
        owner: Wallet,
        /// Charge paid for it.
        charge: Charge,
        /// Amount to load on the card.
        amount: Cents,
        /// Label chosen by the account owner.
        label: Option<String>,
        /// Time of the event.
        at: Timestamp,
    },
    /// An operator claimed it under a new lease.
    Claimed(LeaseHolder, Timestamp),
    /// The lease expired, or its holder is no operator any more.
    LeaseExpired(Timestamp),
    /// An operator released it.
    Released(Timestamp),
    /// An operator entered the card.
    Fulfilled(IntlCardDetails, Timestamp),
    /// The account owner cancelled the order.
    Cancelled(Timestamp),
    /// An operator rejected it.
    Rejected(String, Timestamp),
    /// The order was open for a day.
    BecameOverdue {
        /// Whether it was claimed at that time; if not, it was queued.
        claimed: bool,
        /// Time of the event.
        at: Timestamp,
    },
    /// The card number was shown to the account owner.
    Revealed(Timestamp),
    /// The card's last month has ended.
    Expired(Timestamp),
    /// The account owner requests a card action.
    ActionRequested(CardAction, Timestamp),
    /// The requested action was completed.
    ActionCompleted(Timestamp),
    /// The requested action ended without effect.
    ActionCancelled(Timestamp),
    /// An operator reported a change.
    Updated(CardUpdate, Timestamp),
    /// Part of the remainder that Purser retained because a refund already paid the account owner as much. The reported
    /// update follows.
    RemainderRetained(Usdc, Timestamp),
}

crate::state_machine! { IntlOrder, Status, Event;
    states {
        Queued = "queued", Claimed = "claimed", Ready = "ready", Paused = "paused", Closed = "closed",
        Cancelled = "cancelled", Rejected = "rejected", Expired = "expired",
    }
    events {
        Ordered "queued" { - => Queued: "settlement of the payment" }
        Claimed "claimed" { Queued => Claimed: "claim by an operator", Claimed }
        // For the account owner nothing has changed.
        LeaseExpired - { Claimed }
        Released "queued" { Claimed => Queued: "release by the operator" }
        Fulfilled "ready" { Claimed => Ready: "fulfilment by the lease holder" }
        Cancelled "cancelled" { Queued => Cancelled: "cancellation by the account owner; charge credited" }
        Rejected "rejected" { Queued | Claimed => Rejected: "rejection by an operator; charge credited" }
        BecameOverdue "overdue" { Queued | Claimed }
        Revealed "details_viewed" { Ready | Paused }
        Expired "expired" { Ready | Paused => Expired: "end of the printed expiry month" }
        ActionRequested (name_by_data: "pause_requested", "resume_requested", "close_requested") { Ready | Paused }
        // The change caused by the response has its own event.
        ActionCompleted - { Ready | Paused | Closed }
        ActionCancelled "request_ended" { Ready | Paused | Closed }
        Updated (
            name_by_data: "paused", "resumed", "closed", "charged", "charge_settled", "charge_declined",
            "charge_refunded", "remainder_released"
        ) {
            Ready => Paused: "report by an operator that the card is paused",
            Paused => Ready: "report by an operator that the card is open",
            Ready | Paused => Closed: "report by an operator that the card is closed",
            Ready | Paused | Closed | Expired,
        }
        RemainderRetained - { Ready | Paused | Closed | Expired }
    }
}

/// Name that an event announces if it depends on its data.
fn name_by_data(event: &Event) -> Option<&'static str> {
    match event {
        Event::ActionRequested(action, _) => Some(action.requested()),
        Event::Updated(update, _) => update.event_suffix(),
        _ => None,
    }
}

/// Reason why an international card order rejects a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The current state does not allow the command.
    InvalidState(&'static str),
    /// The operator does not hold the current lease.
    Lease(LeaseError),
    /// The report would release more than was on the card, or less than was released before.
    Released,
    /// The card has ended; reports of an earlier state are rejected.
    Ended,
    /// The card may have been issued in a history that a restore lost.
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

    /// Card data that may be stored outside the vault, once there is a card.
    pub const fn details(&self) -> Option<&IntlCardDetails> {
        match &self.status {
            Status::Ready(details) | Status::Paused(details) | Status::Closed(details) | Status::Expired(details) => {
                Some(details)
            }
            Status::Queued | Status::Claimed(_) | Status::Cancelled | Status::Rejected { .. } => None,
        }
    }

    /// State of the card, once there is one.
    pub const fn lifecycle_state(&self) -> Option<LifecycleState> {
        match self.status {
            Status::Ready(_) => Some(LifecycleState::Usable),
            Status::Paused(_) => Some(LifecycleState::Paused),
            Status::Closed(_) | Status::Expired(_) => Some(LifecycleState::Ended),
            Status::Queued | Status::Claimed(_) | Status::Cancelled | Status::Rejected { .. } => None,
        }
    }

    /// Whether the card can still be used, now or after it is resumed.
    pub const fn is_usable(&self) -> bool {
        matches!(self.status, Status::Ready(_) | Status::Paused(_))
    }

    /// USDC credited to the account owner so far: the whole charge if there is no card, else the remainder at its end.
    pub fn credited(&self) -> Usdc {
        match self.status {
            Status::Cancelled | Status::Rejected { .. } => self.charge.charged,
            _ => self.lifecycle.credited(),
        }
    }

    /// Expiry of a card that has not ended.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.details().filter(|_| self.is_usable()).map(IntlCardDetails::end)
    }

    /// Card transactions, newest first.
    pub fn transactions(&self) -> &[CardTransaction] {
        self.lifecycle.transactions()
    }

    /// Last lease holder, while the order is claimed and the lease's expiry is not recorded.
    pub const fn lease_holder(&self) -> Option<&LeaseHolder> {
        match &self.status {
            Status::Claimed(Some(holder)) => Some(holder),
            _ => None,
        }
    }

    /// Whether an operator still has to decide.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Queued | Status::Claimed(_))
    }
}
