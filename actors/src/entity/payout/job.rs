//! Jobs of payouts.

use crate::id::PayoutId;
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, OutgoingPurpose, Queue, jobs};
use crate::kernel::EntityId;

jobs! { Payout:
    /// Order a payout from a rail, and poll until it has an outcome.
    17 SendPayout(id: PayoutId) = "send_payout" => JobPolicy {
        line: LineDependency::WaitsForRail,
        outgoing: Some(|key| PayoutId::from_key(key).map(OutgoingPurpose::Payout)),
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::Either,
            credits: Credits::IfNotCompleted,
            credit_needs_proof: true,
            absence_is_definitive: true,
            pending_means_not_completed: false,
        }),
    };
    /// Recall a payout that was paid too late or is unclaimed.
    18 RecallPayout(id: PayoutId) = "recall_payout" => JobPolicy {
        line: LineDependency::None,
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::Completed,
            credits: Credits::IfCompleted,
            credit_needs_proof: true,
            absence_is_definitive: false,
            pending_means_not_completed: false,
        }),
    };
    /// Expire a payout whose recipient did not submit the form.
    19 ExpirePayout(id: PayoutId) = "expire_payout" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Close a payout's return window.
    20 CloseReturnWindow(id: PayoutId) = "close_return_window" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
