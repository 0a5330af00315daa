//! Paid calls by result.

use purser_actors::engine::{ClaimError, PaymentResult};
use purser_actors::entity::payment::Outcome;
use purser_storage::stats::Counter;

/// Result of a call to a paid route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaidCallResult {
    /// No payment: the response was a challenge.
    Challenged,
    /// The payment was invalid; nothing was claimed.
    Invalid,
    /// The payer's rate limit is exhausted.
    RateLimited,
    /// Rejected because of the wallet, a cap, a freeze or another request.
    Rejected,
    /// There was no capacity.
    Overloaded,
    /// The chain or the engine could not be reached; nothing was charged.
    Unavailable,
    /// The chain declined it.
    Declined,
    /// The outcome is unknown: 202.
    Pending,
    /// Paid, and credited to the payer's balance.
    Credited,
    /// Paid and bought.
    Fulfilled,
    /// The response of an earlier call with the same payment.
    Replayed,
}

impl PaidCallResult {
    /// All, in the order of the enum, with their names in metrics.
    pub const ALL: [(Self, &str); 11] = [
        (Self::Challenged, "challenged"),
        (Self::Invalid, "invalid"),
        (Self::RateLimited, "rate_limited"),
        (Self::Rejected, "rejected"),
        (Self::Overloaded, "overloaded"),
        (Self::Unavailable, "unavailable"),
        (Self::Declined, "declined"),
        (Self::Pending, "pending"),
        (Self::Credited, "credited"),
        (Self::Fulfilled, "fulfilled"),
        (Self::Replayed, "replayed"),
    ];

    pub(super) const fn from_claim_error(error: &ClaimError) -> Self {
        match error {
            ClaimError::Overloaded(_) => Self::Overloaded,
            ClaimError::Unavailable | ClaimError::LineUnavailable(_) | ClaimError::InsufficientTreasury(_) => {
                Self::Unavailable
            }
            ClaimError::OutcomeUnknown(_) => Self::Pending,
            ClaimError::Declined(_) => Self::Declined,
            _ => Self::Rejected,
        }
    }

    pub(super) const fn from_payment(paid: &PaymentResult) -> Self {
        match paid.outcome {
            Outcome::Pending => Self::Pending,
            Outcome::Unavailable => Self::Unavailable,
            Outcome::Declined(_) => Self::Declined,
            Outcome::Resolved(_) => Self::Rejected,
            Outcome::Credited { .. } => Self::Credited,
            Outcome::Fulfilled { .. } if paid.won => Self::Fulfilled,
            Outcome::Fulfilled { .. } => Self::Replayed,
        }
    }
}

#[derive(Debug, Default)]
pub struct PaidCallCounters([Counter; PaidCallResult::ALL.len()]);

impl PaidCallCounters {
    pub(super) fn record(&self, came: PaidCallResult) {
        self.0[came as usize].add();
    }

    /// Name and count of each.
    pub fn read(&self) -> impl Iterator<Item = (&'static str, u64)> {
        PaidCallResult::ALL
            .iter()
            .map(|(came, name)| (*name, self.0[*came as usize].sum()))
    }
}
