//! Jobs of international orders.

use crate::id::CardId;
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};

jobs! { IntlOrder:
    /// Expire a lease on an international order, unless it has ended before.
    9 ExpireOrderLease {
        /// Order with the lease.
        order: CardId,
        /// Number of the lease.
        lease: u64,
    } = "expire_order_lease" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Mark an international order as overdue after a day.
    10 MarkOrderOverdue(id: CardId) = "mark_order_overdue" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Expire an international card at the end of its last month.
    11 ExpireIntlCard(id: CardId) = "expire_intl_card" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Destroy the key of an international card's CVV.
    12 ShredCvv(id: CardId) = "shred_cvv" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
