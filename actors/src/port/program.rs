//! What the balances that holders have at the card issuer are spent on: reloadable cards, and money that is taken back.
//! The balances are the issuer's to keep and to judge: it takes from one at once and under one key, so that two orders
//! never share a cent.

use super::{BoxFuture, CardActivity, IssuedCard, PortError, Said};
use crate::id::{CardId, EffectId, WithdrawalId};
use crate::money::Cents;

/// An order of a card that is loaded from a holder's balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCard {
    /// Idempotency key: the same key never takes from the balance twice.
    pub key: EffectId,
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
pub enum CardOpening {
    /// The card is open and loaded.
    Open(IssuedCard),
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: the balance is less. Nothing was taken.
    Insufficient,
    /// Definitely refused: no card exists and none will. Nothing was taken.
    Declined {
        /// The issuer's word for it.
        reason: Said,
    },
}

/// What a holder wants of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Wish {
    /// Charges are refused until it is resumed.
    Pause,
    /// Charges are taken again.
    Resume,
    /// It ends, and what is left on it goes back: to the balance that it spends, or as its issuer says.
    Close,
}

impl Wish {
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
pub struct Standing {
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
pub struct SteerCard {
    /// Idempotency key.
    pub key: EffectId,
    /// Our id of the card.
    pub card: CardId,
    /// The issuer's name of it.
    pub issuer_ref: String,
    /// What is wanted.
    pub wish: Wish,
}

/// A word in the order in which the issuer told it, over all cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardWord {
    /// Its place in that order, from 1: where the next reading goes on.
    pub number: u64,
    /// About which card.
    pub card: CardId,
    /// How it stood then, or has come to stand since.
    pub standing: Standing,
}

/// Part of a balance that is set aside, so that nothing else can spend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReserveBalance {
    /// Idempotency key, and the reservation's name.
    pub key: EffectId,
    /// Our id of what it is for.
    pub withdrawal: WithdrawalId,
    /// Whose balance, by its deposit address.
    pub account: [u8; 20],
    /// How much.
    pub amount: Cents,
}

/// What the issuer says of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// It is set aside.
    Held,
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: the balance is less.
    Insufficient,
    /// Definitely refused for another reason.
    Declined {
        /// The issuer's word for it.
        reason: Said,
    },
    /// It was set aside under this key, and that has ended since: a store that was restored asks for it again.
    Ended {
        /// Whether it was paid out; if not, it is the balance's again.
        paid: bool,
    },
}

/// How what was asked for under a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// It is set aside.
    Held,
    /// It was, and that has ended for good.
    Ended {
        /// Whether it was paid out; if not, it is the balance's again.
        paid: bool,
    },
    /// Nothing was ever set aside under this key.
    Never,
}

/// Keeps reloadable cards and takes from the balances behind them.
pub trait CardProgram: Send + Sync {
    /// Opens a card, or asks after it; the key makes them the same call. The balance is judged and taken from at once.
    fn open<'a>(&'a self, order: &'a OpenCard) -> BoxFuture<'a, Result<CardOpening, PortError>>;

    /// Does what its holder wants of a card, if it still can be done, and says how the card stands. `Permanent` for a card
    /// that is not this issuer's.
    fn steer<'a>(&'a self, order: &'a SteerCard) -> BoxFuture<'a, Result<Standing, PortError>>;

    /// What became of cards since, oldest first, at most `limit`: charges come when nobody asks.
    fn told(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardWord>, PortError>>;

    /// Sets part of a balance aside, or asks after it.
    fn reserve<'a>(&'a self, order: &'a ReserveBalance) -> BoxFuture<'a, Result<Reservation, PortError>>;

    /// How a reservation stands. Only reads; what is [`Reserved::Ended`] stays so.
    fn reservation(&self, key: EffectId) -> BoxFuture<'_, Result<Reserved, PortError>>;

    /// Ends a reservation for good: it was paid out, or it is the balance's again. Once more is no error, the other way is
    /// `Permanent`.
    fn end_reservation(&self, key: EffectId, paid: bool) -> BoxFuture<'_, Result<(), PortError>>;
}
