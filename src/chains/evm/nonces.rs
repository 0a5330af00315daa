//! The nonces of one signing key. Pure: it decides, the caller signs, stores and sends.
//!
//! A nonce goes through these steps: [`NonceManager::reserve`] hands it out, the caller signs, [`NonceManager::signed`] makes
//! the row, the caller stores it durably, [`NonceManager::stored`] permits sending. Fee bumps repeat the last three. All
//! transactions of one nonce carry the same payments or none, so at most one of them lands. Payments are released only when
//! no transaction of the nonce that carries them can land or settle them any more.

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
    /// Nonces that are in use at a time; nodes keep few transactions of one sender. Default 16.
    pub max_in_flight: usize,
    /// The same bytes are sent again after this, in milliseconds. Default 4,000.
    pub resend_ms: u64,
    /// A transaction that is next and has not landed is replaced after this, in milliseconds. Default 12,000.
    pub replace_ms: u64,
    /// A nonce that may be used by a transaction we do not know is left alone for this long, in milliseconds, and one that we
    /// have not used is filled after it. Default 10,000.
    pub gap_ms: u64,
    /// A final count is taken back once the newest block has had fewer transactions for so long, in milliseconds. Default 30,000.
    pub conflict_ms: u64,
    /// Highest `max_fee`, in wei per gas.
    pub max_fee: u128,
}

impl NonceSettings {
    /// With the defaults.
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
    /// Of the transaction.
    pub hash: B256,
    /// As it is sent.
    pub bytes: Vec<u8>,
    /// Its price.
    pub fee: Fee,
    /// Whether it only uses up the nonce and carries no payment.
    pub filler: bool,
}

/// What is durable of a nonce before anything of it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<P> {
    /// Of the key.
    pub nonce: u64,
    /// What every attempt that is no filler carries.
    pub payments: Vec<P>,
    /// Oldest first, at least one, each dearer than the one before.
    pub attempts: Vec<Attempt>,
    /// The payments may be in another row by now: attempts that carry them are never sent again.
    pub released: bool,
    /// A filler is to take the nonce from the payments.
    pub canceled: bool,
}

impl<P> Row<P> {
    /// What is sent: the newest attempt.
    pub fn current(&self) -> Option<&Attempt> {
        self.attempts.last()
    }
}

/// What the caller has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<P> {
    /// Store the row as [`NonceManager::row`] has it, before the next action.
    Store {
        /// Of the row.
        nonce: u64,
    },
    /// Delete the row: what became of it is final.
    Forget {
        /// Of the row.
        nonce: u64,
    },
    /// Sign a transaction, then [`NonceManager::signed`] or, if that is impossible, [`NonceManager::returned`].
    Sign {
        /// To use.
        nonce: u64,
        /// To use.
        fee: Fee,
        /// To carry, as the row's earlier attempts do; empty: a filler, 0 wei to the key's own address.
        payments: Vec<P>,
    },
    /// Send the newest attempt to every endpoint, then [`NonceManager::replied`] for each answer.
    Send {
        /// Of the row.
        nonce: u64,
    },
    /// The nonce is used, or used in a final block for the first time. Look up these receipts, then [`NonceManager::mined`] or [`NonceManager::not_found`].
    FindReceipts {
        /// Of the row.
        nonce: u64,
        /// Of all attempts.
        hashes: Vec<B256>,
    },
    /// These payments have not settled by this nonce and may be reserved again.
    Release {
        /// Of the row.
        nonce: u64,
        /// At least one.
        payments: Vec<P>,
        /// Why.
        reason: ReleaseReason,
    },
    /// Something that an operator should see.
    Alarm(Alarm),
}

/// Why payments are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseReason {
    /// Their transaction landed without settling them; its gas is lost.
    Unsettled,
    /// A foreign transaction used the nonce.
    ForeignTransaction,
    /// Our filler used the nonce.
    Canceled,
    /// The nonce is far above the chain's count: it was handed out by a count that was wrong.
    OutOfReach,
}

/// What an operator should see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The price of this nonce has reached the cap and it has not landed.
    FeeCap {
        /// Of the key.
        nonce: u64,
    },
    /// The key cannot pay for gas.
    NoGas,
    /// A foreign transaction used a nonce: another process has the key.
    ForeignTransaction {
        /// Of the key.
        nonce: u64,
    },
    /// The newest block has fewer transactions than were final: nothing is handed out until that ends, or the count is taken back.
    Contradicted {
        /// Transactions that were final.
        expected: u64,
        /// Transactions in the newest block.
        reported: u64,
    },
    /// A final count was wrong: nonces are handed out from the chain's count on again.
    CountReverted {
        /// Transactions that were final.
        expected: u64,
        /// Transactions in the newest block.
        latest: u64,
    },
    /// An endpoint rejects the transaction for a reason of its content; see [`NonceManager::cancel`].
    Rejected {
        /// Of the key.
        nonce: u64,
    },
}

/// What an endpoint answers to a raw transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendReply {
    /// It has taken the transaction.
    Accepted,
    /// It has had it already.
    AlreadyKnown,
    /// A transaction with this nonce has landed.
    NonceTooLow,
    /// It has another transaction with this nonce, and the difference in price is too small.
    ReplacementUnderpriced,
    /// Below the base fee or the endpoint's minimum.
    FeeTooLow,
    /// The key cannot pay for gas.
    InsufficientFunds,
    /// Invalid by its content.
    Rejected,
    /// No answer, or one without information about the transaction: the endpoint may have it.
    Unknown,
}

/// How many transactions of the key the chain has, by `eth_getTransactionCount`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// In the newest block.
    pub latest: u64,
    /// In the newest block that is final for us; at most `latest`.
    pub finalized: u64,
}

/// Why a nonce is not handed out, or a call is out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NonceError {
    /// As many nonces as allowed are in use.
    #[error("too many transactions in flight")]
    Full,
    /// The chain contradicts the count that was final; see [`NonceManager::is_in_doubt`].
    #[error("how many transactions the key has is not known")]
    CountConflict,
    /// One of the payments is in a row already.
    #[error("a payment is already in a transaction")]
    Duplicate,
    /// This nonce was not to be signed.
    #[error("the nonce is not reserved")]
    NotReserved,
    /// The chain has a transaction with this nonce; the reservation is gone.
    #[error("the nonce is used")]
    Used,
    /// Not dearer by the least bump than the attempt before, above the cap, or not the contents that were requested.
    #[error("the transaction does not match the reservation")]
    Mismatch,
}
