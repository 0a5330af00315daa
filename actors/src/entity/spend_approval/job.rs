//! Jobs of spend approvals.

use crate::id::{SpendApprovalId, WalletPaymentId};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};

jobs! { SpendApproval:
    /// End a request or an approval whose time is over.
    60 ExpireSpendApproval(id: SpendApprovalId) = "expire_spend_approval" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Record that an approval was used.
    61 RecordSpendApprovalUse {
        /// Approval that a spend used.
        approval: SpendApprovalId,
        /// The spend.
        payment: WalletPaymentId,
    } = "record_spend_approval_use" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
