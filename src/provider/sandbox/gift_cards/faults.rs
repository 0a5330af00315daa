//! Which calls of the sandbox's catalog meet a fault, and the products that trigger an outcome.

use super::super::magic::magic_outcomes;
use purser_sandbox::faults::Fault;

/// Whether it can happen to a read-only call.
pub(super) const fn affects_reads(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Unreachable | Fault::Slow { .. } | Fault::MalformedResponse
    )
}

/// Whether it can happen to a quote.
pub(super) const fn affects_quotes(fault: Fault) -> bool {
    affects_reads(fault) || matches!(fault, Fault::OutOfStock)
}

magic_outcomes! {
    /// What a magic product does.
    pub enum MagicOutcome, pub fn magic_products, &'static str;
    /// Every order is declined: the payer is credited.
    Declined = "gift_sandbox_declined", "the brand declines the order and the payment becomes a credit";
    /// An order takes 10 seconds.
    Slow = "gift_sandbox_slow", "the gift card takes 10 seconds";
    /// The gift card is created, and the first response is lost.
    TimeoutAfterSuccess = "gift_sandbox_lost_answer", "the gift card is created and the first response is lost";
    /// Two temporary errors, then the gift card is created.
    TwoTemporaryErrors = "gift_sandbox_busy", "the catalog fails twice, then creates the gift card";
    /// The first response is repeated when the gift card is ready.
    DuplicateResponse = "gift_sandbox_twice", "the first response arrives again when the gift card is ready";
    /// The first response is malformed, although the order is accepted.
    GarbageAfterSuccess = "gift_sandbox_garbage", "the order is accepted and its first response is invalid";
    /// It appears in stock, and is sold out when it is ordered.
    SoldOutAtOrder = "gift_sandbox_sold_out",
        "it sells out between the look at the stock and the order; the payment becomes a credit";
    /// Its fee rate is higher at the order than at the quote.
    PriceRaisedAtOrder = "gift_sandbox_dearer",
        "the price rises between the look at it and the order; the payment becomes a credit";
}
