//! A reloadable card: loaded from what its holder has at the card issuer, and for nothing.
//!
//! ```text
//! creating --issuer--> open <--holder--> paused
//!    |                   `--holder, or the first charge of a card for one--> CLOSED <-- paused
//!    `--issuer's definite refusal--> FAILED, nothing was taken
//! ```
//!
//! The balance that it spends is the issuer's, which judges it when the card is opened: no posting of ours is about it.
//! What the holder wants of a card is a wish until the issuer says how the card stands; one wish at a time. The issuer's
//! words carry a sequence, so that older ones, and the same again, change nothing.

mod machine;

use purser_storage::codec::Stored;

pub use crate::card::CardDetails;
use crate::id::{JobId, PaymentId, Wallet};
use crate::money::Cents;
use crate::port::{
    CardAction, CardActivity, CardSnapshot, CardTransaction, ChargeChange, ExternalText, IssuedCard, Timestamp,
};

/// `failure_reason` of a card that its holder's balance could not load.
pub const INSUFFICIENT: &str = "insufficient_card_balance";

/// What happened to a card, kept for its holder: at most so many, the newest.
pub const MAX_HISTORY: usize = 20;

/// A reloadable card's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ReloadableCard {
    /// Who ordered it and may see it.
    pub owner: Wallet,
    /// Whose balance at the issuer it was loaded from, by its deposit address.
    pub account: [u8; 20],
    /// Loaded on it.
    pub amount: Cents,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
    /// The payment whose token ordered it: tokens issued for that payment read its number, those of others do not.
    pub funded_by: Option<PaymentId>,
    /// When it was ordered.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// What the holder wants of it, until the issuer has answered.
    pub pending_action: Option<CardAction>,
    /// Of the issuer's newest word.
    pub sequence: u64,
    /// What is left and what was spent, by that word.
    pub activity: CardActivity,
    /// What happened to it, oldest first; at most [`HISTORY`].
    pub history: Vec<(CardHistoryEntry, Timestamp)>,
    /// Where it stands.
    pub status: Status,
}

/// Where a reloadable card stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Ordered.
    Creating,
    /// It takes charges.
    Open(CardDetails),
    /// It refuses charges for now.
    Paused(CardDetails),
    /// It has ended; what was left is on the balance.
    Closed(CardDetails),
    /// Refused by the issuer; nothing was taken.
    Failed {
        /// [`INSUFFICIENT`], or the issuer's word.
        reason: ExternalText,
    },
}

/// Something that happened to a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CardHistoryEntry {
    /// It was opened.
    Opened,
    /// It was paused.
    Paused,
    /// It was resumed.
    Resumed,
    /// It ended.
    Closed,
    /// It could not be opened.
    Failed,
}

impl CardHistoryEntry {
    /// As in documents and, after the dot, in events.
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

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// Order it.
    Request {
        /// Whose it will be; an account at the issuer must be linked.
        owner: Wallet,
        /// That account's deposit address.
        account: [u8; 20],
        /// To be loaded.
        amount: Cents,
        /// Whether it stays open after its first charge.
        reusable: bool,
        /// For a token issued for a payment: that payment, and how many cards its tokens have ordered before this one.
        funding: Option<(PaymentId, u32)>,
    },
    /// The issuer opened it.
    RecordOpened {
        /// The order this answers.
        job: JobId,
        /// The card, its number sealed.
        card: IssuedCard,
    },
    /// The issuer definitely refused.
    RecordDecline {
        /// The order this answers.
        job: JobId,
        /// [`INSUFFICIENT`], or the issuer's word.
        reason: ExternalText,
    },
    /// The holder wants something of it.
    RequestAction(CardAction),
    /// The issuer's answer to that.
    RecordActionResult {
        /// The wish this answers.
        job: JobId,
        /// How the card stands.
        snapshot: CardSnapshot,
    },
    /// The issuer's word unasked.
    RecordCardEvent(CardSnapshot),
    /// The owner reads the number: kept as a fact, for the audit.
    Reveal,
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Ordered.
    Ordered {
        /// By whom.
        owner: Wallet,
        /// The deposit address of the balance.
        account: [u8; 20],
        /// To be loaded.
        amount: Cents,
        /// Whether it stays open after its first charge.
        reusable: bool,
        /// The payment whose token ordered it.
        funded_by: Option<PaymentId>,
        /// When.
        at: Timestamp,
    },
    /// The issuer opened it.
    Opened(CardDetails, Timestamp),
    /// The issuer refused.
    Declined(ExternalText, Timestamp),
    /// The holder wants something of it.
    ActionRequested(CardAction, Timestamp),
    /// The issuer has answered the wish.
    ActionCompleted(Timestamp),
    /// The issuer refuses its charges.
    Paused(CardSnapshot, Timestamp),
    /// The issuer takes its charges again.
    Resumed(CardSnapshot, Timestamp),
    /// It ended at the issuer.
    Closed(CardSnapshot, Timestamp),
    /// It goes on as it is, and something happened to its charges.
    Charged(CardSnapshot, Option<ChargeChange>, Timestamp),
    /// The number was shown to its owner.
    Revealed(Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The state it met.
    InvalidState(&'static str),
    /// The issuer has not answered another wish yet.
    ActionInProgress(CardAction),
}

impl Stored for ReloadableCard {
    const SCHEMA: u16 = 396;
}

impl Stored for Event {
    const SCHEMA: u16 = 397;
}

impl ReloadableCard {
    /// What may be known of the card, once it was opened.
    pub const fn details(&self) -> Option<&CardDetails> {
        match &self.status {
            Status::Open(details) | Status::Paused(details) | Status::Closed(details) => Some(details),
            Status::Creating | Status::Failed { .. } => None,
        }
    }

    /// Whether something can still be bought with it, now or after it is resumed.
    pub const fn is_usable(&self) -> bool {
        matches!(self.status, Status::Open(_) | Status::Paused(_))
    }

    /// What it was spent on, newest first.
    pub fn transactions(&self) -> &[CardTransaction] {
        &self.activity.transactions
    }
}
