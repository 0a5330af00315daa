//! Jobs of US prepaid cards.

use crate::id::CardId;
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, Queue, jobs};
use crate::product::ProductLine;

jobs! { Card:
    /// Order a card from the issuer.
    2 IssueCard(id: CardId) = "issue_card" => JobPolicy {
        line: LineDependency::WaitsForLine(ProductLine::UsaCard),
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::NotCompleted,
            credits: Credits::IfNotCompleted,
            credit_needs_proof: true,
            absence_is_definitive: false,
            pending_means_not_completed: false,
        }),
    };
    /// Expire a card at the end of its last month.
    7 ExpireCard(id: CardId) = "expire_card" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Refresh a card from the issuer.
    26 RefreshCard(id: CardId) = "refresh_card" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Carry out a card action of a prepaid card at the issuer.
    48 ChangePrepaidCardState(id: CardId) = "change_prepaid_card_state" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
