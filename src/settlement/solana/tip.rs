//! The newest known state of the chain: blockhashes that were read, and how long each is good.

use std::collections::{HashMap, VecDeque};

use purser_chains::solana::life::BLOCKHASH_BLOCKS;
use purser_chains::solana::node::Blockhash;

/// Blockhashes that are remembered: several times as many as can be valid at once.
const REMEMBERED: usize = 512;

/// How long a transaction can execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) last_valid_block_height: u64,
    /// A slot before which it cannot have executed.
    pub(super) not_before_slot: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tip {
    newest: Option<(Blockhash, u64)>,
    known: HashMap<[u8; 32], Validity>,
    order: VecDeque<[u8; 32]>,
    /// Highest slot and block height that any answer has shown, at `confirmed`.
    slot: u64,
    block_height: u64,
}

impl Tip {
    /// A blockhash was read at this time of the process's clock.
    pub(super) fn read(&mut self, blockhash: Blockhash, now_ms: u64) {
        let validity = Validity {
            last_valid_block_height: blockhash.last_valid_block_height,
            not_before_slot: blockhash.slot.saturating_sub(BLOCKHASH_BLOCKS),
        };
        if self.known.insert(blockhash.hash, validity).is_none() {
            self.order.push_back(blockhash.hash);
        }
        while self.order.len() > REMEMBERED {
            self.order.pop_front().map(|old| self.known.remove(&old));
        }
        self.slot = self.slot.max(blockhash.slot);
        let height = blockhash.last_valid_block_height.saturating_sub(BLOCKHASH_BLOCKS);
        self.block_height = self.block_height.max(height);
        // An endpoint that is behind must not make the newest one older.
        if self
            .newest
            .is_none_or(|(newest, _)| newest.last_valid_block_height <= blockhash.last_valid_block_height)
        {
            self.newest = Some((blockhash, now_ms));
        }
    }

    /// The newest blockhash, and when it was read.
    pub(super) const fn newest(&self) -> Option<(Blockhash, u64)> {
        self.newest
    }

    /// The slot that was last seen; 0 before the first.
    pub(super) const fn slot(&self) -> u64 {
        self.slot
    }

    /// The highest block height that was seen.
    pub(super) const fn block_height(&self) -> u64 {
        self.block_height
    }

    /// How long a transaction with this blockhash can execute, if the hash was read here.
    pub(super) fn of(&self, hash: &[u8; 32]) -> Option<Validity> {
        self.known.get(hash).copied()
    }

    /// An upper bound of it for a hash that existed at `slot`: block heights grow by at most one a slot. `None` before the
    /// first blockhash was read.
    pub(super) fn bound(&self, slot: u64) -> Option<u64> {
        self.newest?;
        let ahead = slot.saturating_sub(self.slot);
        Some(self.block_height.saturating_add(BLOCKHASH_BLOCKS).saturating_add(ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn blockhash(byte: u8, height: u64, slot: u64) -> Blockhash {
        Blockhash {
            hash: [byte; 32],
            last_valid_block_height: height + BLOCKHASH_BLOCKS,
            slot,
        }
    }

    // Aim: an endpoint that is behind takes nothing back; the bound for a foreign blockhash is never below its true end.
    #[test]
    fn a_lagging_answer_takes_nothing_back() {
        let mut tip = Tip::default();
        assert_eq!((tip.newest(), tip.bound(7)), (None, None));
        tip.read(blockhash(1, 900, 1000), 5);
        tip.read(blockhash(2, 890, 990), 6);
        assert_eq!(tip.newest().map(|(newest, at)| (newest.hash[0], at)), Some((1, 5)));
        assert_eq!((tip.slot(), tip.block_height()), (1000, 900));
        let old = Validity {
            last_valid_block_height: 1040,
            not_before_slot: 840,
        };
        assert_eq!(tip.of(&[2; 32]), Some(old));
        assert_eq!(tip.of(&[3; 32]), None);
        assert_eq!(
            [tip.bound(980), tip.bound(1000), tip.bound(1004)],
            [Some(1050), Some(1050), Some(1054)]
        );
    }

    // Aim: the memory is bounded and forgets the oldest.
    #[test]
    fn old_hashes_are_forgotten() {
        let mut tip = Tip::default();
        for number in 0..=REMEMBERED as u64 {
            let mut one = blockhash(0, number, number);
            one.hash[..8].copy_from_slice(&number.to_be_bytes());
            tip.read(one, number);
        }
        assert_eq!(tip.of(&[0; 32]), None);
        let mut second = [0; 32];
        second[..8].copy_from_slice(&1u64.to_be_bytes());
        assert!(tip.of(&second).is_some());
    }
}
