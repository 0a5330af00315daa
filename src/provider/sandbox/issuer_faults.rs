//! Amounts that trigger an outcome at the sandbox issuer.

use purser_actors::money::Cents;

/// What a magic amount does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicOutcome {
    /// The issuer declines the card: the payer is credited.
    Declined,
    /// The card takes 10 seconds instead of 2.
    Slow,
    /// The card is created and the first response is lost: a retry with the same key finds it.
    TimeoutAfterSuccess,
    /// Two temporary errors, then the card is created.
    TwoTemporaryErrors,
}

/// Cards of exactly these amounts trigger their outcome without the sandbox controls.
pub const fn magic_amounts() -> [(Cents, MagicOutcome, &'static str); 4] {
    [
        (
            Cents::new(666),
            MagicOutcome::Declined,
            "the issuer declines the card and the payment becomes a credit",
        ),
        (
            Cents::new(777),
            MagicOutcome::Slow,
            "the card takes 10 seconds to be ready",
        ),
        (
            Cents::new(888),
            MagicOutcome::TimeoutAfterSuccess,
            "the issuer makes the card and its first answer is lost",
        ),
        (
            Cents::new(999),
            MagicOutcome::TwoTemporaryErrors,
            "the issuer fails twice, then makes the card",
        ),
    ]
}

pub(super) fn magic_of(amount: Cents) -> Option<MagicOutcome> {
    magic_amounts()
        .into_iter()
        .find(|(magic, _, _)| *magic == amount)
        .map(|(_, magic, _)| magic)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use purser_actors::money::Usdc;
    use purser_sandbox::chains::faults;

    use super::magic_amounts;

    // A payment of a card's price must not trigger an outcome of the chain too.
    #[test]
    fn no_magic_amount_of_the_issuer_is_one_of_a_chain() {
        for (of_chain, ..) in faults::magic_amounts() {
            for (cents, ..) in magic_amounts() {
                assert_ne!(Usdc::from_cents(cents).unwrap(), of_chain);
            }
        }
    }
}
