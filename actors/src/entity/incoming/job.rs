//! Jobs of incoming transfers.

use crate::id::DepositId;
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};

jobs! { Incoming:
    /// Classify a transfer that no payment claims: whether a payment matches, what it bought, which account it belongs
    /// to.
    45 ClassifyIncoming(id: DepositId) = "classify_incoming" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Confirm to an incoming transfer that the account was credited.
    47 ConfirmIncoming(id: DepositId) = "confirm_incoming" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
