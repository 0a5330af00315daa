//! The nonces of one signing key. No I/O: the manager decides; the caller signs, stores and sends.
//!
//! Steps of a nonce: [`NonceManager::reserve`] assigns it, the caller signs, [`NonceManager::signed`] creates the row,
//! the caller persists the row, and [`NonceManager::stored`] permits sending. Fee bumps repeat the last three steps.
//! All transactions of one nonce carry the same payments or none, so at most one of them is included. Payments are
//! released only when no transaction of the nonce can settle them any more.

mod counting;
mod fee;
mod manager;
mod rows;
#[cfg(test)]
mod tests;

use alloy_primitives::B256;

use super::tx::Fee;

pub use fee::{bumped, clamped};
pub use manager::NonceManager;

/// Settings of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonceSettings {
    /// Maximum number of nonces in use at a time; nodes store few transactions of one sender. Default 16.
    pub max_in_flight: usize,
    /// The same bytes are sent again after this, in milliseconds. Default 4,000.
    pub resend_ms: u64,
    /// The lowest pending transaction is replaced if it is not included after this, in milliseconds. Default 12,000.
    pub replace_ms: u64,
    /// Time after which a nonce that an unknown transaction may use is available again, in milliseconds. A nonce that
    /// we have not used is then filled. Default 10,000.
    pub gap_ms: u64,
    /// A final count is lowered once the newest block has had fewer transactions for this time, in milliseconds.
    /// Default 30,000.
    pub conflict_ms: u64,
    /// Highest `max_fee`, in wei per gas.
    pub max_fee: u128,
}

impl NonceSettings {
    /// Settings with the default values.
    pub const fn new(max_fee: u128) -> Self {
        Self {
            max_in_flight: 16,
            resend_ms: 4_000,
            replace_ms: 12_000,
            gap_ms: 10_000,
            conflict_ms: 30_000,
            max_fee,
        }
    }
}

/// One signed transaction of a nonce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub hash: B256,
    /// The signed transaction.
    pub bytes: Vec<u8>,
    /// Fees of the transaction.
    pub fee: Fee,
    /// Whether it only uses the nonce and carries no payment.
    pub filler: bool,
}

/// The durable state of a nonce, stored before any transaction is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<P> {
    /// Nonce of the signing key.
    pub nonce: u64,
    /// The payments that every attempt carries, except fillers.
    pub payments: Vec<P>,
    /// Attempts, oldest first, at least one. Each has a higher price than the previous one.
    pub attempts: Vec<Attempt>,
    /// The payments may be in another row by now: attempts that carry them are never sent again.
    pub released: bool,
    /// A filler must use the nonce instead of the payments.
    pub canceled: bool,
}

impl<P> Row<P> {
    /// The newest attempt, which is the one that is sent.
    pub fn current(&self) -> Option<&Attempt> {
        self.attempts.last()
    }
}

/// Actions of the caller, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<P> {
    /// Store the row from [`NonceManager::row`] before the next action.
    Store {
        /// Nonce of the row.
        nonce: u64,
    },
    /// Delete the row: its outcome is final.
    Forget {
        /// Nonce of the row.
        nonce: u64,
    },
    /// Sign a transaction, then [`NonceManager::signed`] or, if that is impossible, [`NonceManager::returned`].
    Sign {
        /// Nonce to sign with.
        nonce: u64,
        /// Fees to sign with.
        fee: Fee,
        /// Payments to carry, as in the row's earlier attempts. If empty, sign a filler: 0 wei to the key's own
        /// address.
        payments: Vec<P>,
    },
    /// Send the newest attempt to every endpoint, then call [`NonceManager::replied`] for each response.
    Send {
        /// Nonce of the row.
        nonce: u64,
    },
    /// The nonce is used, or used in a final block for the first time. Look up these receipts, then call
    /// [`NonceManager::mined`] or [`NonceManager::not_found`].
    FindReceipts {
        /// Nonce of the row.
        nonce: u64,
        /// Hashes of all attempts.
        hashes: Vec<B256>,
    },
    /// These payments have not settled by this nonce and may be reserved again.
    Release {
        /// Nonce of the row.
        nonce: u64,
        /// The payments, at least one.
        payments: Vec<P>,
        /// Why they are released.
        reason: ReleaseReason,
    },
    /// Report this to an operator.
    Alarm(Alarm),
}

/// Why payments are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseReason {
    /// Their transaction was included without settling them; its gas is lost.
    Unsettled,
    /// An external transaction used the nonce.
    ForeignTransaction,
    /// Our filler used the nonce.
    Canceled,
    /// The nonce is far above the chain's count: it was assigned from a wrong count.
    OutOfReach,
}

/// An alarm for an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The price of this nonce has reached the cap, and no transaction was included.
    FeeCap {
        /// Nonce of the signing key.
        nonce: u64,
    },
    /// The key cannot pay for gas.
    NoGas,
    /// An external transaction used a nonce: another process has the key.
    ForeignTransaction {
        /// Nonce of the signing key.
        nonce: u64,
    },
    /// The newest block has fewer transactions than were final. No nonces are assigned until that ends or the final
    /// count is lowered.
    Contradicted {
        /// Transactions that were final.
        expected: u64,
        /// Transactions in the newest block.
        reported: u64,
    },
    /// A final count was wrong: nonces are assigned from the chain's count on again.
    CountReverted {
        /// Transactions that were final.
        expected: u64,
        /// Transactions in the newest block.
        latest: u64,
    },
    /// An endpoint rejects the transaction because of its content; see [`NonceManager::cancel`].
    Rejected {
        /// Nonce of the signing key.
        nonce: u64,
    },
}

/// Response of an endpoint to a raw transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendReply {
    /// The endpoint accepted the transaction.
    Accepted,
    /// The endpoint already had the transaction.
    AlreadyKnown,
    /// A transaction with this nonce was included.
    NonceTooLow,
    /// The endpoint has another transaction with this nonce, and the price difference is too small.
    ReplacementUnderpriced,
    /// Below the base fee or the endpoint's minimum.
    FeeTooLow,
    /// The key cannot pay for gas.
    InsufficientFunds,
    /// The content is invalid.
    Rejected,
    /// No response, or one without information about the transaction: the endpoint may have it.
    Unknown,
}

/// Number of the key's transactions on the chain, from `eth_getTransactionCount`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// In the newest block.
    pub latest: u64,
    /// In the newest block that we count as final; at most `latest`.
    pub finalized: u64,
}

/// Why no nonce is assigned, or a call is out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NonceError {
    /// As many nonces as allowed are in use.
    #[error("too many transactions in flight")]
    Full,
    /// The chain contradicts the final count; see [`NonceManager::has_count_conflict`].
    #[error("how many transactions the key has is not known")]
    CountConflict,
    /// One of the payments is already in a row.
    #[error("a payment is already in a transaction")]
    Duplicate,
    /// This nonce was not reserved for signing.
    #[error("the nonce is not reserved")]
    NotReserved,
    /// The chain has a transaction with this nonce; the reservation is removed.
    #[error("the nonce is used")]
    Used,
    /// Not above the previous attempt by the minimum bump, above the cap, or not with the requested content.
    #[error("the transaction does not match the reservation")]
    Mismatch,
}
