//! A prepaid card: ordered at the issuer once its payment has settled.
//!
//! ```text
//! pending --issuer--> ready <--owner or issuer---> paused
//!    |                  |-----owner or issuer----> CLOSED <-- paused
//!    |                  `--end of its last month-> EXPIRED <-- paused
//!    `--issuer's definite decline--> FAILED, the whole charge credited to the payer's balance
//! ```
//!
//! The card is valid until the end of the month that the issuer printed on it. The issuer reports the remainder of a
//! card that has ended, and that amount is then credited ([`lifecycle`]).
//!
//! A time-out at the issuer never counts as a decline. The order remains open under the same idempotency key until the
//! issuer confirms or declines it.

mod job;
pub mod lifecycle;
mod machine;
mod product;
mod refresh;
mod view;

pub use self::view::{CardView, PrepaidCardType};
use purser_storage::codec::Stored;

use self::lifecycle::{CardLifecycle, CardUpdate, LifecycleState};
use crate::entity::refund::Refunded;
use crate::id::{CardId, JobId, Wallet};
use crate::kernel::{Context, InvalidTransition, NewEntity};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::port::{CardAction, CardSnapshot, CardTransaction, ExternalText, IssuedCard, Timestamp};

pub use self::job::Job;
pub use self::product::CardPurchase;
pub use refresh::{MAX_REFRESHES_PER_DAY, REFRESH_SPACING_MS};

/// State of a prepaid card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Card {
    /// Account that paid for it and may see it.
    pub owner: Wallet,
    /// Charge paid for it; credited if the card fails.
    pub charge: Charge,
    /// Amount loaded on the card.
    pub amount: Cents,
    /// Time of the purchase.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Status, with the card details once the issuer has created the card.
    pub status: Status,
    /// Times of the owner's refresh requests that still count, oldest first; at most [`MAX_REFRESHES_PER_DAY`].
    pub refreshes: Vec<Timestamp>,
    /// Whether a refresh is in progress.
    pub refreshing: bool,
    /// Pending action, transactions and released amounts.
    pub lifecycle: CardLifecycle,
}

/// Status of a prepaid card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Ordered at the issuer.
    Pending,
    /// The card can be used.
    Ready(CardDetails),
    /// The card declines purchases until it is resumed.
    Paused(CardDetails),
    /// The issuer declined; the charge is credited.
    Failed {
        /// Reason given by the issuer.
        reason: ExternalText,
    },
    /// Closed permanently; it cannot be resumed.
    Closed(CardDetails),
    /// Past its last month.
    Expired(CardDetails),
}

/// Card data that may be stored outside the vault.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardDetails {
    /// The issuer's reference of the card.
    pub issuer_ref: String,
    /// Last four digits of the card number.
    pub last4: String,
    /// Month, 1 to 12.
    pub exp_month: u8,
    /// Year, four digits.
    pub exp_year: u16,
}

/// Commands to a prepaid card.
#[derive(Clone, Debug)]
pub enum Command {
    /// The issuer issued it.
    RecordIssuance {
        /// Job that sent the order.
        job: JobId,
        /// The issued card, its number sealed.
        card: IssuedCard,
    },
    /// The issuer declined definitely.
    RecordDecline {
        /// Job that sent the order.
        job: JobId,
        /// Reason given by the issuer.
        reason: ExternalText,
    },
    /// The account owner reads the card number; recorded for the audit.
    Reveal,
    /// The account owner requests a refresh from the issuer.
    RequestRefresh,
    /// The issuer's response to the request.
    RecordRefresh {
        /// Job that asked the issuer.
        job: JobId,
        /// Card state as the issuer reports it.
        snapshot: CardSnapshot,
        /// Refund of the payment, as read.
        refunded: Refunded,
    },
    /// The account owner requests a card action.
    RequestAction(CardAction),
    /// The issuer's response to the request.
    RecordActionResult {
        /// Job that sent the action.
        job: JobId,
        /// Card state as the issuer reports it.
        snapshot: CardSnapshot,
        /// Refund of the payment, as read.
        refunded: Refunded,
    },
    /// An event from the issuer, and the refund of the payment as read.
    RecordCardEvent(CardSnapshot, Refunded),
    /// The card's last month ends, unless it has ended before.
    Expire {
        /// Scheduled job that triggers it.
        job: JobId,
    },
}

/// Events of a prepaid card.
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
        /// Time of the event.
        at: Timestamp,
    },
    /// The issuer issued the card.
    Issued(CardDetails, Timestamp),
    /// The issuer declined.
    Declined(ExternalText, Timestamp),
    /// The card number was shown to the account owner.
    Revealed(Timestamp),
    /// The account owner requested a refresh.
    RefreshRequested(Timestamp),
    /// The refresh completed, with or without changes.
    Refreshed(Timestamp),
    /// The account owner requested a card action.
    ActionRequested(CardAction, Timestamp),
    /// The issuer answered the action.
    ActionCompleted(Timestamp),
    /// The issuer reported a change.
    Updated(CardUpdate, Timestamp),
    /// The card's last month ended.
    Expired(Timestamp),
    /// Part of the remainder that Purser retained because a refund already paid the account owner as much. The reported
    /// update follows.
    RemainderRetained(Usdc, Timestamp),
}

crate::state_machine! { Card, Status, Event;
    states {
        Pending = "pending", Ready = "ready", Paused = "paused", Failed = "failed", Closed = "closed",
        Expired = "expired",
    }
    events {
        Ordered "pending" { - => Pending: "settlement of the payment" }
        Issued "ready" { Pending => Ready: "creation by the issuer" }
        Declined "failed" { Pending => Failed: "decline by the issuer; charge credited" }
        Revealed "details_viewed" { Ready | Paused }
        RefreshRequested "refresh_requested" { Ready | Paused }
        Refreshed "refreshed" { Ready | Paused | Closed | Expired }
        ActionRequested (name_by_data: "pause_requested", "resume_requested", "close_requested") { Ready | Paused }
        // The change caused by the response has its own event.
        ActionCompleted - { Ready | Paused | Closed | Expired }
        Updated (
            name_by_data: "paused", "resumed", "closed", "charged", "charge_settled", "charge_declined",
            "charge_refunded", "remainder_released"
        ) {
            Ready => Paused: "pause by the account owner or the issuer",
            Paused => Ready: "resume by the account owner or the issuer",
            Ready | Paused => Closed: "close by the account owner or the issuer",
            Ready | Paused | Closed | Expired,
        }
        Expired "expired" { Ready | Paused => Expired: "end of the printed expiry month" }
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

/// Reason why a prepaid card rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The current state does not allow the command.
    InvalidState(&'static str),
    /// A refresh is already in progress.
    RefreshInProgress,
    /// Too many refreshes were requested.
    RefreshTooSoon {
        /// Milliseconds until another refresh is allowed; above zero.
        wait_ms: u64,
    },
    /// Another action is pending at the issuer.
    ActionInProgress(CardAction),
}

impl Stored for Card {
    const SCHEMA: u16 = 430;
}

impl Stored for Event {
    const SCHEMA: u16 = 431;
}

impl Card {
    /// First snapshot of the card, for the batch of the payment that bought it.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
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

    /// Card data that may be stored outside the vault, once the card was issued.
    pub const fn details(&self) -> Option<&CardDetails> {
        match &self.status {
            Status::Ready(d) | Status::Paused(d) | Status::Closed(d) | Status::Expired(d) => Some(d),
            Status::Pending | Status::Failed { .. } => None,
        }
    }

    /// State of the card, once it was issued.
    pub const fn lifecycle_state(&self) -> Option<LifecycleState> {
        match self.status {
            Status::Ready(_) => Some(LifecycleState::Usable),
            Status::Paused(_) => Some(LifecycleState::Paused),
            Status::Closed(_) | Status::Expired(_) => Some(LifecycleState::Ended),
            Status::Pending | Status::Failed { .. } => None,
        }
    }

    /// Whether the card can still be used, now or after it is resumed.
    pub const fn is_usable(&self) -> bool {
        matches!(self.status, Status::Ready(_) | Status::Paused(_))
    }

    /// USDC credited to the account owner so far: the whole charge if there is no card, else the remainder at its end.
    pub fn credited(&self) -> Usdc {
        match self.status {
            Status::Failed { .. } => self.charge.charged,
            _ => self.lifecycle.credited(),
        }
    }

    /// Card transactions, newest first.
    pub fn transactions(&self) -> &[CardTransaction] {
        self.lifecycle.transactions()
    }
}
