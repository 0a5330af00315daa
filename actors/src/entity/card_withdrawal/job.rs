//! Jobs of card withdrawals.

use crate::id::WithdrawalId;
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, Queue, jobs};

jobs! { CardWithdrawal:
    /// Place a hold at the issuer for a withdrawal from a card balance.
    35 HoldCardBalance(id: WithdrawalId) = "hold_card_balance" => JobPolicy {
        line: LineDependency::None,
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::Either,
            credits: Credits::Never,
            credit_needs_proof: true,
            absence_is_definitive: true,
            pending_means_not_completed: false,
        }),
    };
    /// End the hold of a card withdrawal at the issuer: captured if it was paid, else released.
    36 SettleCardHold(id: WithdrawalId) = "settle_card_hold" => JobPolicy {
        line: LineDependency::None,
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
    /// Expire a lease on a card withdrawal, unless it has ended before.
    37 ExpireWithdrawalLease {
        /// Withdrawal with the lease.
        withdrawal: WithdrawalId,
        /// Number of the lease.
        lease: u64,
    } = "expire_withdrawal_lease" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
