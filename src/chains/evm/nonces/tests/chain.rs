//! A chain with one node and one sender that drops transactions and has reorgs.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{B256, U256};

use super::super::super::random::Random;
use super::super::super::tx::Fee;
use super::super::SendReply;
use super::super::fee::replaces;

/// Deeper blocks are never removed.
pub(super) const FINAL_DEPTH: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tx {
    pub(super) hash: B256,
    pub(super) nonce: u64,
    pub(super) fee: Fee,
    /// Empty for a filler or an external transaction.
    pub(super) payments: Vec<u32>,
}

#[derive(Default)]
pub(super) struct Chain {
    pub(super) blocks: Vec<Vec<Tx>>,
    pub(super) pool: BTreeMap<u64, Tx>,
    pub(super) base_fee: u128,
    /// Payments that make their transaction revert.
    pub(super) reverting: BTreeSet<u32>,
    /// Number of blocks that cannot be removed.
    pub(super) finalized: usize,
    pub(super) hashes: u64,
    /// All transactions that any node ever had: other nodes may still have them.
    pub(super) known: Vec<Tx>,
}

impl Chain {
    pub(super) fn hash(&mut self) -> B256 {
        self.hashes += 1;
        U256::from(self.hashes).into()
    }

    pub(super) fn count(&self) -> u64 {
        self.blocks.iter().map(|block| block.len() as u64).sum()
    }

    pub(super) fn final_count(&self) -> u64 {
        let blocks = &self.blocks[..self.finalized];
        blocks.iter().map(|block| block.len() as u64).sum()
    }

    pub(super) fn pending(&self) -> u64 {
        let latest = self.count();
        (latest..).find(|nonce| !self.pool.contains_key(nonce)).unwrap()
    }

    pub(super) fn find(&self, hash: B256) -> Option<(u64, &Tx)> {
        let blocks = self.blocks.iter().enumerate();
        blocks
            .flat_map(|(number, block)| block.iter().map(move |tx| (number as u64, tx)))
            .find(|(_, tx)| tx.hash == hash)
    }

    pub(super) fn reverts(&self, tx: &Tx) -> bool {
        tx.payments.iter().any(|payment| self.reverting.contains(payment))
    }

    /// Number of transactions on the chain that have settled this payment.
    pub(super) fn settled(&self, payment: u32) -> usize {
        let carrying = self.blocks.iter().flatten().filter(|tx| tx.payments.contains(&payment));
        carrying.filter(|tx| !self.reverts(tx)).count()
    }

    pub(super) fn send(&mut self, tx: &Tx, faults: bool, random: &mut Random) -> SendReply {
        let silent = faults && random.chance(15);
        if silent && random.chance(50) {
            return SendReply::Unknown;
        }
        let reply = self.take(tx);
        // The node drops an accepted transaction.
        if faults && random.chance(5) {
            self.pool.remove(&tx.nonce);
        }
        if silent { SendReply::Unknown } else { reply }
    }

    fn take(&mut self, tx: &Tx) -> SendReply {
        if tx.nonce < self.count() {
            return SendReply::NonceTooLow;
        }
        if tx.fee.max_fee < self.base_fee / 2 {
            return SendReply::FeeTooLow;
        }
        match self.pool.get(&tx.nonce) {
            Some(other) if other.hash == tx.hash => return SendReply::AlreadyKnown,
            Some(other) if !replaces(tx.fee, other.fee) => return SendReply::ReplacementUnderpriced,
            _ => {}
        }
        self.pool.insert(tx.nonce, tx.clone());
        self.known.push(tx.clone());
        SendReply::Accepted
    }

    /// Another node sends an old transaction again.
    pub(super) fn revive(&mut self, random: &mut Random) {
        let count = self.count();
        let usable: Vec<&Tx> = self.known.iter().filter(|tx| tx.nonce >= count).collect();
        if !usable.is_empty() {
            let tx = usable[random.below(usable.len() as u64) as usize].clone();
            self.pool.insert(tx.nonce, tx);
        }
    }

    pub(super) fn mine(&mut self, most: u64) {
        let first = self.count();
        let mut block = Vec::new();
        for nonce in first..first + most {
            match self.pool.get(&nonce) {
                Some(tx) if tx.fee.max_fee >= self.base_fee => block.extend(self.pool.remove(&nonce)),
                _ => break,
            }
        }
        self.blocks.push(block);
        self.finalized = self.finalized.max(self.blocks.len().saturating_sub(FINAL_DEPTH));
        let count = self.count();
        self.pool.retain(|nonce, _| *nonce >= count);
    }

    /// Removes up to `FINAL_DEPTH - 1` blocks, none of them final. Some of their transactions return to the pool.
    /// Returns the first removed block.
    pub(super) fn reorganize(&mut self, random: &mut Random) -> u64 {
        let depth = 1 + random.below(FINAL_DEPTH as u64 - 1) as usize;
        let from = self.blocks.len().saturating_sub(depth).max(self.finalized);
        for tx in self.blocks.split_off(from).into_iter().flatten() {
            if random.chance(60) {
                self.pool.insert(tx.nonce, tx);
            }
        }
        from as u64
    }
}
