//! Payout rails: they send payouts to debit cards, banks and payment apps, and report the results.

use super::{ExternalText, PortFuture};
use crate::currency::Currency;
use crate::id::{BankDestinationId, JobId, PayoutId};
use crate::kinds::ProductLine;
use crate::money::Cents;
use purser_storage::codec::Stored;

/// A payment app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Platform {
    /// Available in the U.S. only.
    Venmo,
    /// Available wherever the service is.
    Paypal,
}

impl Platform {
    /// Both apps, in declaration order.
    pub const ALL: [Self; 2] = [Self::Venmo, Self::Paypal];

    /// Name in API documents and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Venmo => "venmo",
            Self::Paypal => "paypal",
        }
    }
}

crate::answer::serialize_as_name!(Platform);

/// Recipient of an app payment, as the caller names it.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AppPayee {
    /// A saved recipient, or a handle in the app: phone number, e-mail address or user name.
    pub recipient: String,
    /// Given name. For a saved recipient, empty means the saved value; the same applies to the fields below.
    pub first_name: String,
    /// Family name of the recipient.
    pub last_name: String,
    /// E-mail address of the recipient.
    pub email: String,
}

impl AppPayee {
    /// Resolves a saved recipient to its handle in the app; `None` if the caller's data contradicts the saved data.
    pub fn merged_with_saved(&self, saved: &Self) -> Option<Self> {
        let same = |said: &str, saved: &str| said.is_empty() || said == saved;
        let agrees = same(&self.first_name, &saved.first_name)
            && same(&self.last_name, &saved.last_name)
            && (self.email.is_empty() || self.email.eq_ignore_ascii_case(&saved.email));
        agrees.then(|| saved.clone())
    }
}

/// Bank account data that may be stored outside the vault.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankDetails {
    /// Name chosen by the account owner.
    pub name: String,
    /// Name of the bank.
    pub bank_name: String,
    /// Name of the account owner at the bank.
    pub account_holder_name: String,
    /// Last four characters of the account number.
    pub last4: String,
    /// ABA routing number, nine digits with their checksum right.
    pub routing_number: String,
}

impl Stored for BankDetails {
    const SCHEMA: u16 = 122;
}

/// A payout to send over a rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutRequest {
    /// Idempotency key: the same key never pays twice.
    pub key: JobId,
    /// Our id of the payout; status updates name it.
    pub payout: PayoutId,
    /// Product line, which selects the rail.
    pub line: ProductLine,
    /// Amount that the recipient gets.
    pub amount: Cents,
    /// Currency of `amount`.
    pub currency: Currency,
    /// Recipient's card, bank account or app user.
    pub to: PayoutDestination,
}

/// Recipient of a payout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayoutDestination {
    /// A debit card.
    Card {
        /// Card number and expiry, sealed by the vault under the payout's id.
        sealed: Vec<u8>,
    },
    /// A bank account.
    Bank {
        /// Our id of the destination.
        destination: BankDestinationId,
        /// The details that are not secret.
        details: BankDetails,
        /// Account number, sealed by the vault under the destination's id.
        sealed: Vec<u8>,
    },
    /// A user of a payment app.
    App {
        /// The payment app.
        platform: Platform,
        /// The user; `recipient` is the app's identifier for them.
        payee: AppPayee,
    },
}

/// Status of a payout as its rail reports it. Each update of a payout has a higher sequence than the earlier ones, so
/// that repeated or reordered updates are recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutStatusUpdate {
    /// Sequence number within the payout, from 1.
    pub sequence: u64,
    /// Status at this sequence number.
    pub status: PayoutRailStatus,
}

/// Status of a payout at its rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayoutRailStatus {
    /// Accepted and in progress. For a payment app, also not claimed yet.
    InProcess {
        /// Delay before the next query, in milliseconds.
        retry_after_ms: u64,
    },
    /// The recipient has the money.
    Complete {
        /// The rail's id of the payment.
        reference: ExternalText,
    },
    /// A definite no: not paid, and never will be.
    Failed {
        /// The rail's reason.
        reason: ExternalText,
    },
    /// Stopped before it was paid.
    Cancelled {
        /// The rail's reason.
        reason: ExternalText,
    },
    /// The rail returned the money to us.
    Returned {
        /// The rail's reason.
        reason: ExternalText,
    },
}

/// A status update in the order in which the rail reported it, over all payouts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutEvent {
    /// Position in that order, from 1. The next page continues after it.
    pub position: u64,
    /// Payout that the update is about.
    pub payout: PayoutId,
    /// Status that the rail reports.
    pub update: PayoutStatusUpdate,
}

/// Result of a recall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallResult {
    /// We have the money again. The recipient has nothing and will get nothing.
    Recalled,
    /// The recipient has the money.
    TooLate,
}

/// Payout rails. Orders are idempotent by their key.
pub trait PayoutRails: Send + Sync {
    /// Orders a payout, or queries an order that has the same key.
    fn send<'a>(&'a self, order: &'a PayoutRequest) -> PortFuture<'a, PayoutStatusUpdate>;

    /// Latest status of the order under this key. `None` is a definite no: this key was never used for an order.
    fn find(&self, key: JobId) -> PortFuture<'_, Option<PayoutStatusUpdate>>;

    /// Recalls the order under this key: a payout that succeeded after the payer was credited, or one that was never
    /// claimed. A repeated call changes nothing.
    fn recall(&self, key: JobId, payout: PayoutId) -> PortFuture<'_, RecallResult>;

    /// Events after a position, oldest first, at most `limit`. Returns come days later, when the payout is no longer
    /// queried.
    fn events_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<PayoutEvent>>;
}
