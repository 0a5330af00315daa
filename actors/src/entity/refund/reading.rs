//! Read access to a refund.

use super::{Refund, RefundRequest, Status};
use crate::money::Usdc;
use crate::operator::AuditedAction;

impl Refund {
    /// Operator who decided it; for a refund that needed no approval, its requester.
    pub fn decider(&self) -> Option<&str> {
        match self.status {
            Status::Approved | Status::Credited => Some(self.decided_by.as_deref().unwrap_or(&self.request.by)),
            Status::Requested | Status::Rejected | Status::Expired => self.decided_by.as_deref(),
        }
    }

    /// Whether the same refund was requested and is still valid: then the repeated request changes nothing.
    pub fn is_same_request(&self, asked: &RefundRequest) -> bool {
        let is_valid = matches!(self.status, Status::Requested | Status::Approved | Status::Credited);
        is_valid && self.request == *asked
    }

    /// Credited amount: zero while it waits, and if it was rejected or has expired.
    pub const fn credited_amount(&self) -> Usdc {
        match self.status {
            Status::Approved | Status::Credited => self.request.amount,
            Status::Requested | Status::Rejected | Status::Expired => Usdc::ZERO,
        }
    }

    pub(super) fn is_requested_by(&self, act: &AuditedAction) -> bool {
        self.request.by == act.operator
    }
}
