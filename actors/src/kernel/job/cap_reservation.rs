//! What is kept free for a payment of its payer's day.

use purser_storage::codec::Stored;

use crate::id::Wallet;
use crate::money::Cents;
use crate::product::ProductLine;

/// A reserved share of an account's daily caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CapReservation {
    /// Day since the epoch, UTC.
    pub day: u32,
    /// Whose budget.
    pub cap_group: ProductLine,
    /// How much of the day's sum.
    pub cents: Cents,
}

impl CapReservation {
    /// Of a payment for which something was counted before it was presented: this is of no day, and gives nothing back.
    pub const fn for_unclaimed(cap_group: ProductLine, cents: Cents) -> Self {
        Self {
            day: 0,
            cap_group,
            cents,
        }
    }

    /// See [`Share::counted_before`].
    pub const fn is_for_unclaimed(&self) -> bool {
        self.day == 0
    }
}

/// What was counted for a payment of a history that a restore has lost, until it has settled here.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct UnclaimedCapUsage {
    /// Whose payment it was.
    pub account: Wallet,
    /// Of what it may have bought. Presented again it buys nothing else.
    pub lines: Vec<ProductLine>,
    /// One a budget.
    pub reservations: Vec<CapReservation>,
}

impl Stored for UnclaimedCapUsage {
    const SCHEMA: u16 = 471;
}
