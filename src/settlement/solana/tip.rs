//! Newest known state of the chain: the blockhashes that were read, and how long each is valid.

use std::collections::{HashMap, VecDeque};

use purser_chains::solana::cross_check::witnesses;
use purser_chains::solana::lifecycle::BLOCKHASH_BLOCKS;
use purser_chains::solana::node::Blockhash;

/// Maximum number of stored blockhashes: several times as many as can be valid at once.
const MAX_BLOCKHASHES: usize = 512;

/// The range in which a transaction can execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) last_valid_block_height: u64,
    /// The transaction cannot have executed before this slot.
    pub(super) not_before_slot: u64,
}

/// Maximum distance in blocks between the claims of two honest endpoints: about a minute of blocks.
const NEAR_BLOCKS: u64 = BLOCKHASH_BLOCKS;
/// Maximum age of the agreed value with which a single endpoint's claim is compared, in milliseconds. The chain grows
/// by fewer than [`NEAR_BLOCKS`] in that time.
const COMPARED_MS: u64 = 50_000;
/// Age from which a read value counts as behind the chain, in milliseconds. A slot reported by one endpoint alone is
/// then not enough.
const BEHIND_MS: u64 = 10_000;

/// See the module. If two endpoints are configured, one alone can make the chain neither shorter nor longer. A shorter
/// chain would mark a payment impossible that can still settle; a longer one would never prove any impossible.
#[derive(Debug, Default)]
pub(super) struct Tip {
    newest: Option<(Blockhash, u64)>,
    read_ms: Option<u64>,
    /// The newest last valid block height that two endpoints agree on (if there are two), and when it was read.
    agreed: Option<(u64, u64)>,
    known: HashMap<[u8; 32], Validity>,
    order: VecDeque<[u8; 32]>,
    /// Highest slot and block height that were read, at `confirmed`. With two endpoints, two must report the slot.
    slot: u64,
    block_height: u64,
    /// Highest block height that two endpoints have reached, if there are two.
    shared_height: u64,
    /// Block height reported by one endpoint while no other has answered for a while. It only decides when to look for
    /// proofs.
    alone_height: u64,
}

impl Tip {
    /// Records the newest blockhashes, one from each endpoint that has answered. `now_ms` is process time.
    ///
    /// # Errors
    /// When endpoints disagree on the height of the chain. Nothing is recorded then.
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
            // The other endpoints' heights are unknown: assume that they are as far ahead as the chain can be by now.
            self.agreed_near(last, now_ms)
                .ok_or(DISAGREE)?
                .saturating_add(2 * NEAR_BLOCKS)
        } else {
            self.alone_height = 0;
            self.agreed = Some((last, now_ms));
            // The lower of both: a slot that is too high would expire payments early.
            self.slot = self.slot.max(highest.slot.min(shared.slot));
            last
        };
        // One endpoint alone must not make a search for a payment begin after the payment.
        let agreed_slot = self.slot;
        let lowered = |claim: &Blockhash| Blockhash {
            slot: claim.slot.min(agreed_slot),
            ..*claim
        };
        for claim in claims.iter().map(lowered) {
            let is_near = last.abs_diff(claim.last_valid_block_height) <= NEAR_BLOCKS;
            if is_near {
                self.remember(&claim, counts_until);
            }
        }
        let height = |claim: Blockhash| claim.last_valid_block_height.saturating_sub(BLOCKHASH_BLOCKS);
        self.block_height = self.block_height.max(height(highest));
        self.shared_height = self.shared_height.max(height(shared));
        // A lagging endpoint must not make the newest blockhash older.
        if self
            .newest
            .is_none_or(|(newest, _)| newest.last_valid_block_height <= last)
        {
            self.newest = Some((lowered(&highest), now_ms));
        }
        self.read_ms = Some(now_ms);
        Ok(())
    }

    /// The value that enough endpoints reported a moment ago, if this claim is near it.
    fn agreed_near(&self, last: u64, now_ms: u64) -> Option<u64> {
        let (agreed, at_ms) = self.agreed?;
        let is_near = agreed.abs_diff(last) <= NEAR_BLOCKS && now_ms.saturating_sub(at_ms) <= COMPARED_MS;
        is_near.then_some(agreed)
    }

    /// No blockhash is valid for longer than the newest one shown by any endpoint.
    fn remember(&mut self, claim: &Blockhash, last_valid_block_height: u64) {
        let validity = Validity {
            last_valid_block_height,
            not_before_slot: claim.first_slot(),
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

    /// When the tip was last read, in milliseconds.
    pub(super) const fn read_ms(&self) -> Option<u64> {
        self.read_ms
    }

    /// Whether a blockhash that was read here expires within this number of blocks.
    pub(super) fn ends_within(&self, hash: &[u8; 32], blocks: u64) -> bool {
        let known = self.known.get(hash);
        known.is_some_and(|known| known.last_valid_block_height <= self.shared_height.saturating_add(blocks))
    }

    /// The newest blockhash, and when it was read.
    pub(super) const fn newest(&self) -> Option<(Blockhash, u64)> {
        self.newest
    }

    /// The slot that was last seen; 0 before the first read.
    pub(super) const fn slot(&self) -> u64 {
        self.slot
    }

    /// The range in which a transaction with this blockhash can execute, if the hash was read here.
    pub(super) fn validity_of(&self, hash: &[u8; 32]) -> Option<Validity> {
        self.known.get(hash).copied()
    }

    /// The block height used to decide when to look for expiry proofs.
    pub(super) fn proof_height(&self) -> u64 {
        self.block_height.max(self.alone_height)
    }

    /// Upper bound of the last valid block height of a hash that existed at `slot`. Block heights grow by at most one
    /// per slot. `None` before the first blockhash was read.
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

    // Checks: a lagging endpoint never lowers the tip; the bound for an external blockhash is never below its true end.
    #[test]
    fn lagging_response_changes_nothing() {
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

    // Checks: of several endpoints, the highest claim that is near another one decides how long blockhashes are valid.
    // A claim far from all others is ignored. If no two are near each other, nothing is recorded.
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

    // Checks: while one endpoint of two answers alone, its blockhashes count for longer. Its claim is ignored if it is
    // far from the value read just before.
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
        // With no recent value to compare with, the claim is an error: too late, or before the first read.
        assert!(tip.read(vec![blockhash(5, 905, 1_005)], 2, 1 + COMPARED_MS).is_err());
        assert!(Tip::default().read(vec![blockhash(5, 905, 1_005)], 2, 0).is_err());
        let two = vec![blockhash(5, 1_100, 1_200), blockhash(6, 1_099, 1_199)];
        assert_eq!(tip.read(two, 2, 2 + COMPARED_MS), Ok(()));
        assert_eq!(tip.proof_height(), tip.block_height);
    }

    // Checks: a slot that one endpoint of two alone claims, far too high or too low, never makes the first possible slot
    // of a payment later than it is.
    #[test]
    fn one_endpoint_makes_no_blockhash_begin_late() {
        let first = |slots: [u64; 2]| {
            let mut tip = Tip::default();
            assert_eq!(
                tip.read(vec![blockhash(1, 900, 1000), blockhash(2, 900, 1000)], 2, 0),
                Ok(())
            );
            let claims = [(3, slots[0]), (4, slots[1])].map(|(byte, slot)| blockhash(byte, 905, slot));
            assert_eq!(tip.read(claims.to_vec(), 2, 1), Ok(()));
            let of = |byte| tip.validity_of(&[byte; 32]).map(|of| of.not_before_slot);
            let newest = tip.newest().map(|(newest, _)| newest.first_slot());
            assert!(newest.is_some_and(|slot| Some(slot) <= of(3).max(of(4))), "{slots:?}");
            [of(3), of(4)]
        };
        assert_eq!(first([1005, 1005]), [Some(855); 2]);
        assert_eq!(first([1_000_000, 1005]), [Some(855); 2]);
        assert_eq!(first([1005, 1_000_000]), [Some(855); 2]);
        assert_eq!(first([1005, 3]), [Some(850), Some(0)]);
    }

    // Checks: the store is bounded and evicts the oldest blockhashes.
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
