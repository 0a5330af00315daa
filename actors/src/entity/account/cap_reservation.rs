//! Reservations in an account's daily caps.

use purser_storage::codec::Stored;

use crate::id::Wallet;
use crate::money::Cents;
use crate::product::ProductLine;

/// Part of an account's daily caps that is reserved for a purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CapReservation {
    /// Day (UTC) since the epoch.
    pub day: u32,
    /// Cap group that it counts toward.
    pub cap_group: ProductLine,
    /// Reserved part of the day's sum.
    pub cents: Cents,
}

impl CapReservation {
    /// Reservation of a payment that was counted before its claim: it has no day and releases nothing.
    pub const fn for_unclaimed(cap_group: ProductLine, cents: Cents) -> Self {
        Self {
            day: 0,
            cap_group,
            cents,
        }
    }

    /// Whether [`CapReservation::for_unclaimed`] created it.
    pub const fn is_for_unclaimed(&self) -> bool {
        self.day == 0
    }
}

/// Amounts counted for a payment of a history that a restore lost, until it has settled here.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct UnclaimedCapUsage {
    /// Account that owns the payment.
    pub account: Wallet,
    /// Product lines that it may have bought. A later claim can buy nothing else.
    pub lines: Vec<ProductLine>,
    /// One reservation per cap group.
    pub reservations: Vec<CapReservation>,
}

impl Stored for UnclaimedCapUsage {
    const SCHEMA: u16 = 471;
}
