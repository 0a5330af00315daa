//! Which calls of the sandbox's rails meet a fault, and the amounts that trigger an outcome.

use purser_actors::money::Cents;

use super::super::magic::magic_outcomes;
use purser_sandbox::faults::Fault;

/// Whether it can happen to a query of events.
pub(super) const fn affects_event_reads(fault: Fault) -> bool {
    matches!(fault, Fault::Unreachable | Fault::MalformedResponse)
}

magic_outcomes! {
    /// What a magic amount does, on every rail and in every currency.
    pub enum MagicOutcome, pub fn magic_amounts, Cents;
    /// Declined: the payer is credited.
    Declined = Cents::new(1666), "the rail declines and the payment becomes a credit";
    /// Paid after 10 seconds.
    Slow = Cents::new(1777), "the payout takes 10 seconds";
    /// Accepted, and the first response is lost.
    TimeoutAfterSuccess = Cents::new(1888), "the rail accepts the order and its first response is lost";
    /// Two temporary errors, then it is accepted.
    TwoTemporaryErrors = Cents::new(1999), "the rail fails twice, then accepts the order";
    /// Paid, and returned later.
    Returned = Cents::new(2111), "the payout is paid and returned";
    /// Events arrive out of order and twice.
    OutOfOrder = Cents::new(2222), "the rail's events arrive out of order and twice";
    /// Reported as paid, and then corrected to not paid.
    WrongThenCorrected = Cents::new(2333), "the rail says paid, and later that it was not";
    /// Declined, but paid; the money can be recalled.
    PaidAfterDecline = Cents::new(2444), "the rail declines, then pays after all; the payout is recalled";
    /// Declined, but paid; the money cannot be recalled.
    LostAfterDecline = Cents::new(2555), "the rail declines, then pays after all; the payout cannot be recalled";
    /// Cancelled before it is paid: the payer is credited.
    Cancelled = Cents::new(2666), "the rail stops it before it is paid";
    /// The recipient does not claim it.
    Unclaimed = Cents::new(2777), "the recipient does not claim it; to a bank or card it is never paid";
}
