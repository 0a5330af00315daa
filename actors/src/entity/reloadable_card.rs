//! A reloadable card: loaded from the account owner's balance at the card issuer, without a fee.
//!
//! ```text
//! creating --issuer--> open <--owner---> paused
//!    |                   `--owner, or the first purchase of a one-time card-> CLOSED <-- paused
//!    `--issuer's definite decline--> FAILED, nothing was taken
//! ```
//!
//! The card spends the issuer's balance, and the issuer checks it when the card is opened: the ledger has no posting
//! for it. An action stays pending until the issuer reports the card's state; one action at a time. Issuer events carry
//! a sequence number, so older and repeated events change nothing.

mod job;
mod machine;
mod view;

pub use self::view::{ReloadableCardType, ReloadableCardView};
use purser_storage::codec::Stored;

pub use crate::entity::card::CardDetails;
use crate::id::{JobId, PaymentId, Wallet};
use crate::money::Cents;
use crate::port::{
    CardAction, CardActivity, CardSnapshot, CardTransaction, ChargeChange, ExternalText, IssuedCard, Timestamp,
};

pub use self::job::Job;

/// `failure_reason` of a card if the owner's balance was too low to load it.
pub const INSUFFICIENT: &str = "insufficient_card_balance";

/// Maximum number of history entries stored per card; older ones are dropped.
pub const MAX_HISTORY: usize = 20;

/// State of a reloadable card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ReloadableCard {
    /// Account that ordered it and may see it.
    pub owner: Wallet,
    /// Deposit address of the issuer balance that loaded it.
    pub account: [u8; 20],
    /// Amount loaded on the card.
    pub amount: Cents,
    /// Whether it stays open after its first purchase.
    pub reusable: bool,
    /// Payment whose token ordered it. Tokens issued for that payment can read its number, tokens of other payments
    /// cannot.
    pub funded_by: Option<PaymentId>,
    /// Time of the order.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Action requested by the account owner, until the issuer has answered.
    pub pending_action: Option<CardAction>,
    /// Sequence number of the issuer's latest event.
    pub sequence: u64,
    /// Remaining amount and transactions, as of that event.
    pub activity: CardActivity,
    /// Card history, oldest first; at most [`MAX_HISTORY`] entries.
    pub history: Vec<(CardHistoryEntry, Timestamp)>,
    /// Status, with the card details once the issuer has opened the card.
    pub status: Status,
}

/// Status of a reloadable card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Ordered at the issuer.
    Creating,
    /// Purchases are authorized.
    Open(CardDetails),
    /// Purchases are declined until it is resumed.
    Paused(CardDetails),
    /// It has ended; the remainder is back on the balance.
    Closed(CardDetails),
    /// The issuer declined; nothing was taken from the balance.
    Failed {
        /// [`INSUFFICIENT`] or the issuer's reason.
        reason: ExternalText,
    },
}

/// One change in the life of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CardHistoryEntry {
    /// The issuer opened it.
    Opened,
    /// The issuer or the owner paused it.
    Paused,
    /// The issuer or the owner resumed it.
    Resumed,
    /// The card has ended.
    Closed,
    /// The issuer did not open it.
    Failed,
}

impl CardHistoryEntry {
    /// Name in API documents, and the part after the dot of event types.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opened => "open",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Closed => "closed",
            Self::Failed => "failed",
        }
    }
}

/// Commands to a reloadable card.
#[derive(Clone, Debug)]
pub enum Command {
    /// Orders the card.
    Request {
        /// Account that will own it; an account at the issuer must be linked.
        owner: Wallet,
        /// Deposit address of that account.
        account: [u8; 20],
        /// Amount to load.
        amount: Cents,
        /// Whether it stays open after its first purchase.
        reusable: bool,
        /// For a token issued for a payment: the payment, and the number of cards its tokens ordered before this one.
        funding: Option<(PaymentId, u32)>,
    },
    /// The issuer opened it.
    RecordOpened {
        /// Job that sent the order.
        job: JobId,
        /// The opened card, its number sealed.
        card: IssuedCard,
    },
    /// The issuer declined definitely.
    RecordDecline {
        /// Job that sent the order.
        job: JobId,
        /// [`INSUFFICIENT`] or the issuer's reason.
        reason: ExternalText,
    },
    /// The account owner requests a card action.
    RequestAction(CardAction),
    /// The issuer's response to the request.
    RecordActionResult {
        /// Job that sent the action.
        job: JobId,
        /// Card state as the issuer reports it.
        snapshot: CardSnapshot,
    },
    /// An event from the issuer.
    RecordCardEvent(CardSnapshot),
    /// The account owner reads the card number; recorded for the audit.
    Reveal,
}

/// Events of a reloadable card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The order was placed.
    Ordered {
        /// Account that ordered it.
        owner: Wallet,
        /// Deposit address of the balance.
        account: [u8; 20],
        /// Amount to load.
        amount: Cents,
        /// Whether it stays open after its first purchase.
        reusable: bool,
        /// Payment whose token ordered it.
        funded_by: Option<PaymentId>,
        /// Time of the event.
        at: Timestamp,
    },
    /// The issuer opened the card.
    Opened(CardDetails, Timestamp),
    /// The issuer declined.
    Declined(ExternalText, Timestamp),
    /// The account owner requested a card action.
    ActionRequested(CardAction, Timestamp),
    /// The issuer answered the action.
    ActionCompleted(Timestamp),
    /// The issuer paused it.
    Paused(CardSnapshot, Timestamp),
    /// The issuer resumed it.
    Resumed(CardSnapshot, Timestamp),
    /// It ended at the issuer.
    Closed(CardSnapshot, Timestamp),
    /// A transaction changed; the card's state did not.
    Charged(CardSnapshot, Option<ChargeChange>, Timestamp),
    /// The card number was shown to the account owner.
    Revealed(Timestamp),
}

crate::state_machine! { ReloadableCard, Status, Event;
    states { Creating = "creating", Open = "open", Paused = "paused", Closed = "closed", Failed = "failed" }
    events {
        Ordered "creating" { - => Creating: "order by the account owner" }
        Opened "open" { Creating => Open: "opening and load by the issuer" }
        Declined "failed" { Creating => Failed: "decline by the issuer; nothing charged" }
        ActionRequested (name_by_data: "pause_requested", "resume_requested", "close_requested") { Open | Paused }
        // The change caused by the response has its own event.
        ActionCompleted - { Open | Paused | Closed }
        Paused "paused" { Open => Paused: "pause by the account owner" }
        Resumed "resumed" { Paused => Open: "resume by the account owner" }
        Closed "closed" {
            Open => Closed: "close by the account owner, or the only charge of a single-use card",
            Paused => Closed: "close by the account owner or the issuer",
        }
        Charged (name_by_data: "charged", "charge_settled", "charge_declined", "charge_refunded") {
            Open | Paused | Closed
        }
        Revealed "details_viewed" { Open | Paused }
    }
}

/// Name that an event announces if it depends on its data.
fn name_by_data(event: &Event) -> Option<&'static str> {
    match event {
        Event::ActionRequested(action, _) => Some(action.requested()),
        Event::Charged(_, change, _) => change.map(ChargeChange::name),
        _ => None,
    }
}

/// Reason why a reloadable card rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The current state does not allow the command.
    InvalidState(&'static str),
    /// Another action is pending at the issuer.
    ActionInProgress(CardAction),
}

impl Stored for ReloadableCard {
    const SCHEMA: u16 = 396;
}

impl Stored for Event {
    const SCHEMA: u16 = 397;
}

impl ReloadableCard {
    /// Card data that may be stored outside the vault, once the card was opened.
    pub const fn details(&self) -> Option<&CardDetails> {
        match &self.status {
            Status::Open(details) | Status::Paused(details) | Status::Closed(details) => Some(details),
            Status::Creating | Status::Failed { .. } => None,
        }
    }

    /// Whether the card can still be used, now or after it is resumed.
    pub const fn is_usable(&self) -> bool {
        matches!(self.status, Status::Open(_) | Status::Paused(_))
    }

    /// Card transactions, newest first.
    pub fn transactions(&self) -> &[CardTransaction] {
        &self.activity.transactions
    }
}
