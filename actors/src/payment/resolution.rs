//! What became of a transfer that was taken in without its payment.

use crate::id::Wallet;
use crate::incoming::{Incoming, Status};

/// Where the money went of a payment that bought nothing and whose account was not credited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Resolution {
    /// Back to its sender, by a withdrawal.
    Returned,
    /// On, for its sender, in a history that a restore has lost.
    Forwarded,
    /// Elsewhere, which is not the payer's to know: another account was credited, or it is the treasury's own.
    Other,
}

impl Resolution {
    /// As in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Forwarded => "forwarded",
            Self::Other => "other",
        }
    }
}

/// What becomes of a payment whose transfer was taken in without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncomingOutcome {
    /// Its account has it, or is getting it.
    Credited,
    /// Its account has nothing of it.
    Resolved(Resolution),
}

impl IncomingOutcome {
    /// Of an account's payment, by what was decided about its transfer; `None` while nothing is.
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
