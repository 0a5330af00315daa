//! What left our treasury, as the chains list it: what a restored store is held against.

use purser_storage::codec::Stored;

use super::{Authorization, Timestamp};
use crate::id::Wallet;
use crate::money::Usdc;

/// A transfer out of our treasury that is on a chain and stayed.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Departure {
    /// The chain's id of it.
    pub transaction: String,
    /// Who received it; says which chain.
    pub to: Wallet,
    /// How much.
    pub amount: Usdc,
    /// When, by the chain's clock.
    pub at: Timestamp,
    /// What its authorization is recognised by: see [`Authorization::mark`].
    pub mark: [u8; 32],
}

/// A departure that an operator has booked: the row is what lets it be booked once.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Booked {
    /// Which.
    pub departure: Departure,
    /// Whose balance it was taken from; `None` is a loss of ours.
    pub account: Option<Wallet>,
}

impl Stored for Booked {
    const SCHEMA: u16 = 82;
}

impl Authorization {
    /// What a chain's list of transfers shows of it: the nonce on Base, the hash of the message on Solana.
    pub const fn mark(&self) -> [u8; 32] {
        match self {
            Self::Evm(a) => a.nonce,
            Self::Solana(t) => t.message_hash,
        }
    }
}
