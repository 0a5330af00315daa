//! What is kept free for a payment of its payer's day.

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
