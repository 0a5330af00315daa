//! Jobs of spend approvals.

use super::SpendUse;
use crate::id::{ApiKeyId, SpendApprovalId};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};

jobs! { SpendApproval:
    /// End a request or an approval whose time is over.
    60 ExpireSpendApproval(id: SpendApprovalId) = "expire_spend_approval" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Record that an approval was used.
    61 RecordSpendApprovalUse {
        /// Approval that a spend used.
        approval: SpendApprovalId,
        /// The spend.
        used_by: SpendUse,
    } = "record_spend_approval_use" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// End the requests and unused approvals of an agent whose API key was revoked.
    62 EndApprovalsOfKey(key: ApiKeyId) = "end_approvals_of_key" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
