#![allow(clippy::unwrap_used, reason = "a test")]

mod model;

use std::collections::BTreeMap;

use alloy_primitives::keccak256;

use super::*;

// Block `number` of branch `branch` on a parent.
fn child(parent: &Header, branch: u64) -> Block<u64> {
    let number = parent.number + 1;
    let hash = keccak256([parent.hash.as_slice(), &branch.to_be_bytes(), &number.to_be_bytes()].concat());
    let header = Header {
        number,
        hash,
        parent: parent.hash,
        timestamp: 1_000 + 2 * number,
    };
    Block {
        header,
        rows: vec![branch * 1_000 + number],
    }
}

fn genesis() -> Header {
    Header {
        number: 100,
        hash: B256::repeat_byte(1),
        parent: B256::ZERO,
        timestamp: 1_200,
    }
}

fn chain(from: Header, branch: u64, length: usize) -> Vec<Block<u64>> {
    let mut blocks: Vec<Block<u64>> = Vec::new();
    for _ in 0..length {
        let parent = blocks.last().map_or(from, |block| block.header);
        blocks.push(child(&parent, branch));
    }
    blocks
}

fn follower(blocks: &[Block<u64>]) -> Follower<u64> {
    let mut follower = Follower::new(100, vec![]).unwrap();
    follower
        .offer(Block {
            header: genesis(),
            rows: vec![],
        })
        .unwrap();
    for block in blocks {
        assert_eq!(follower.offer(block.clone()), Ok(Some(Change::Extended(block.clone()))));
    }
    follower
}

fn headers(blocks: &[Block<u64>]) -> Vec<Header> {
    blocks.iter().map(|block| block.header).collect()
}

// Reads the branch that ends in `new` as the caller would.
fn read(follower: &mut Follower<u64>, new: &[Block<u64>]) -> Result<Option<Change<u64>>, FollowError> {
    let head = new.last().unwrap().header;
    let by_hash: BTreeMap<B256, &Block<u64>> = new.iter().map(|block| (block.header.hash, block)).collect();
    for _ in 0..300 {
        let block = match follower.next(&head) {
            None => return Ok(None),
            Some(NextBlock::Hash(hash)) => by_hash.get(&hash).copied(),
            Some(NextBlock::Number(number)) => new.iter().find(|block| block.header.number == number),
        };
        let Some(block) = block else { return Ok(None) };
        if let Some(change) = follower.offer(block.clone())? {
            return Ok(Some(change));
        }
    }
    panic!("no end");
}

#[test]
fn blocks_are_read_one_after_the_other() {
    let blocks = chain(genesis(), 1, 3);
    let follower = Follower::<u64>::new(101, vec![]).unwrap();
    assert_eq!(follower.next(&genesis()), None);
    assert_eq!(follower.next(&blocks[2].header), Some(NextBlock::Number(101)));
    let mut follower = self::follower(&blocks[..1]);
    assert_eq!(follower.next(&blocks[2].header), Some(NextBlock::Number(102)));
    assert_eq!(
        follower.next(&blocks[1].header),
        Some(NextBlock::Hash(blocks[1].header.hash))
    );
    // A lagging endpoint, and the tip itself.
    assert_eq!(follower.next(&genesis()), None);
    assert_eq!(follower.next(&blocks[0].header), None);
    assert_eq!(follower.offer(blocks[0].clone()), Ok(None));
    assert_eq!(follower.tip(), Some(&blocks[0].header));
}

// Checks: every depth from 1 to 64 is followed; 65 is an error and changes nothing.
#[test]
fn reorganization_of_every_depth() {
    let old = chain(genesis(), 1, 80);
    for depth in 1..=65_usize {
        for higher in [0, 1, 3] {
            let mut follower = self::follower(&old);
            let below = old[80 - depth - 1].header;
            let new = chain(below, 2, depth + higher);
            let change = read(&mut follower, &new);
            if depth > MAX_REORG {
                assert!(
                    matches!(change, Err(FollowError::TooDeep { .. })),
                    "{depth} {higher}: {change:?}"
                );
                assert_eq!(follower.tip(), Some(&old[79].header));
                continue;
            }
            let Ok(Some(Change::Reorganized { removed, added })) = change else {
                panic!("{depth} {higher}: {change:?}");
            };
            let mut expected = headers(&old[80 - depth..]);
            expected.reverse();
            assert_eq!(removed, expected);
            // With a much higher head, reading starts one above the old tip.
            assert_eq!(added, new[..depth + higher.min(1)]);
            while read(&mut follower, &new).unwrap().is_some() {}
            assert_eq!(follower.tip(), Some(&new.last().unwrap().header));
        }
    }
}

#[test]
fn lower_branch_waits_until_it_is_as_high() {
    let old = chain(genesis(), 1, 10);
    let mut follower = self::follower(&old);
    let new = chain(old[4].header, 2, 5);
    for length in 1..5 {
        assert_eq!(read(&mut follower, &new[..length]), Ok(None));
        assert_eq!(follower.offer(new[length - 1].clone()), Ok(None));
        assert_eq!(follower.tip(), Some(&old[9].header));
    }
    // Not even a complete one.
    for _ in 0..2 {
        assert_eq!(follower.offer(child(&old[7].header, 3)), Ok(None));
    }
    assert_eq!(follower.tip(), Some(&old[9].header));
    assert_eq!(follower.next(&new[4].header), Some(NextBlock::Hash(new[4].header.hash)));
    assert!(matches!(
        read(&mut follower, &new),
        Ok(Some(Change::Reorganized { .. }))
    ));
}

#[test]
fn branch_that_changes_while_it_is_read_starts_again() {
    let old = chain(genesis(), 1, 10);
    let mut follower = self::follower(&old);
    let (second, third) = (chain(old[4].header, 2, 6), chain(old[2].header, 3, 8));
    assert_eq!(follower.offer(second[5].clone()), Ok(None));
    assert_eq!(
        follower.next(&third[7].header),
        Some(NextBlock::Hash(second[4].header.hash))
    );
    // The endpoint does not have it any more.
    follower.abandon_branch();
    let Ok(Some(Change::Reorganized { removed, .. })) = read(&mut follower, &third) else {
        panic!()
    };
    assert_eq!(removed.len(), 7);
    // A block other than the requested one also discards the branch.
    let mut follower = self::follower(&old);
    assert_eq!(follower.offer(second[5].clone()), Ok(None));
    assert_eq!(follower.offer(third[7].clone()), Ok(None));
    assert!(matches!(
        read(&mut follower, &third),
        Ok(Some(Change::Reorganized { .. }))
    ));
}

#[test]
fn finalized_blocks_are_never_replaced() {
    let old = chain(genesis(), 1, 10);
    let mut follower = self::follower(&old);
    follower.observe(Some(old[7].header), Some(old[4].header));
    let new = chain(old[3].header, 2, 7);
    assert_eq!(read(&mut follower, &new), Err(FollowError::Finalized { number: 105 }));
    assert_eq!(follower.tip(), Some(&old[9].header));
    let new = chain(old[4].header, 2, 6);
    assert!(matches!(
        read(&mut follower, &new),
        Ok(Some(Change::Reorganized { .. }))
    ));
    // The safe block was replaced; only the finalized one is still safe.
    assert_eq!(follower.final_header(Finality::Safe), Some(old[4].header));
}

#[test]
fn finality_levels() {
    let blocks = chain(genesis(), 1, 70);
    let mut follower = Follower::<u64>::new(100, vec![]).unwrap();
    assert!(!follower.is_final(0, Finality::Confirmed));
    assert_eq!(follower.final_header(Finality::Confirmed), None);
    for block in &blocks {
        follower.offer(block.clone()).unwrap();
    }
    follower.observe(Some(blocks[59].header), Some(blocks[29].header));
    // Neither a lower one nor one of another branch counts.
    follower.observe(Some(blocks[40].header), Some(child(&blocks[39].header, 9).header));
    follower.observe(Some(child(&blocks[69].header, 1).header), None);
    let table = [
        (Finality::Confirmed, 170),
        (Finality::Blocks(0), 170),
        (Finality::Blocks(1), 169),
        (Finality::Blocks(64), 106),
        (Finality::Safe, 160),
        (Finality::Finalized, 130),
    ];
    for (finality, newest) in table {
        assert!(
            follower.is_final(newest, finality) && !follower.is_final(newest + 1, finality),
            "{finality:?}"
        );
        assert_eq!(
            follower.final_header(finality).map(|header| header.number),
            Some(newest)
        );
    }
    assert!(follower.is_final(105, Finality::Blocks(65)) && !follower.is_final(106, Finality::Blocks(65)));
    assert_eq!(follower.final_header(Finality::Blocks(65)), None);
    assert!(!follower.is_final(u64::MAX, Finality::Blocks(1)));
    assert_eq!(follower.is_canonical(170, blocks[69].header.hash), Some(true));
    assert_eq!(follower.is_canonical(170, B256::ZERO), Some(false));
    assert_eq!(
        (follower.is_canonical(105, B256::ZERO), follower.oldest_needed()),
        (None, 106)
    );
}

#[test]
fn stored_headers_resume_the_follower() {
    let blocks = chain(genesis(), 1, 100);
    let resumed = Follower::<u64>::new(0, headers(&blocks)).unwrap();
    assert_eq!(
        (resumed.tip(), resumed.oldest_needed()),
        (Some(&blocks[99].header), 136)
    );
    let mut broken = headers(&blocks);
    broken.remove(50);
    assert_eq!(
        Follower::<u64>::new(0, broken).err(),
        Some(FollowError::Malformed { number: 152 })
    );
    let mut malformed = child(&blocks[99].header, 1);
    malformed.header.number += 1;
    let mut follower = Follower::new(0, headers(&blocks)).unwrap();
    assert_eq!(follower.offer(malformed), Err(FollowError::Malformed { number: 202 }));
}

// Checks: if two endpoints are needed, nothing above the cross-checked height is final. A reorg lowers that height.
#[test]
fn only_what_was_cross_checked_is_final() {
    let blocks = chain(genesis(), 0, 10);
    let mut follower = follower(&blocks);
    let tip = blocks[9].header;
    follower.observe(Some(blocks[7].header), Some(blocks[5].header));
    let levels = [
        Finality::Confirmed,
        Finality::Blocks(1),
        Finality::Safe,
        Finality::Finalized,
    ];
    let finals =
        |follower: &Follower<u64>| levels.map(|level| follower.final_header(level).map(|header| header.number));
    assert_eq!(finals(&follower), [Some(110), Some(109), Some(108), Some(106)]);
    follower.require_cross_check(104);
    assert_eq!(finals(&follower), [Some(104); 4]);
    assert_eq!(follower.level(Finality::Safe), Some(blocks[7].header));
    // Only the next height, and none that was not read.
    let table = [(106, 104), (104, 104), (105, 105), (106, 106), (107, 107)];
    for (number, reached) in table {
        follower.cross_check(number);
        assert_eq!(follower.cross_checked(), Some(reached), "{number}");
    }
    assert_eq!(finals(&follower), [Some(107), Some(107), Some(107), Some(106)]);
    for level in levels {
        assert!(
            follower.is_final(106, level) && !follower.is_final(108, level),
            "{level:?}"
        );
    }
    for number in 108..=111 {
        follower.cross_check(number);
    }
    assert_eq!(follower.cross_checked(), Some(tip.number));
    // The other branch was not checked.
    let other = chain(blocks[6].header, 1, 4);
    assert!(read(&mut follower, &other).unwrap().is_some());
    assert_eq!(follower.cross_checked(), Some(107));
    assert!(!follower.is_final(108, Finality::Confirmed));
}

// Checks: the time of a known block is updated only from a header with the same hash, height and parent.
#[test]
fn the_time_of_a_known_block_is_corrected() {
    let blocks = chain(genesis(), 0, 4);
    let mut follower = follower(&blocks);
    follower.observe(None, Some(blocks[1].header));
    let timed = |n: usize| Header {
        timestamp: 7,
        ..blocks[n].header
    };
    let parent = B256::repeat_byte(0x99);
    follower.correct(Header { parent, ..timed(3) });
    assert_eq!(follower.tip(), Some(&blocks[3].header));
    follower.correct(timed(1));
    follower.correct(timed(3));
    assert_eq!(follower.tip(), Some(&timed(3)));
    assert_eq!(follower.level(Finality::Finalized), Some(timed(1)));
}
