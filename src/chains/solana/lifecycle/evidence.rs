//! Responses of endpoints about one transaction.

use super::Prepared;
use crate::solana::status::SignatureStatus;

/// An endpoint's response to a status query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusAnswer {
    /// Slot of the bank that responded.
    pub context_slot: u64,
    /// The status, if found. Without a search of the history `None` proves little: the cache covers about 150 slots.
    pub found: Option<SignatureStatus>,
}

/// One endpoint's evidence that it does not have the transaction. The position is read before the status, so that the
/// status cannot be older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// Block height at `finalized`.
    pub finalized_block_height: u64,
    /// Slot of that block.
    pub finalized_slot: u64,
    /// First slot with blocks at the endpoint.
    pub first_available_slot: u64,
    /// Slot of the bank that responded to the status query, which searched the history.
    pub context_slot: u64,
}

impl Absence {
    /// Whether this is evidence that `prepared` never executed and never can. The endpoint is past the last valid
    /// height, the response is at least as new, and the history reaches back far enough.
    pub const fn proves_expiry_of(&self, prepared: &Prepared) -> bool {
        self.finalized_block_height > prepared.last_valid_block_height
            && self.context_slot >= self.finalized_slot
            && self.first_available_slot <= prepared.not_before_slot
    }
}

/// An endpoint's response to a search for a transaction in its whole history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The endpoint has the transaction.
    Found {
        /// Slot of the bank that responded.
        context_slot: u64,
        /// Status of the transaction.
        status: SignatureStatus,
    },
    /// The endpoint does not have the transaction.
    Absent(Absence),
}

/// Maximum distance in slots between responses of one endpoint that arrive out of order: about a minute.
const LATE_SLOTS: u64 = 150;

/// Last report of one endpoint.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) context_slot: u64,
    pub(super) status: Option<SignatureStatus>,
    pub(super) proof: bool,
}

impl View {
    /// Whether the last response is newer than this slot. A much older slot does not count as a late response: the last
    /// response was then wrong.
    pub(super) const fn is_newer_than(&self, context_slot: u64) -> bool {
        context_slot < self.context_slot && self.context_slot - context_slot < LATE_SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a response that arrives out of order is ignored. One that is far behind the last one shows that the last
    // one was wrong.
    #[test]
    fn a_slot_far_ahead_is_not_believed_for_ever() {
        let view = View {
            context_slot: 1_000,
            ..View::default()
        };
        let table = [
            (1_001, false),
            (1_000, false),
            (999, true),
            (851, true),
            (850, false),
            (0, false),
        ];
        for (slot, is_late) in table {
            assert_eq!(view.is_newer_than(slot), is_late, "{slot}");
        }
    }
}
