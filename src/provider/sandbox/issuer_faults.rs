//! Amounts that trigger an outcome at the sandbox issuer.

use purser_actors::money::Cents;

use super::magic::magic_outcomes;

magic_outcomes! {
    /// What a magic amount does.
    pub enum MagicOutcome, pub fn magic_amounts, Cents;
    /// The issuer declines the card: the payer is credited.
    Declined = Cents::new(666), "the issuer declines the card and the payment becomes a credit";
    /// The card takes 10 seconds instead of 2.
    Slow = Cents::new(777), "the card takes 10 seconds to be ready";
    /// The card is created and the first response is lost: a retry with the same key finds it.
    TimeoutAfterSuccess = Cents::new(888), "the issuer creates the card and its first response is lost";
    /// Two temporary errors, then the card is created.
    TwoTemporaryErrors = Cents::new(999), "the issuer fails twice, then creates the card";
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
