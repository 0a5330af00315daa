//! Card transactions as the card issuer reports them.

use super::{Timestamp, redact};
use crate::money::Cents;

/// A purchase with a card, accepted or declined.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardTransaction {
    /// The issuer's id of the transaction.
    pub id: String,
    /// Merchant name as the merchant sent it. Plain text, never markup.
    pub merchant: String,
    /// Amount in US dollars.
    pub amount: Cents,
    /// Time of the transaction, by the issuer's clock.
    pub at: Timestamp,
    /// Whether it is pending, settled, declined or refunded.
    pub status: TransactionStatus,
    /// For a declined transaction: the issuer's reason, if it gives one.
    pub reason: Option<String>,
}

/// State of a card transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum TransactionStatus {
    /// The amount is on hold on the card; the merchant has not captured it yet.
    Pending,
    /// The merchant has the money.
    Settled,
    /// Nothing was charged.
    Declined,
    /// The merchant refunded it to the card.
    Refunded,
}

impl TransactionStatus {
    /// Every status, in declaration order.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Settled, Self::Declined, Self::Refunded];

    /// Name in JSON documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Settled => "settled",
            Self::Declined => "declined",
            Self::Refunded => "refunded",
        }
    }
}

crate::answer::serialize_as_name!(TransactionStatus);

/// A change of one card transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ChargeChange {
    /// A new transaction was accepted.
    Charged,
    /// A pending transaction settled.
    Settled,
    /// A transaction was declined.
    Declined,
    /// A transaction was refunded.
    Refunded,
}

impl ChargeChange {
    /// Second part of the event type, after the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Charged => "charged",
            Self::Settled => "charge_settled",
            Self::Declined => "charge_declined",
            Self::Refunded => "charge_refunded",
        }
    }
}

/// Remaining amount and transactions of a card.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardActivity {
    /// Amount left to spend.
    pub available: Cents,
    /// Newest first, at most [`CardActivity::MAX_TRANSACTIONS`].
    pub transactions: Vec<CardTransaction>,
}

impl CardActivity {
    /// Transactions stored in a card's snapshot, whose size is bounded.
    pub const MAX_TRANSACTIONS: usize = 20;
    /// Characters of a merchant's name that are stored.
    pub const MAX_MERCHANT_CHARS: usize = 60;

    /// Activity of a card with this amount and no transactions.
    pub const fn loaded(available: Cents) -> Self {
        Self {
            available,
            transactions: Vec::new(),
        }
    }

    /// Truncates to what a snapshot stores, and removes card numbers from external text.
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

    /// Changes since `before`, by transaction, oldest first. A new transaction that is already refunded also counts as
    /// charged.
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
