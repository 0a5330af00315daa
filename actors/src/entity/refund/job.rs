//! Jobs of refunds.

use crate::id::RefundId;
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};

jobs! { Refund:
    /// Confirm to a refund that its account was credited.
    42 ConfirmRefund(id: RefundId) = "confirm_refund" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Expire a refund that no second operator approved.
    43 ExpireRefund {
        /// Refund to expire.
        refund: RefundId,
        /// Request number of the refund.
        round: u64,
    } = "expire_refund" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
