//! Paid calls by what they came to.

use purser_actors::engine::{Paid, PayError};
use purser_actors::payment::Outcome;
use purser_storage::stats::Tally;

/// What a call to a paid route came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// No payment: it was told the price.
    Challenged,
    /// The payment was not good; nothing was claimed.
    Invalid,
    /// The payer's budget of payments is spent.
    Limited,
    /// Wallet, caps, a freeze or another request stood against it.
    Refused,
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

impl Came {
    /// All, in the order of the enum, with their names in metrics.
    pub const ALL: [(Self, &str); 11] = [
        (Self::Challenged, "challenged"),
        (Self::Invalid, "invalid"),
        (Self::Limited, "rate_limited"),
        (Self::Refused, "refused"),
        (Self::Overloaded, "overloaded"),
        (Self::Unavailable, "unavailable"),
        (Self::Declined, "declined"),
        (Self::Pending, "pending"),
        (Self::Credited, "credited"),
        (Self::Fulfilled, "fulfilled"),
        (Self::Replayed, "replayed"),
    ];

    pub(super) const fn without_claim(error: &PayError) -> Self {
        match error {
            PayError::Overloaded(_) => Self::Overloaded,
            PayError::Unavailable | PayError::NotSold(_) | PayError::Short(_) => Self::Unavailable,
            PayError::Unknown(_) => Self::Pending,
            PayError::Declined(_) => Self::Declined,
            _ => Self::Refused,
        }
    }

    pub(super) const fn with_claim(paid: &Paid) -> Self {
        match paid.outcome {
            Outcome::Pending => Self::Pending,
            Outcome::Unavailable => Self::Unavailable,
            Outcome::Declined(_) => Self::Declined,
            Outcome::Resolved(_) => Self::Refused,
            Outcome::Credited { .. } => Self::Credited,
            Outcome::Fulfilled { .. } if paid.won => Self::Fulfilled,
            Outcome::Fulfilled { .. } => Self::Replayed,
        }
    }
}

/// Counts them.
#[derive(Debug, Default)]
pub struct PaidCalls([Tally; Came::ALL.len()]);

impl PaidCalls {
    pub(super) fn note(&self, came: Came) {
        self.0[came as usize].add();
    }

    /// Name and number of each.
    pub fn read(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Came::ALL
            .iter()
            .map(|(came, name)| (*name, self.0[*came as usize].sum()))
    }
}
