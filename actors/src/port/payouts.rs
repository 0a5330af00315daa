//! Payout rails: what sends money to debit cards, banks and payment apps, and how it tells what became of it.

use super::{BoxFuture, ExternalText, PortError};
use crate::id::{BankDestinationId, JobId, PayoutId};
use crate::money::Cents;
use crate::payout::BankDetails;
use crate::product::{AppPayee, Currency, Platform, ProductLine};

/// An order to a rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutRequest {
    /// Idempotency key: the same key never pays twice.
    pub key: JobId,
    /// Our id of the payout; reports name it.
    pub payout: PayoutId,
    /// Which rail.
    pub line: ProductLine,
    /// What the recipient gets.
    pub amount: Cents,
    /// In which currency.
    pub currency: Currency,
    /// Who gets it.
    pub to: PayoutDestination,
}

/// Who gets a payout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayoutDestination {
    /// A debit card.
    Card {
        /// Its number and expiry, sealed by the vault under the payout's id.
        sealed: Vec<u8>,
    },
    /// A bank account.
    Bank {
        /// Our id of it.
        destination: BankDestinationId,
        /// What may be known of it.
        details: BankDetails,
        /// Its account number, sealed by the vault under the destination's id.
        sealed: Vec<u8>,
    },
    /// A user of a payment app.
    App {
        /// Which app.
        platform: Platform,
        /// Who; `recipient` is what the app knows them by.
        payee: AppPayee,
    },
}

/// What a rail says of a payout. Each word about one payout has a higher sequence than those before it, so that words
/// which arrive twice or in another order are recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutStatusUpdate {
    /// Its place among the words about this payout, from 1.
    pub sequence: u64,
    /// Where the payout stands.
    pub status: PayoutRailStatus,
}

/// Where a payout stands at its rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayoutRailStatus {
    /// Accepted and on its way; for a payment app, also waiting to be claimed.
    InProcess {
        /// When to ask again, in milliseconds.
        retry_after_ms: u64,
    },
    /// Paid.
    Complete {
        /// The rail's name of the payment.
        reference: ExternalText,
    },
    /// Definitely not paid, and will not be.
    Failed {
        /// The rail's word for it.
        reason: ExternalText,
    },
    /// Stopped before it was paid.
    Cancelled {
        /// The rail's word for it.
        reason: ExternalText,
    },
    /// The money came back to us.
    Returned {
        /// The rail's word for it.
        reason: ExternalText,
    },
}

/// A word in the order in which the rails told it, over all payouts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutEvent {
    /// Its place in that order, from 1: where the next reading goes on.
    pub position: u64,
    /// About which payout.
    pub payout: PayoutId,
    /// What.
    pub update: PayoutStatusUpdate,
}

/// What came of asking for money back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallResult {
    /// It is ours again; the recipient has and gets nothing.
    Recalled,
    /// The recipient has it.
    TooLate,
}

/// Sends payouts.
pub trait PayoutRails: Send + Sync {
    /// Orders a payout or asks after an order; the key makes them the same call.
    fn send<'a>(&'a self, order: &'a PayoutRequest) -> BoxFuture<'a, Result<PayoutStatusUpdate, PortError>>;

    /// What was last said of an order under this key; `None` is a definite no: nothing was ever ordered under it.
    fn find(&self, key: JobId) -> BoxFuture<'_, Result<Option<PayoutStatusUpdate>, PortError>>;

    /// Takes back what was ordered under this key: a success that came after the payer was credited, or what nobody
    /// claimed. Asking twice changes nothing.
    fn recall(&self, key: JobId, payout: PayoutId) -> BoxFuture<'_, Result<RecallResult, PortError>>;

    /// What the rails told since, oldest first, at most `limit`: returns come days later, when nobody asks any more.
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<PayoutEvent>, PortError>>;
}
