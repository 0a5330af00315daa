//! Which calls of the sandbox's rails meet a fault, and the amounts that trigger an outcome.

use purser_actors::money::Cents;

use purser_sandbox::faults::Fault;

/// Whether it can happen to a query of events.
pub(super) const fn affects_event_reads(fault: Fault) -> bool {
    matches!(fault, Fault::Unreachable | Fault::MalformedResponse)
}

/// What a magic amount does, on every rail and in every currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicOutcome {
    /// Declined: the payer is credited.
    Declined,
    /// Paid after 10 seconds.
    Slow,
    /// Accepted, and the first response is lost.
    TimeoutAfterSuccess,
    /// Two temporary errors, then it is accepted.
    TwoTemporaryErrors,
    /// Paid, and returned later.
    Returned,
    /// Events arrive out of order and twice.
    OutOfOrder,
    /// Reported as paid, and then corrected to not paid.
    WrongThenCorrected,
    /// Declined, but paid; the money can be recalled.
    PaidAfterDecline,
    /// Declined, but paid; the money cannot be recalled.
    LostAfterDecline,
    /// Cancelled before it is paid: the payer is credited.
    Cancelled,
    /// The recipient does not claim it.
    Unclaimed,
}

/// Payouts of exactly these amounts trigger their outcome without the sandbox controls.
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
            "the rail declines, then pays after all; the payout is recalled",
        ),
        (
            Cents::new(2555),
            MagicOutcome::LostAfterDecline,
            "the rail declines, then pays after all; the payout cannot be recalled",
        ),
        (
            Cents::new(2666),
            MagicOutcome::Cancelled,
            "the rail stops it before it is paid",
        ),
        (
            Cents::new(2777),
            MagicOutcome::Unclaimed,
            "the recipient does not claim it; to a bank or card it is never paid",
        ),
    ]
}

pub(super) fn magic_of(amount: Cents) -> Option<MagicOutcome> {
    let mut amounts = magic_amounts().into_iter();
    amounts.find(|(magic, ..)| *magic == amount).map(|(_, magic, _)| magic)
}
