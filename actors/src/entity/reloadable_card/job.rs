//! Jobs of reloadable cards.

use crate::id::CardId;
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, Queue, jobs};

jobs! { ReloadableCard:
    /// Open a reloadable card at the issuer and load it from the owner's balance.
    33 OpenReloadableCard(id: CardId) = "open_reloadable_card" => JobPolicy {
        line: LineDependency::None,
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::NotCompleted,
            credits: Credits::Never,
            credit_needs_proof: true,
            absence_is_definitive: false,
            pending_means_not_completed: false,
        }),
    };
    /// Carry out a card action of a reloadable card at the issuer.
    34 ChangeCardState(id: CardId) = "change_card_state" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
