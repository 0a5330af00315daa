//! What is bought with cards, as whoever issued them tells it.

use super::{Timestamp, redact};
use crate::money::Cents;

/// A merchant's charge of a card, taken or refused.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardTransaction {
    /// The issuer's name of it.
    pub id: String,
    /// Where, in the merchant's own words: text, never markup.
    pub merchant: String,
    /// In US dollars.
    pub amount: Cents,
    /// When.
    pub at: Timestamp,
    /// What came of it.
    pub status: TransactionStatus,
    /// Of a refused charge: the issuer's word for why, if it says one.
    pub reason: Option<String>,
}

/// What came of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum TransactionStatus {
    /// Its amount is set aside on the card; the merchant has not taken it yet.
    Pending,
    /// The merchant has it.
    Settled,
    /// Refused: nothing was taken.
    Declined,
    /// The merchant gave it back to the card.
    Refunded,
}

impl TransactionStatus {
    /// All.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Settled, Self::Declined, Self::Refunded];

    /// As in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Settled => "settled",
            Self::Declined => "declined",
            Self::Refunded => "refunded",
        }
    }
}

/// What happened to one of a card's charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ChargeChange {
    /// One was made and taken.
    Charged,
    /// One that had been pending is settled.
    Settled,
    /// One was refused.
    Declined,
    /// One was given back.
    Refunded,
}

impl ChargeChange {
    /// After the dot of an event's type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Charged => "charged",
            Self::Settled => "charge_settled",
            Self::Declined => "charge_declined",
            Self::Refunded => "charge_refunded",
        }
    }
}

/// What became of a card's money.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardActivity {
    /// Left to spend.
    pub available: Cents,
    /// Newest first, at most [`CardActivity::LONGEST`].
    pub transactions: Vec<CardTransaction>,
}

impl CardActivity {
    /// Transactions that a card's snapshot keeps: it is bounded.
    pub const MAX_TRANSACTIONS: usize = 20;
    /// Characters of a merchant's name that are kept.
    pub const MAX_MERCHANT_CHARS: usize = 60;

    /// Nothing was bought yet with so much.
    pub const fn loaded(available: Cents) -> Self {
        Self {
            available,
            transactions: Vec::new(),
        }
    }

    /// No more than a snapshot takes, and no card number in anybody's words.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let short = |text: &str| -> String { redact(text).chars().take(Self::MAX_MERCHANT_CHARS).collect() };
        self.transactions.truncate(Self::MAX_TRANSACTIONS);
        for one in &mut self.transactions {
            one.merchant = short(&one.merchant);
            one.id = one.id.chars().take(Self::MAX_MERCHANT_CHARS).collect();
            one.reason = one.reason.as_deref().map(short);
        }
        self
    }

    /// What this says that `before` did not: of each charge that differs, the oldest first. One that is new and was given back
    /// already was taken before.
    pub fn changes_since(&self, before: &Self) -> Vec<ChargeChange> {
        let charges = self.transactions.iter().rev();
        let news = charges.flat_map(|one| {
            let known = before.transactions.iter().find(|known| known.id == one.id);
            let news: &[ChargeChange] = match (known.map(|known| known.status), one.status) {
                (Some(known), status) if known == status => &[],
                (Some(_), TransactionStatus::Settled) => &[ChargeChange::Settled],
                (_, TransactionStatus::Pending | TransactionStatus::Settled) => &[ChargeChange::Charged],
                (_, TransactionStatus::Declined) => &[ChargeChange::Declined],
                (Some(_), TransactionStatus::Refunded) => &[ChargeChange::Refunded],
                (None, TransactionStatus::Refunded) => &[ChargeChange::Charged, ChargeChange::Refunded],
            };
            news.iter().copied()
        });
        news.collect()
    }
}
