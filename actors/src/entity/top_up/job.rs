//! Jobs of top-ups.

use crate::id::TopUpId;
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, OutgoingPurpose, Queue, jobs};
use crate::kernel::EntityId;
use crate::product::ProductLine;

jobs! { TopUp:
    /// Send the first leg of a top-up: the burn, or the transfer on Base.
    23 SendTopUp(id: TopUpId) = "send_top_up" => JobPolicy {
        line: LineDependency::Unblocked(ProductLine::CardBalance),
        outgoing: Some(|key| TopUpId::from_key(key).map(OutgoingPurpose::TopUp)),
        queue: Queue::OfKind,
        operator: None,
    };
    /// Bridge a burned top-up: attestation and mint.
    24 BridgeTopUp(id: TopUpId) = "bridge_top_up" => JobPolicy {
        line: LineDependency::Unblocked(ProductLine::CardBalance),
        outgoing: None,
        queue: Queue::OfKind,
        operator: None,
    };
    /// Poll the card issuer until it has credited a delivered top-up.
    25 AwaitIssuerCredit(id: TopUpId) = "await_issuer_credit" => JobPolicy {
        line: LineDependency::Unblocked(ProductLine::CardBalance),
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::Completed,
            credits: Credits::Never,
            credit_needs_proof: true,
            absence_is_definitive: false,
            pending_means_not_completed: true,
        }),
    };
}
