//! The double-entry ledger: append-only transactions between named accounts, each summing to zero.
//!
//! A debit is positive, a credit negative: what we hold (the treasury) stands positive, what we owe (holders,
//! providers) and what we earned stands negative.

use purser_storage::codec::Stored;

use crate::id::{Network, Wallet};
use crate::money::Usdc;
use crate::port::Timestamp;

/// A place where money stands. House accounts are never entities; their balances are sums of postings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Place {
    /// USDC we hold on a network.
    Treasury(Network),
    /// Received and not yet owed to anybody in particular.
    Suspense,
    /// Owed to an account holder.
    Holder(Wallet),
    /// Owed to the card issuer for cards ordered.
    CardIssuer,
    /// Earned.
    Fees,
}

/// An amount entered at a place, in atomic USDC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Posting {
    /// Where.
    pub place: Place,
    /// Positive or negative, never zero.
    pub atomic: i128,
}

/// Postings that belong together.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Transaction {
    /// When.
    pub at: Timestamp,
    /// Why: the id of what caused it, for example `pay_…`.
    pub cause: String,
    /// Sum to zero.
    pub postings: Vec<Posting>,
}

impl Stored for Transaction {
    const SCHEMA: u16 = 2;
}

impl Transaction {
    /// A transaction without postings yet.
    pub fn new(at: Timestamp, cause: impl ToString) -> Self {
        Self {
            at,
            cause: cause.to_string(),
            postings: Vec::with_capacity(4),
        }
    }

    /// Debits one place and credits another: two postings that cancel, so the sum stays zero by construction.
    /// Nothing is posted for a zero amount.
    #[must_use]
    pub fn book(mut self, debit: Place, credit: Place, amount: Usdc) -> Self {
        if amount > Usdc::ZERO {
            let atomic = i128::from(amount.atomic());
            self.postings.push(Posting { place: debit, atomic });
            self.postings.push(Posting {
                place: credit,
                atomic: -atomic,
            });
        }
        self
    }
}
