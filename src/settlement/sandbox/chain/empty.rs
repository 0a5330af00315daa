//! Wallets whose payments were refused for want of money: what the chain knows of a payer without being read.

use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashSet;
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::Decline;

use super::super::ledger::insufficient;
use super::Chain;

/// Most wallets that are remembered; then all are forgotten, and each is refused by the chain itself once more.
const MOST: usize = 10_000;

/// See the module. Held in memory: a restart forgets them.
#[derive(Debug, Default)]
pub(super) struct EmptyWallets {
    wallets: DashSet<Wallet>,
    /// How many there are, so that whoever asks while there are none takes no lock.
    count: AtomicUsize,
}

impl EmptyWallets {
    /// A payment of this wallet was refused.
    fn insert(&self, wallet: Wallet) {
        if self.count.load(Ordering::Acquire) >= MOST {
            self.wallets.clear();
            self.count.store(0, Ordering::Release);
        }
        if self.wallets.insert(wallet) {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether a payment of this wallet was refused: what it has now is for the ledger to say.
    fn contains(&self, wallet: &Wallet) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.wallets.contains(wallet)
    }

    /// It has money again.
    fn remove(&self, wallet: &Wallet) {
        if self.wallets.remove(wallet).is_some() {
            // A clearing between the two may have counted it out already.
            let less = |count: usize| Some(count.saturating_sub(1));
            let _ = self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        }
    }
}

impl Chain {
    /// Remembers who could not pay.
    pub(super) fn noted(&self, payer: Wallet, decline: Decline) -> Decline {
        if decline == insufficient() {
            self.empty.insert(payer);
        }
        decline
    }

    /// Whether a wallet that was refused for want of money still has less than this. Of every other nothing is known, and
    /// nothing is looked at.
    pub(crate) fn is_known_to_lack(&self, payer: &Wallet, amount: Usdc) -> bool {
        if !self.empty.contains(payer) {
            return false;
        }
        let lacks = self.state.lock().ledger.balance(payer) < amount;
        if !lacks {
            self.empty.remove(payer);
        }
        lacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Aim: a wallet is known from its refusal to its money, and however many there are, no more than the bound are kept.
    #[test]
    fn wallets_are_remembered_up_to_a_bound() {
        let wallet = |n: usize| {
            let mut address = [0; 20];
            address[..8].copy_from_slice(&n.to_be_bytes());
            Wallet::Evm(address)
        };
        let empty = EmptyWallets::default();
        assert!(!empty.contains(&wallet(0)));
        empty.insert(wallet(0));
        empty.insert(wallet(0));
        assert!(empty.contains(&wallet(0)) && !empty.contains(&wallet(1)));
        empty.remove(&wallet(0));
        empty.remove(&wallet(0));
        assert!(!empty.contains(&wallet(0)));
        for n in 0..=MOST {
            empty.insert(wallet(n));
        }
        assert!(empty.contains(&wallet(MOST)), "the newest is kept");
        assert!(empty.wallets.len() <= MOST);
    }
}
