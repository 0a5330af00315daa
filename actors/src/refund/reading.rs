//! What is read of a refund.

use super::{Refund, RefundRequest, Status};
use crate::money::Usdc;
use crate::operator::AuditedAction;

impl Refund {
    /// Who decided it: of one that is given and was small enough to need nobody else, whoever asked for it.
    pub fn decider(&self) -> Option<&str> {
        match self.status {
            Status::Approved | Status::Credited => Some(self.decided_by.as_deref().unwrap_or(&self.request.by)),
            Status::Requested | Status::Rejected | Status::Expired => self.decided_by.as_deref(),
        }
    }

    /// Whether it was asked for just so and stands: then the same again changes nothing.
    pub fn is_same_request(&self, asked: &RefundRequest) -> bool {
        let stands = matches!(self.status, Status::Requested | Status::Approved | Status::Credited);
        stands && self.request == *asked
    }

    /// What was given: nothing while it waits, and if it was rejected or has expired.
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
