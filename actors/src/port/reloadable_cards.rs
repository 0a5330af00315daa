//! Reloadable cards, and holds on the card balances behind them. The issuer keeps the balances and decides what they
//! cover. It debits a balance at once and under one key, so that two orders never use the same cent.

use super::{CardActivity, ExternalText, IssuedCard, PortFuture};
use crate::id::{CardId, JobId, WithdrawalId};
use crate::money::Cents;
use crate::named_enum::named_enum;

/// An order of a card that is loaded from an account's card balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCardRequest {
    /// Idempotency key: the same key never debits the balance twice.
    pub key: JobId,
    /// Our id of the card; the issuer's events name it.
    pub card: CardId,
    /// Deposit address of the account whose card balance is debited.
    pub account: [u8; 20],
    /// Amount to load.
    pub amount: Cents,
    /// Whether the card stays open after its first transaction.
    pub reusable: bool,
}

/// The issuer's response to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenCardResult {
    /// The card is open and loaded.
    Open(IssuedCard),
    /// Accepted. Send the same key again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// A definite no: the balance is too low. Nothing was debited.
    InsufficientBalance,
    /// A definite no: no card exists and none will. Nothing was debited.
    Declined {
        /// The issuer's reason.
        reason: ExternalText,
    },
}

named_enum! {
    /// An action of the account owner on a card.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
    pub enum CardAction {
        /// Transactions are declined until the card is resumed.
        Pause = "pause",
        /// Transactions are accepted again.
        Resume = "resume",
        /// The card ends. What is left on it returns to its card balance, or as its issuer reports.
        Close = "close",
    }
}

impl CardAction {
    /// Second part of the type of the event that reports the request, after the dot.
    pub const fn requested(self) -> &'static str {
        match self {
            Self::Pause => "pause_requested",
            Self::Resume => "resume_requested",
            Self::Close => "close_requested",
        }
    }
}

/// State of a card at the issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CardState {
    /// Transactions are accepted.
    Open,
    /// Transactions are declined until the card is resumed.
    Paused,
    /// The card has ended. What was left on a reloadable card is on its card balance.
    Closed,
}

/// The issuer's view of a card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardSnapshot {
    /// Raised by each change; 0 for a newly opened card. An older snapshot changes nothing.
    pub sequence: u64,
    /// State at this sequence number.
    pub state: CardState,
    /// Remaining amount and transactions.
    pub activity: CardActivity,
    /// Total released to the account owner so far, out of what was left when a prepaid card ended. Only grows. Zero for
    /// a card that spends a card balance: the money is on that balance again.
    pub released: Cents,
}

/// An owner's card action, as it is sent to the issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardActionRequest {
    /// Idempotency key: the same key applies the action once.
    pub key: JobId,
    /// Our id of the card.
    pub card: CardId,
    /// The issuer's id of the card.
    pub issuer_ref: String,
    /// Action to apply.
    pub action: CardAction,
}

/// An event in the order in which the issuer reported it, over all cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardEvent {
    /// Position in that order, from 1. The next page continues after it.
    pub position: u64,
    /// Card that the event is about.
    pub card: CardId,
    /// State of the card at the event, or a later state.
    pub snapshot: CardSnapshot,
}

/// A hold to place on part of a card balance, so that nothing else can spend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRequest {
    /// Idempotency key, which also names the hold.
    pub key: JobId,
    /// Our id of the withdrawal that the hold is for.
    pub withdrawal: WithdrawalId,
    /// Deposit address of the account whose card balance is held.
    pub account: [u8; 20],
    /// Amount to hold.
    pub amount: Cents,
}

/// The issuer's response to a hold request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldResult {
    /// The amount is on hold.
    Held,
    /// Accepted. Send the same key again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// A definite no: the balance is too low.
    InsufficientBalance,
    /// A definite no for another reason.
    Declined {
        /// The issuer's reason.
        reason: ExternalText,
    },
    /// This key had a hold, and it has ended. A restored store requests it again.
    AlreadySettled {
        /// True if the amount was paid out, false if it was released to the balance.
        paid: bool,
    },
}

/// State of the hold under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldStatus {
    /// The amount is on hold.
    Held,
    /// The hold has ended; this never changes.
    Settled {
        /// True if the amount was paid out, false if it was released to the balance.
        paid: bool,
    },
    /// This key never had a hold.
    NotFound,
}

/// Keeps reloadable cards and debits the card balances behind them.
pub trait ReloadableCardProvider: Send + Sync {
    /// Opens a card, or queries an order that has the same key. The balance is checked and debited at once.
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> PortFuture<'a, OpenCardResult>;

    /// Applies the account owner's action to a card where it is still possible, and returns the card's state.
    /// `Permanent` for a card of another issuer.
    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> PortFuture<'a, CardSnapshot>;

    /// Card events after a position, oldest first, at most `limit`. Transactions occur without a request from us.
    fn events_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<CardEvent>>;

    /// Places a hold on part of a card balance, or queries the hold that has the same key.
    fn hold<'a>(&'a self, order: &'a HoldRequest) -> PortFuture<'a, HoldResult>;

    /// State of a hold. Reads only. [`HoldStatus::Settled`] never changes.
    fn hold_status(&self, key: JobId) -> PortFuture<'_, HoldStatus>;

    /// Ends a hold: captures it as paid out, or releases it to the balance. A repeated call is no error; the opposite
    /// end is `Permanent`.
    fn settle_hold(&self, key: JobId, paid: bool) -> PortFuture<'_, ()>;
}
