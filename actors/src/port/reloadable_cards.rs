//! What the balances that holders have at the card issuer are spent on: reloadable cards, and money that is taken back.
//! The balances are the issuer's to keep and to judge: it takes from one at once and under one key, so that two orders
//! never share a cent.

use super::{BoxFuture, CardActivity, ExternalText, IssuedCard, PortError};
use crate::id::{CardId, JobId, WithdrawalId};
use crate::money::Cents;

/// An order of a card that is loaded from a holder's balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCardRequest {
    /// Idempotency key: the same key never takes from the balance twice.
    pub key: JobId,
    /// Our id of the card; the issuer's words name it.
    pub card: CardId,
    /// Whose balance, by its deposit address.
    pub account: [u8; 20],
    /// To be loaded.
    pub amount: Cents,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
}

/// What the issuer says of such an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenCardResult {
    /// The card is open and loaded.
    Open(IssuedCard),
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: the balance is less. Nothing was taken.
    InsufficientBalance,
    /// Definitely refused: no card exists and none will. Nothing was taken.
    Declined {
        /// The issuer's word for it.
        reason: ExternalText,
    },
}

/// What a holder wants of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CardAction {
    /// Charges are refused until it is resumed.
    Pause,
    /// Charges are taken again.
    Resume,
    /// It ends, and what is left on it goes back: to the balance that it spends, or as its issuer says.
    Close,
}

impl CardAction {
    /// As in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Close => "close",
        }
    }

    /// After the dot of the type of the event that tells of it.
    pub const fn requested(self) -> &'static str {
        match self {
            Self::Pause => "pause_requested",
            Self::Resume => "resume_requested",
            Self::Close => "close_requested",
        }
    }
}

/// Where a card stands at the issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CardState {
    /// It takes charges.
    Open,
    /// It refuses them for now.
    Paused,
    /// It has ended; what was left on a card that spends a balance is on that balance.
    Closed,
}

/// What the issuer knows of a card.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardSnapshot {
    /// Raised by each change; 0 for a card as it was opened. What is older changes nothing.
    pub sequence: u64,
    /// Where it stands.
    pub state: CardState,
    /// What is left on it and what was spent.
    pub activity: CardActivity,
    /// Of what was left when a prepaid card ended, all that was given back for its holder so far. It only grows. Zero of a
    /// card that spends a balance: there it is the balance's again.
    pub released: Cents,
}

/// A holder's wish, on its way to the issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardActionRequest {
    /// Idempotency key.
    pub key: JobId,
    /// Our id of the card.
    pub card: CardId,
    /// The issuer's name of it.
    pub issuer_ref: String,
    /// What is wanted.
    pub action: CardAction,
}

/// A word in the order in which the issuer told it, over all cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardEvent {
    /// Its place in that order, from 1: where the next reading goes on.
    pub position: u64,
    /// About which card.
    pub card: CardId,
    /// How it stood then, or has come to stand since.
    pub snapshot: CardSnapshot,
}

/// Part of a balance that is set aside, so that nothing else can spend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRequest {
    /// Idempotency key, and the reservation's name.
    pub key: JobId,
    /// Our id of what it is for.
    pub withdrawal: WithdrawalId,
    /// Whose balance, by its deposit address.
    pub account: [u8; 20],
    /// How much.
    pub amount: Cents,
}

/// What the issuer says of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldResult {
    /// It is set aside.
    Held,
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: the balance is less.
    InsufficientBalance,
    /// Definitely refused for another reason.
    Declined {
        /// The issuer's word for it.
        reason: ExternalText,
    },
    /// It was set aside under this key, and that has ended since: a store that was restored asks for it again.
    AlreadySettled {
        /// Whether it was paid out; if not, it is the balance's again.
        paid: bool,
    },
}

/// How what was asked for under a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldStatus {
    /// It is set aside.
    Held,
    /// It was, and that has ended for good.
    Settled {
        /// Whether it was paid out; if not, it is the balance's again.
        paid: bool,
    },
    /// Nothing was ever set aside under this key.
    NotFound,
}

/// Keeps reloadable cards and takes from the balances behind them.
pub trait ReloadableCardProvider: Send + Sync {
    /// Opens a card, or asks after it; the key makes them the same call. The balance is judged and taken from at once.
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> BoxFuture<'a, Result<OpenCardResult, PortError>>;

    /// Does what its holder wants of a card, if it still can be done, and says how the card stands. `Permanent` for a card
    /// that is not this issuer's.
    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>>;

    /// What became of cards since, oldest first, at most `limit`: charges come when nobody asks.
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>>;

    /// Sets part of a balance aside, or asks after it.
    fn hold<'a>(&'a self, order: &'a HoldRequest) -> BoxFuture<'a, Result<HoldResult, PortError>>;

    /// How a reservation stands. Only reads; what is [`Reserved::Ended`] stays so.
    fn hold_status(&self, key: JobId) -> BoxFuture<'_, Result<HoldStatus, PortError>>;

    /// Ends a reservation for good: it was paid out, or it is the balance's again. Once more is no error, the other way is
    /// `Permanent`.
    fn settle_hold(&self, key: JobId, paid: bool) -> BoxFuture<'_, Result<(), PortError>>;
}
