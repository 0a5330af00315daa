//! Random reorgs at any moment, read through an endpoint that lags.

use std::collections::BTreeMap;

use super::super::super::random::Random;
use super::*;

struct Harness {
    random: Random,
    canonical: Vec<Block<u64>>,
    /// Blocks of all branches: an endpoint still has blocks that were removed from the chain.
    all: BTreeMap<B256, Block<u64>>,
    follower: Follower<u64>,
    rows: BTreeMap<u64, (Header, Vec<u64>)>,
    finalized: Option<Header>,
    deepest: usize,
    branches: u64,
}

impl Harness {
    fn new(seed: u64) -> Self {
        let mut harness = Self {
            random: Random::new(seed),
            canonical: vec![],
            all: BTreeMap::new(),
            follower: Follower::new(101, vec![]).unwrap(),
            rows: BTreeMap::new(),
            finalized: None,
            deepest: 0,
            branches: 1,
        };
        harness.mine(70);
        harness
    }

    fn mine(&mut self, length: usize) {
        for _ in 0..length {
            let parent = self.canonical.last().map_or_else(genesis, |block| block.header);
            let block = child(&parent, self.branches);
            self.all.insert(block.header.hash, block.clone());
            self.canonical.push(block);
        }
    }

    fn reorganize(&mut self) {
        let depth = 1 + self.random.below(MAX_REORG as u64) as usize;
        let finalized = self.finalized.map_or(0, |header| header.number - 100);
        // At most 64 deep for the follower, which may not have read the previous reorg.
        let tip = self.follower.tip().map_or(0, |tip| tip.number - 100);
        let least = finalized.max(tip.saturating_sub(MAX_REORG as u64)).max(1);
        let kept = self.canonical.len().saturating_sub(depth).max(least as usize);
        self.canonical.truncate(kept);
        self.branches += 1;
        // Up to one block higher or two lower than before.
        let lost = self.random.below(3).min(depth as u64) as usize;
        self.mine(depth + 1 - lost);
    }

    fn read(&mut self, reads: u64) {
        let behind = if self.random.chance(20) {
            1 + self.random.below(5) as usize
        } else {
            0
        };
        let head = self.canonical[self.canonical.len().saturating_sub(behind + 1)].header;
        for _ in 0..reads {
            let block = match self.follower.next(&head) {
                None => return,
                Some(NextBlock::Hash(hash)) => self.all.get(&hash).filter(|_| self.random.chance(97)).cloned(),
                Some(NextBlock::Number(number)) => self.canonical.get(number as usize - 101).cloned(),
            };
            let Some(block) = block else {
                return self.follower.abandon_branch();
            };
            let change = self.follower.offer(block).unwrap();
            self.store(change);
        }
    }

    fn store(&mut self, change: Option<Change<u64>>) {
        let added = match change {
            None => vec![],
            Some(Change::Extended(block)) => vec![block],
            Some(Change::Reorganized { removed, added }) => {
                self.deepest = self.deepest.max(removed.len());
                for header in removed {
                    assert!(self.finalized.is_none_or(|finalized| header.number > finalized.number));
                    assert_eq!(self.rows.remove(&header.number).unwrap().0, header);
                }
                added
            }
        };
        for Block { header, rows } in added {
            assert!(self.rows.insert(header.number, (header, rows)).is_none());
        }
    }

    fn step(&mut self) {
        if self.random.chance(30) {
            self.mine(1);
        }
        if self.random.chance(2) {
            self.reorganize();
        }
        let reads = 1 + self.random.below(6);
        self.read(reads);
        if self.random.chance(5) {
            let deep = self.canonical.len().saturating_sub(70);
            self.follower
                .observe(None, self.canonical.get(deep).map(|block| block.header));
            self.finalized = self.follower.final_header(Finality::Finalized);
        }
        if self.random.chance(3) {
            let stored = self.rows.values().map(|(header, _)| *header).collect();
            self.follower = Follower::new(101, stored).unwrap();
            self.follower.observe(None, self.finalized);
        }
    }
}

// Checks: reorgs of 1 to 64 blocks at any moment, also between two reads, with restarts and a lagging endpoint. In the
// end the stored rows are those of the chain, and no final row was ever removed.
#[test]
fn rows_are_those_of_the_chain_for_every_seed() {
    let mut deepest = 0;
    for seed in 0..150 {
        let mut harness = Harness::new(seed);
        for _ in 0..400 {
            harness.step();
        }
        // Higher than any branch before.
        harness.mine(10);
        for _ in 0..200 {
            harness.read(300);
        }
        let expected: Vec<_> = harness
            .canonical
            .iter()
            .map(|block| (block.header, block.rows.clone()))
            .collect();
        assert_eq!(harness.rows.into_values().collect::<Vec<_>>(), expected, "seed {seed}");
        deepest = deepest.max(harness.deepest);
    }
    assert!(deepest >= 60, "{deepest}");
}
