//! Wallets whose payments were declined for insufficient funds: the chain checks these before a claim, and no others.

use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashSet;
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::Decline;

use super::super::ledger::{ReplayKey, insufficient};
use super::SandboxChain;

/// Maximum number of wallets. Beyond it all are removed, and the chain declines each of them once more after a claim.
const MAX_WALLETS: usize = 10_000;

/// Wallets known to be empty; see the module. In memory: a restart clears them.
#[derive(Debug, Default)]
pub(super) struct EmptyWallets {
    wallets: DashSet<Wallet>,
    /// Number of wallets: a lookup takes no lock while it is zero.
    count: AtomicUsize,
}

impl EmptyWallets {
    /// A payment of this wallet was declined.
    fn insert(&self, wallet: Wallet) {
        if self.count.load(Ordering::Acquire) >= MAX_WALLETS {
            self.wallets.clear();
            self.count.store(0, Ordering::Release);
        }
        if self.wallets.insert(wallet) {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether a payment of this wallet was declined. Its balance may be higher now.
    fn contains(&self, wallet: &Wallet) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.wallets.contains(wallet)
    }

    /// Removes a wallet whose balance is high enough again.
    fn remove(&self, wallet: &Wallet) {
        if self.wallets.remove(wallet).is_some() {
            // `insert` may have set the number to zero in between.
            let less = |count: usize| Some(count.saturating_sub(1));
            let _ = self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        }
    }
}

impl SandboxChain {
    /// Inserts the payer if the reason is insufficient funds.
    pub(super) fn record_decline(&self, payer: Wallet, decline: Decline) -> Decline {
        if decline == insufficient() {
            self.empty.insert(payer);
        }
        decline
    }

    /// Whether the balance of a wallet declined for insufficient funds is still lower than this amount. False for a
    /// payment that is on the chain, and for any other wallet, without reading the ledger.
    pub(crate) fn is_known_insufficient(&self, key: &ReplayKey, amount: Usdc) -> bool {
        if !self.empty.contains(&key.payer) {
            return false;
        }
        let state = self.state.lock();
        if state.ledger.balance(&key.payer) >= amount {
            self.empty.remove(&key.payer);
            return false;
        }
        state.ledger.find(key).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a wallet is known until it is removed, and the number of wallets is limited.
    #[test]
    fn the_number_of_wallets_is_limited() {
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
        for n in 0..=MAX_WALLETS {
            empty.insert(wallet(n));
        }
        assert!(empty.contains(&wallet(MAX_WALLETS)), "the newest is there");
        assert!(empty.wallets.len() <= MAX_WALLETS);
    }
}
