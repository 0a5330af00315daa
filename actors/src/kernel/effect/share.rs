//! What is kept free for a payment of its payer's day.

use purser_storage::codec::Stored;

use crate::id::Wallet;
use crate::money::Cents;
use crate::product::Line;

/// A reserved share of an account's daily caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Share {
    /// Day since the epoch, UTC.
    pub day: u32,
    /// Whose budget.
    pub budget: Line,
    /// How much of the day's sum.
    pub cents: Cents,
}

/// What was counted for a payment of a history that a restore has lost. Whoever presents it again is not counted twice.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Counted {
    /// Whose payment it was.
    pub account: Wallet,
    /// One a budget.
    pub shares: Vec<Share>,
}

impl Stored for Counted {
    const SCHEMA: u16 = 471;
}
