//! Which calls of the sandbox's catalog meet a fault, and the products that trigger an outcome.

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

/// What a magic product does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicOutcome {
    /// Every order is declined: the payer is credited.
    Declined,
    /// An order takes 10 seconds.
    Slow,
    /// The gift card is created, and the first response is lost.
    TimeoutAfterSuccess,
    /// Two temporary errors, then the gift card is created.
    TwoTemporaryErrors,
    /// The first response is repeated when the gift card is ready.
    DuplicateResponse,
    /// The first response is malformed, although the order is accepted.
    GarbageAfterSuccess,
    /// It appears in stock, and is sold out when it is ordered.
    SoldOutAtOrder,
    /// Its fee rate is higher at the order than at the quote.
    PriceRaisedAtOrder,
}

/// These products are in the catalog and trigger their outcome without the sandbox controls.
pub const fn magic_products() -> [(&'static str, MagicOutcome, &'static str); 8] {
    [
        (
            "gift_sandbox_declined",
            MagicOutcome::Declined,
            "the brand declines the order and the payment becomes a credit",
        ),
        (
            "gift_sandbox_slow",
            MagicOutcome::Slow,
            "the gift card takes 10 seconds",
        ),
        (
            "gift_sandbox_lost_answer",
            MagicOutcome::TimeoutAfterSuccess,
            "the gift card is made and the first answer is lost",
        ),
        (
            "gift_sandbox_busy",
            MagicOutcome::TwoTemporaryErrors,
            "the catalog fails twice, then makes the gift card",
        ),
        (
            "gift_sandbox_twice",
            MagicOutcome::DuplicateResponse,
            "the first answer comes again when the gift card is ready",
        ),
        (
            "gift_sandbox_garbage",
            MagicOutcome::GarbageAfterSuccess,
            "the order is taken and its first answer is nonsense",
        ),
        (
            "gift_sandbox_sold_out",
            MagicOutcome::SoldOutAtOrder,
            "it sells out between the look at the stock and the order; the payment becomes a credit",
        ),
        (
            "gift_sandbox_dearer",
            MagicOutcome::PriceRaisedAtOrder,
            "the price rises between the look at it and the order; the payment becomes a credit",
        ),
    ]
}

pub(super) fn magic_of(product_id: &str) -> Option<MagicOutcome> {
    let mut products = magic_products().into_iter();
    products.find(|(id, ..)| *id == product_id).map(|(_, magic, _)| magic)
}
