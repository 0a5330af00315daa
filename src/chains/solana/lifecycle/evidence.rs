//! What endpoints answer about one transaction.

use super::Prepared;
use crate::solana::status::SignatureStatus;

/// An endpoint's answer to a status query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusAnswer {
    /// Slot of the bank that answered.
    pub context_slot: u64,
    /// What it knows. Without a search of history `None` proves little: the cache holds about 150 slots.
    pub found: Option<SignatureStatus>,
}

/// One endpoint's evidence that it does not know the transaction. The position is read before the status, so that the
/// status cannot be older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// Block height at `finalized`.
    pub finalized_block_height: u64,
    /// Slot of that block.
    pub finalized_slot: u64,
    /// First slot of which the endpoint has blocks.
    pub first_available_slot: u64,
    /// Slot of the bank that answered the status query, which searched history.
    pub context_slot: u64,
}

impl Absence {
    /// Whether this is evidence that `prepared` never executed and never can: the endpoint is past the point, the answer
    /// comes from a node at least that far, and history reaches back far enough.
    pub const fn proves_expiry_of(&self, prepared: &Prepared) -> bool {
        self.finalized_block_height > prepared.last_valid_block_height
            && self.context_slot >= self.finalized_slot
            && self.first_available_slot <= prepared.not_before_slot
    }
}

/// An endpoint's answer to a search for a transaction in its whole history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It knows the transaction.
    Found {
        /// Slot of the bank that answered.
        context_slot: u64,
        /// What it knows.
        status: SignatureStatus,
    },
    /// It does not.
    Absent(Absence),
}

/// Answers of one endpoint that overtake each other are fewer slots apart: about a minute.
const LATE_SLOTS: u64 = 150;

/// What one endpoint last reported.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) context_slot: u64,
    pub(super) status: Option<SignatureStatus>,
    pub(super) proof: bool,
}

impl View {
    /// Whether an answer of this slot is older than the last one. One that is older by far is none that came late: the last one was
    /// wrong.
    pub(super) const fn is_newer_than(&self, context_slot: u64) -> bool {
        context_slot < self.context_slot && self.context_slot - context_slot < LATE_SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: an answer that was overtaken is ignored; one that is far behind the last one shows that the last one was wrong.
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
