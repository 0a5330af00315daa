//! The newest known state of the chain: blockhashes that were read, and how long each is good.

use std::collections::{HashMap, VecDeque};

use purser_chains::solana::cross_check::witnesses;
use purser_chains::solana::lifecycle::BLOCKHASH_BLOCKS;
use purser_chains::solana::node::Blockhash;

/// Blockhashes that are remembered: several times as many as can be valid at once.
const MAX_BLOCKHASHES: usize = 512;

/// How long a transaction can execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) last_valid_block_height: u64,
    /// A slot before which it cannot have executed.
    pub(super) not_before_slot: u64,
}

/// Blocks by which the claims of two honest endpoints differ at most: those of about a minute.
const NEAR_BLOCKS: u64 = BLOCKHASH_BLOCKS;
/// A claim of one endpoint alone is compared with what two have claimed so long ago at most, in milliseconds: the chain grows by fewer
/// than [`NEAR_BLOCKS`] meanwhile.
const COMPARED_MS: u64 = 50_000;
/// What was read so long ago is behind the chain by more than slots tell that one endpoint names, in milliseconds.
const BEHIND_MS: u64 = 10_000;

/// See the module. Where two endpoints are configured, one alone makes the chain neither shorter, by which a payment would be called
/// impossible that can land, nor longer, by which none would ever be.
#[derive(Debug, Default)]
pub(super) struct Tip {
    newest: Option<(Blockhash, u64)>,
    read_ms: Option<u64>,
    /// The newest last valid block height that was not one endpoint's word alone where there are several, and when it was read.
    agreed: Option<(u64, u64)>,
    known: HashMap<[u8; 32], Validity>,
    order: VecDeque<[u8; 32]>,
    /// Highest slot and block height that were read, at `confirmed`; the slot where there are two by the word of two.
    slot: u64,
    block_height: u64,
    /// The highest block height that two endpoints have reached, where there are two.
    shared_height: u64,
    /// The block height that one endpoint named while no other has answered for long. It only says when proofs are looked for.
    alone_height: u64,
}

impl Tip {
    /// Newest blockhashes, one of each endpoint that has answered, at this time of the process's clock.
    ///
    /// # Errors
    /// When endpoints disagree on how far the chain is. Then nothing is taken from them.
    pub(super) fn read(
        &mut self,
        mut claims: Vec<Blockhash>,
        endpoints: usize,
        now_ms: u64,
    ) -> Result<(), &'static str> {
        const DISAGREE: &str = "endpoints disagree on how far the chain is";
        claims.sort_by_key(|claim| std::cmp::Reverse(claim.last_valid_block_height));
        let (highest, shared) = match claims.as_slice() {
            [] => return Err("no endpoint gives a blockhash"),
            [only] => (*only, *only),
            several => {
                let near = |pair: &&[Blockhash]| {
                    let [one, other] = pair else { return false };
                    one.last_valid_block_height - other.last_valid_block_height <= NEAR_BLOCKS
                };
                let pair = several.windows(2).find(near).ok_or(DISAGREE)?;
                (pair[0], pair[1])
            }
        };
        let last = highest.last_valid_block_height;
        let counts_until = if claims.len() < witnesses(endpoints) {
            self.alone_height = last.saturating_sub(BLOCKHASH_BLOCKS);
            // What the others would say is not known: as if it were as far ahead as the chain can be by now.
            self.agreed_near(last, now_ms)
                .ok_or(DISAGREE)?
                .saturating_add(2 * NEAR_BLOCKS)
        } else {
            self.alone_height = 0;
            self.agreed = Some((last, now_ms));
            // The lower of both: a slot that is too high would end payments early.
            self.slot = self.slot.max(highest.slot.min(shared.slot));
            last
        };
        for claim in &claims {
            let is_near = last.abs_diff(claim.last_valid_block_height) <= NEAR_BLOCKS;
            if is_near {
                self.remember(claim, counts_until);
            }
        }
        let height = |claim: Blockhash| claim.last_valid_block_height.saturating_sub(BLOCKHASH_BLOCKS);
        self.block_height = self.block_height.max(height(highest));
        self.shared_height = self.shared_height.max(height(shared));
        // An endpoint that is behind must not make the newest one older.
        if self
            .newest
            .is_none_or(|(newest, _)| newest.last_valid_block_height <= last)
        {
            self.newest = Some((highest, now_ms));
        }
        self.read_ms = Some(now_ms);
        Ok(())
    }

    /// What was claimed by enough endpoints a moment ago, if this claim is near it.
    fn agreed_near(&self, last: u64, now_ms: u64) -> Option<u64> {
        let (agreed, at_ms) = self.agreed?;
        let is_near = agreed.abs_diff(last) <= NEAR_BLOCKS && now_ms.saturating_sub(at_ms) <= COMPARED_MS;
        is_near.then_some(agreed)
    }

    /// A blockhash can be used no longer than the newest that anybody has shown.
    fn remember(&mut self, claim: &Blockhash, last_valid_block_height: u64) {
        let validity = Validity {
            last_valid_block_height,
            not_before_slot: claim.slot.saturating_sub(BLOCKHASH_BLOCKS),
        };
        if self.known.contains_key(&claim.hash) {
            return;
        }
        self.known.insert(claim.hash, validity);
        self.order.push_back(claim.hash);
        while self.order.len() > MAX_BLOCKHASHES {
            self.order.pop_front().map(|old| self.known.remove(&old));
        }
    }

    /// When it was last read.
    pub(super) const fn read_ms(&self) -> Option<u64> {
        self.read_ms
    }

    /// Whether a blockhash that was read here is dead within so many blocks.
    pub(super) fn ends_within(&self, hash: &[u8; 32], blocks: u64) -> bool {
        let known = self.known.get(hash);
        known.is_some_and(|known| known.last_valid_block_height <= self.shared_height.saturating_add(blocks))
    }

    /// The newest blockhash, and when it was read.
    pub(super) const fn newest(&self) -> Option<(Blockhash, u64)> {
        self.newest
    }

    /// The slot that was last seen; 0 before the first.
    pub(super) const fn slot(&self) -> u64 {
        self.slot
    }

    /// How long a transaction with this blockhash can execute, if the hash was read here.
    pub(super) fn validity_of(&self, hash: &[u8; 32]) -> Option<Validity> {
        self.known.get(hash).copied()
    }

    /// The block height by which it is time to look for proofs that payments have run out.
    pub(super) fn proof_height(&self) -> u64 {
        self.block_height.max(self.alone_height)
    }

    /// An upper bound of it for a hash that existed at `slot`: block heights grow by at most one a slot. `None` before the
    /// first blockhash was read.
    pub(super) fn bound(&self, slot: u64, now_ms: u64) -> Option<u64> {
        let read_ms = self.read_ms()?;
        let behind = match now_ms.saturating_sub(read_ms) > BEHIND_MS {
            true => NEAR_BLOCKS,
            false => 0,
        };
        let ahead = slot.saturating_sub(self.slot).saturating_add(behind);
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
        assert_eq!((tip.newest(), tip.bound(7, 5)), (None, None));
        assert_eq!(tip.read(vec![blockhash(1, 900, 1000)], 1, 5), Ok(()));
        assert_eq!(tip.read(vec![blockhash(2, 890, 990)], 1, 6), Ok(()));
        assert_eq!(tip.newest().map(|(newest, at)| (newest.hash[0], at)), Some((1, 5)));
        assert_eq!((tip.slot(), tip.block_height), (1000, 900));
        let old = Validity {
            last_valid_block_height: 1040,
            not_before_slot: 840,
        };
        assert_eq!(tip.validity_of(&[2; 32]), Some(old));
        assert_eq!(tip.validity_of(&[3; 32]), None);
        assert_eq!(
            [tip.bound(980, 6), tip.bound(1000, 6), tip.bound(1004, 6)],
            [Some(1050), Some(1050), Some(1054)]
        );
        assert_eq!(
            tip.bound(1004, 7 + BEHIND_MS),
            Some(1054 + NEAR_BLOCKS),
            "it is not read"
        );
    }

    // Checks: of several endpoints the highest near another counts for how long blockhashes can be used, whatever an endpoint says of
    // its own; one that is far from all others counts for nothing, and where no two are near each other nothing is taken.
    #[test]
    fn one_endpoint_makes_no_blockhash_end_early() {
        let table: [(&[u64], usize, Option<u64>, u64); 8] = [
            (&[900, 890], 2, Some(900), 890),
            (&[900, 760], 2, Some(900), 760),
            (&[900, 749], 2, None, 0),
            (&[900, 1_000_000], 2, None, 0),
            (&[900, 895, 1_000_000], 3, Some(900), 895),
            (&[900, 3, 895], 3, Some(900), 895),
            (&[1, 900, 1_000_000], 3, None, 0),
            (&[], 2, None, 0),
        ];
        for (heights, endpoints, highest, shared) in table {
            let claims = heights.iter().zip(1u8..);
            let claims = claims.map(|(height, byte)| blockhash(byte, *height, height + 100));
            let mut tip = Tip::default();
            let read = tip.read(claims.collect(), endpoints, 5);
            assert_eq!(read.is_ok(), highest.is_some(), "{heights:?}");
            assert_eq!(tip.block_height, highest.unwrap_or(0), "{heights:?}");
            for (height, byte) in heights.iter().zip(1u8..) {
                let counts = highest.filter(|highest| highest.abs_diff(*height) <= NEAR_BLOCKS);
                let ends = tip.validity_of(&[byte; 32]).map(|of| of.last_valid_block_height);
                assert_eq!(ends, counts.map(|highest| highest + BLOCKHASH_BLOCKS), "{heights:?}");
            }
            if let Some(highest) = highest {
                let left = highest + BLOCKHASH_BLOCKS - shared;
                assert!(
                    tip.ends_within(&[1; 32], left) && !tip.ends_within(&[1; 32], left - 1),
                    "{heights:?}"
                );
            }
        }
    }

    // Checks: while one endpoint of two answers alone, its blockhashes count for longer, and its word is not taken where it is far from
    // what was read just before.
    #[test]
    fn an_endpoint_alone_is_compared_with_what_was_read_before() {
        let mut tip = Tip::default();
        assert_eq!(
            tip.read(vec![blockhash(1, 900, 1000), blockhash(2, 899, 999)], 2, 0),
            Ok(())
        );
        assert_eq!(tip.read(vec![blockhash(3, 905, 1005)], 2, 2_000), Ok(()));
        assert_eq!(
            tip.validity_of(&[3; 32]).map(|of| of.last_valid_block_height),
            Some(900 + 3 * BLOCKHASH_BLOCKS)
        );
        for far in [700, 1_100] {
            assert!(tip.read(vec![blockhash(4, far, far)], 2, 4_000).is_err());
        }
        assert_eq!(
            (tip.validity_of(&[4; 32]), tip.read_ms(), tip.block_height),
            (None, Some(2_000), 905)
        );
        assert_eq!(tip.proof_height(), 1_100);
        // Later, and before anything was read, nothing compares with it.
        assert!(tip.read(vec![blockhash(5, 905, 1_005)], 2, 1 + COMPARED_MS).is_err());
        assert!(Tip::default().read(vec![blockhash(5, 905, 1_005)], 2, 0).is_err());
        let two = vec![blockhash(5, 1_100, 1_200), blockhash(6, 1_099, 1_199)];
        assert_eq!(tip.read(two, 2, 2 + COMPARED_MS), Ok(()));
        assert_eq!(tip.proof_height(), tip.block_height);
    }

    // Aim: the memory is bounded and forgets the oldest.
    #[test]
    fn old_hashes_are_forgotten() {
        let mut tip = Tip::default();
        for number in 0..=MAX_BLOCKHASHES as u64 {
            let mut one = blockhash(0, number, number);
            one.hash[..8].copy_from_slice(&number.to_be_bytes());
            assert_eq!(tip.read(vec![one], 1, number), Ok(()));
        }
        assert_eq!(tip.validity_of(&[0; 32]), None);
        let mut second = [0; 32];
        second[..8].copy_from_slice(&1u64.to_be_bytes());
        assert!(tip.validity_of(&second).is_some());
    }
}
