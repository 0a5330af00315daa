//! Fees lost to failed payments, counted per paying wallet: a wallet that costs too much is declined for a time. No
//! I/O.

use std::collections::HashMap;

use super::address::Pubkey;

/// Limits of the fees that one paying wallet may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossLimits {
    /// Lamports that a wallet may cost in a window before its payments are declined.
    pub lamports: u64,
    /// Length of the window in milliseconds, from the first loss.
    pub window_ms: u64,
    /// How long the wallet's payments are then declined, in milliseconds.
    pub decline_ms: u64,
    /// Maximum number of stored wallets; above it, the wallet with the oldest window is dropped.
    pub wallets: usize,
}

impl Default for LossLimits {
    fn default() -> Self {
        Self {
            lamports: 100_000,
            window_ms: 3_600_000,
            decline_ms: 3_600_000,
            wallets: 10_000,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Losses {
    started_ms: u64,
    lamports: u64,
    declined_until_ms: u64,
}

/// Fees lost to failed payments, counted per paying wallet.
#[derive(Clone, Debug)]
pub struct LostFees {
    limits: LossLimits,
    wallets: HashMap<Pubkey, Losses>,
}

impl LostFees {
    /// Creates counters without losses.
    pub fn new(limits: LossLimits) -> Self {
        Self {
            limits,
            wallets: HashMap::new(),
        }
    }

    /// Records that a payment of `wallet` failed on chain, with this cost.
    pub fn lost(&mut self, wallet: Pubkey, lamports: u64, now_ms: u64) {
        let limits = self.limits;
        if !self.wallets.contains_key(&wallet) && self.wallets.len() >= limits.wallets {
            self.forget(now_ms);
        }
        let fresh = Losses {
            started_ms: now_ms,
            lamports: 0,
            declined_until_ms: 0,
        };
        let losses = self.wallets.entry(wallet).or_insert(fresh);
        if now_ms.saturating_sub(losses.started_ms) >= limits.window_ms && losses.declined_until_ms <= now_ms {
            *losses = fresh;
        }
        losses.lamports = losses.lamports.saturating_add(lamports);
        if losses.lamports > limits.lamports {
            losses.declined_until_ms = now_ms.saturating_add(limits.decline_ms);
        }
    }

    /// For how many more milliseconds the wallet's payments are declined, if they are.
    pub fn declined_for_ms(&self, wallet: &Pubkey, now_ms: u64) -> Option<u64> {
        let until = self.wallets.get(wallet)?.declined_until_ms;
        until.checked_sub(now_ms).filter(|left| *left > 0)
    }

    /// Drops entries that no longer count, or else the oldest window.
    fn forget(&mut self, now_ms: u64) {
        let window = self.limits.window_ms;
        self.wallets
            .retain(|_, losses| losses.declined_until_ms > now_ms || now_ms.saturating_sub(losses.started_ms) < window);
        if self.wallets.len() >= self.limits.wallets {
            let oldest = self
                .wallets
                .iter()
                .min_by_key(|(wallet, losses)| (losses.started_ms, **wallet));
            if let Some(oldest) = oldest.map(|(wallet, _)| *wallet) {
                self.wallets.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    fn key(byte: u8) -> Pubkey {
        [byte; 32]
    }

    #[test]
    fn a_wallet_that_costs_too_much_is_declined_for_a_time() {
        let limits = LossLimits {
            lamports: 20_000,
            window_ms: 1000,
            decline_ms: 5000,
            wallets: 2,
        };
        let mut lost = LostFees::new(limits);
        lost.lost(key(1), 10_000, 0);
        lost.lost(key(1), 10_000, 500);
        assert_eq!(lost.declined_for_ms(&key(1), 500), None, "at the limit");
        lost.lost(key(1), 10_000, 1500);
        assert_eq!(lost.declined_for_ms(&key(1), 1500), None, "a new window");
        lost.lost(key(1), 10_001, 1600);
        assert_eq!(lost.declined_for_ms(&key(1), 1600), Some(5000));
        assert_eq!(lost.declined_for_ms(&key(1), 6599), Some(1));
        assert_eq!(lost.declined_for_ms(&key(1), 6600), None);
        assert_eq!(lost.declined_for_ms(&key(2), 1600), None);
    }

    #[test]
    fn wallets_are_bounded() {
        let limits = LossLimits {
            lamports: 1,
            window_ms: 1000,
            decline_ms: 5000,
            wallets: 2,
        };
        let mut lost = LostFees::new(limits);
        lost.lost(key(1), 2, 0);
        lost.lost(key(2), 1, 1);
        // The window of wallet 2 is over, so it is dropped; wallet 1 is still declined.
        lost.lost(key(3), 2, 2000);
        assert!(lost.declined_for_ms(&key(1), 2000).is_some() && lost.declined_for_ms(&key(3), 2000).is_some());
        lost.lost(key(4), 2, 2001);
        assert_eq!(
            lost.declined_for_ms(&key(1), 2001),
            None,
            "the oldest window is forgotten"
        );
        assert!(lost.declined_for_ms(&key(3), 2001).is_some() && lost.declined_for_ms(&key(4), 2001).is_some());
    }
}
