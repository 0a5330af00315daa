//! Resolution of a payment whose transfer was recorded as a deposit.

use crate::entity::incoming::{Incoming, Status};
use crate::id::Wallet;

/// Destination of the money of a payment that bought nothing and whose account was not credited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Resolution {
    /// Returned to its sender, by a withdrawal.
    Returned,
    /// Sent on for its sender, in a history that a restore lost.
    Forwarded,
    /// Not disclosed to the payer: another account was credited, or it belongs to the operator funds.
    Other,
}

impl Resolution {
    /// Name in API documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Forwarded => "forwarded",
            Self::Other => "other",
        }
    }
}

crate::answer::serialize_as_name!(Resolution);

/// Outcome of a payment whose transfer was recorded as a deposit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncomingOutcome {
    /// Its account was or will be credited.
    Credited,
    /// Its account is not credited.
    Resolved(Resolution),
}

impl IncomingOutcome {
    /// Outcome for an account's payment, by the decision about its transfer; `None` before the decision.
    pub fn from_incoming(incoming: &Incoming, account: Wallet) -> Option<Self> {
        match incoming.status {
            Status::Found | Status::Waiting | Status::Claimed | Status::Adopted(_) => None,
            Status::Crediting(has) | Status::Credited(has) if has == account => Some(Self::Credited),
            Status::Crediting(_) | Status::Credited(_) | Status::OperatorFunds => {
                Some(Self::Resolved(Resolution::Other))
            }
            Status::Returning(_) | Status::Returned(_) => Some(Self::Resolved(Resolution::Returned)),
            Status::Forwarded(_) => Some(Self::Resolved(Resolution::Forwarded)),
        }
    }
}
