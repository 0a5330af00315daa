//! The offer on Solana: the payee with the fee payers that are currently accepted. The fee payers change when
//! facilitators own them.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::payment::solana::address::Pubkey;
use crate::payment::{SolanaChain, SolanaPayee};
use crate::settlement::chain::FeePayers;

pub struct SolanaOffer {
    chain: SolanaChain,
    pay_to: Pubkey,
    fee_payers: Arc<dyn FeePayers>,
    /// Cached payee for its fee payers.
    made: ArcSwapOption<SolanaPayee>,
}

impl SolanaOffer {
    /// Our address on a chain; `None` if no token account can be derived for it.
    pub fn new(chain: SolanaChain, pay_to: Pubkey, fee_payers: Arc<dyn FeePayers>) -> Option<Self> {
        // With any fee payer: none may be known yet.
        SolanaPayee::on(&chain, pay_to, &[Pubkey::default()], None)?;
        Some(Self {
            chain,
            pay_to,
            fee_payers,
            made: ArcSwapOption::empty(),
        })
    }

    /// `None` while no fee payer is known, because no payment could be settled.
    pub fn payee(&self) -> Option<Arc<SolanaPayee>> {
        let all = self.fee_payers.all();
        let made = self.made.load();
        if let Some(payee) = made.as_ref().filter(|payee| payee.fee_payers[..] == all[..]) {
            return Some(Arc::clone(payee));
        }
        let payee = Arc::new(SolanaPayee::on(&self.chain, self.pay_to, &all, None)?);
        self.made.store(Some(Arc::clone(&payee)));
        Some(payee)
    }

    /// Owner of the token account that is paid.
    pub const fn pay_to(&self) -> Pubkey {
        self.pay_to
    }

    pub const fn mint(&self) -> Pubkey {
        self.chain.mint
    }

    /// The fee payer for the next challenge.
    pub fn fee_payer(&self) -> Option<Pubkey> {
        self.fee_payers.choose()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use parking_lot::Mutex;

    use super::*;

    struct TestFeePayers(Mutex<Vec<Pubkey>>);

    impl FeePayers for TestFeePayers {
        fn all(&self) -> Arc<[Pubkey]> {
            self.0.lock().as_slice().into()
        }

        fn choose(&self) -> Option<Pubkey> {
            self.0.lock().first().copied()
        }
    }

    // Checks: without a fee payer nothing is offered on Solana. Once one is known an offer is made, and a new one is
    // accepted beside those offered before.
    #[test]
    fn what_is_offered_follows_the_fee_payers() {
        let known = Arc::new(TestFeePayers(Mutex::new(Vec::new())));
        let offer = SolanaOffer::new(SolanaChain::MAINNET, [3; 32], known.clone()).unwrap();
        assert!(offer.payee().is_none());
        assert_eq!(offer.fee_payer(), None);
        known.0.lock().push([1; 32]);
        let first = offer.payee().unwrap();
        assert_eq!(first.fee_payers, [[1; 32]]);
        assert!(Arc::ptr_eq(&first, &offer.payee().unwrap()), "it is made once");
        known.0.lock().insert(0, [2; 32]);
        assert_eq!(offer.payee().unwrap().fee_payers, [[2; 32], [1; 32]]);
        assert_eq!(offer.fee_payer(), Some([2; 32]));
    }
}
