//! What the sandbox's catalog can be told to do wrong, and the products that do it by themselves.

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiftCardFault {
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
    /// The order's first answer comes a second time, whatever has become of it since.
    Duplicate,
    /// The brand refuses the order.
    Decline,
    /// Sold out, for this call alone.
    OutOfStock,
}

impl GiftCardFault {
    /// Its name on the sandbox desk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::MalformedResponse => "malformed_response",
            Self::Timeout => "timeout",
            Self::Duplicate => "duplicate",
            Self::Decline => "decline",
            Self::OutOfStock => "out_of_stock",
        }
    }

    /// Whether a call that only reads can meet it.
    pub(super) const fn affects_reads(self) -> bool {
        matches!(self, Self::Unreachable | Self::Slow { .. } | Self::MalformedResponse)
    }

    /// Whether a look at price and stock can meet it.
    pub(super) const fn affects_quotes(self) -> bool {
        self.affects_reads() || matches!(self, Self::OutOfStock)
    }
}

/// What a magic product does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicOutcome {
    /// Every order is declined: the payer is credited.
    Declined,
    /// It takes 10 seconds.
    Slow,
    /// It is made, and the first answer never comes.
    TimeoutAfterSuccess,
    /// Two temporary errors, then it is made.
    TwoTemporaryErrors,
    /// The first answer comes a second time when it is ready.
    DuplicateResponse,
    /// The first answer is nonsense, though the order is taken.
    GarbageAfterSuccess,
    /// It looks in stock, and is sold out when it is ordered.
    SoldOutAtOrder,
    /// It costs more when it is ordered than when it was looked at.
    PriceRaisedAtOrder,
}

/// These products are in the catalog and meet their fate without the desk.
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
