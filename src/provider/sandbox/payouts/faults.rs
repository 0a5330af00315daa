//! What the sandbox's rails can be told to do wrong, and the amounts that do it by themselves.

use purser_actors::money::Cents;

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayoutFault {
    /// Nothing answers; an order is not taken.
    Unreachable,
    /// The call takes so long, and then goes its way.
    Slow {
        /// In milliseconds.
        ms: u64,
    },
    /// The answer is nonsense; an order is not taken, which the caller cannot know.
    MalformedResponse,
    /// The order is taken and its answer never comes.
    Timeout,
    /// The order is refused.
    Decline,
    /// Everything told so far is told again, once.
    Duplicate,
}

impl PayoutFault {
    /// Its name on the sandbox desk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::MalformedResponse => "malformed_response",
            Self::Timeout => "timeout",
            Self::Decline => "decline",
            Self::Duplicate => "duplicate",
        }
    }

    /// Whether a call that only listens can meet it.
    pub(super) const fn affects_event_reads(self) -> bool {
        matches!(self, Self::Unreachable | Self::MalformedResponse)
    }
}

/// What a magic amount does, on every rail and in every currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicOutcome {
    /// Refused for good: the payer is credited.
    Declined,
    /// Paid after 10 seconds.
    Slow,
    /// Taken, and the first answer never comes.
    TimeoutAfterSuccess,
    /// Two temporary errors, then it is taken.
    TwoTemporaryErrors,
    /// Paid, and it comes back.
    Returned,
    /// Words arrive in another order than they were meant, and twice.
    OutOfOrder,
    /// Said to be paid, and then that it was not.
    WrongThenCorrected,
    /// Refused, and paid after all; the money can be taken back.
    PaidAfterDecline,
    /// Refused, and paid after all; the money is gone.
    LostAfterDecline,
    /// Stopped before it is paid: the payer is credited.
    Cancelled,
    /// Nobody claims it.
    Unclaimed,
}

/// Payouts of exactly these amounts meet their fate without the desk.
pub const fn magic_amounts() -> [(Cents, MagicOutcome, &'static str); 11] {
    [
        (
            Cents::new(1666),
            MagicOutcome::Declined,
            "the rail refuses and the payment becomes a credit",
        ),
        (Cents::new(1777), MagicOutcome::Slow, "the payout takes 10 seconds"),
        (
            Cents::new(1888),
            MagicOutcome::TimeoutAfterSuccess,
            "the rail takes the order and its first answer is lost",
        ),
        (
            Cents::new(1999),
            MagicOutcome::TwoTemporaryErrors,
            "the rail fails twice, then takes the order",
        ),
        (
            Cents::new(2111),
            MagicOutcome::Returned,
            "the payout is paid and comes back",
        ),
        (
            Cents::new(2222),
            MagicOutcome::OutOfOrder,
            "the rail's words arrive out of order and twice",
        ),
        (
            Cents::new(2333),
            MagicOutcome::WrongThenCorrected,
            "the rail says paid, and later that it was not",
        ),
        (
            Cents::new(2444),
            MagicOutcome::PaidAfterDecline,
            "the rail refuses, then pays after all; the money is taken back",
        ),
        (
            Cents::new(2555),
            MagicOutcome::LostAfterDecline,
            "the rail refuses, then pays after all; the money cannot be taken back",
        ),
        (
            Cents::new(2666),
            MagicOutcome::Cancelled,
            "the rail stops it before it is paid",
        ),
        (
            Cents::new(2777),
            MagicOutcome::Unclaimed,
            "nobody claims it; to a bank or card it is never paid",
        ),
    ]
}

pub(super) fn magic_of(amount: Cents) -> Option<MagicOutcome> {
    let mut amounts = magic_amounts().into_iter();
    amounts.find(|(magic, ..)| *magic == amount).map(|(_, magic, _)| magic)
}
