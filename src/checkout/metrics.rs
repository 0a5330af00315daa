//! Paid calls by what they came to.

use purser_actors::engine::{ClaimError, PaymentResult};
use purser_actors::payment::Outcome;
use purser_storage::stats::Counter;

/// What a call to a paid route came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaidCallResult {
    /// No payment: it was told the price.
    Challenged,
    /// The payment was not good; nothing was claimed.
    Invalid,
    /// The payer's budget of payments is spent.
    RateLimited,
    /// Wallet, caps, a freeze or another request stood against it.
    Rejected,
    /// There was no room.
    Overloaded,
    /// The chain or the engine could not be reached; nothing was charged.
    Unavailable,
    /// The chain said no.
    Declined,
    /// The outcome is open: 202.
    Pending,
    /// Paid, and on the payer's balance.
    Credited,
    /// Paid and bought.
    Fulfilled,
    /// The answer of an earlier call with the same payment.
    Replayed,
}

impl PaidCallResult {
    /// All, in the order of the enum, with their names in metrics.
    pub const ALL: [(Self, &str); 11] = [
        (Self::Challenged, "challenged"),
        (Self::Invalid, "invalid"),
        (Self::RateLimited, "rate_limited"),
        (Self::Rejected, "refused"),
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

/// Counts them.
#[derive(Debug, Default)]
pub struct PaidCallCounters([Counter; PaidCallResult::ALL.len()]);

impl PaidCallCounters {
    pub(super) fn record(&self, came: PaidCallResult) {
        self.0[came as usize].add();
    }

    /// Name and number of each.
    pub fn read(&self) -> impl Iterator<Item = (&'static str, u64)> {
        PaidCallResult::ALL
            .iter()
            .map(|(came, name)| (*name, self.0[*came as usize].sum()))
    }
}
