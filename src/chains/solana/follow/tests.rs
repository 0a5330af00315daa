#![allow(clippy::unwrap_used, clippy::type_complexity, reason = "a test")]

use super::*;
use crate::solana::random::random;
use std::collections::BTreeMap;

fn id(number: u64) -> Signature {
    let mut id = [0; 64];
    id[..8].copy_from_slice(&number.to_le_bytes());
    id
}

fn row(number: u64, slot: u64) -> Row {
    Row {
        id: id(number),
        slot,
        failed: false,
    }
}

/// An account's history as one endpoint shows it: newest first, in pages of `limit`.
struct Node {
    /// Oldest first: (number, slot).
    chain: Vec<(u64, u64)>,
    confirmed: u64,
    first_available_slot: u64,
    limit: usize,
}

impl Node {
    fn new(chain: &[(u64, u64)], confirmed: u64) -> Self {
        Self {
            chain: chain.to_vec(),
            confirmed,
            first_available_slot: 0,
            limit: 3,
        }
    }

    fn history(&self) -> History {
        History {
            first_available_slot: self.first_available_slot,
            finalized_slot: self.confirmed.saturating_sub(32),
        }
    }

    fn page(&self, request: PageRequest) -> Vec<Entry> {
        let finalized = self.history().finalized_slot;
        let visible = self.chain.iter().rev();
        let visible = visible.filter(|(_, slot)| *slot <= self.confirmed && *slot >= self.first_available_slot);
        let entries = visible.map(|(number, slot)| Entry {
            id: id(*number),
            slot: *slot,
            level: if *slot <= finalized {
                Commitment::Finalized
            } else {
                Commitment::Confirmed
            },
            failed: false,
        });
        let before = request.before;
        let newer = entries.skip_while(|entry| before.is_some_and(|before| before != entry.id));
        let older = newer.skip(usize::from(before.is_some()));
        let newest = older.take_while(|entry| Some(entry.id) != request.until);
        newest.take(self.limit.min(request.limit)).collect()
    }

    fn scan(&self, follower: &mut Follower) -> Result<Vec<Change>, FollowError> {
        let mut request = follower.start(self.history())?;
        loop {
            match follower.page(&self.page(request))? {
                Step::More(next) => request = next,
                Step::Done(changes) => return Ok(changes),
            }
        }
    }
}

#[test]
fn rows_come_oldest_first_and_become_final() {
    let chain: Vec<(u64, u64)> = (1..=8).map(|n| (n, n * 10)).collect();
    let mut follower = Follower::new(0);
    let changes = Node::new(&chain, 82).scan(&mut follower).unwrap();
    let mut expected: Vec<Change> = chain.iter().map(|(n, slot)| Change::New(row(*n, *slot))).collect();
    expected.extend((1..=5).map(|n| Change::Final(row(n, n * 10))));
    assert_eq!(changes, expected);
    assert_eq!(Node::new(&chain, 82).scan(&mut follower).unwrap(), []);
    let finals: Vec<Change> = (6..=8).map(|n| Change::Final(row(n, n * 10))).collect();
    assert_eq!(Node::new(&chain, 200).scan(&mut follower).unwrap(), finals);
    assert!(follower.pending().is_empty());
}

#[test]
fn several_transactions_of_a_slot_keep_their_order() {
    let chain = [(5, 10), (3, 10), (9, 10), (1, 11)];
    let mut follower = Follower::new(0);
    let changes = Node::new(&chain, 100).scan(&mut follower).unwrap();
    let order: Vec<Change> = chain.iter().map(|(n, slot)| Change::New(row(*n, *slot))).collect();
    assert_eq!(changes[..4], order[..]);
    assert_eq!(Node::new(&chain, 100).scan(&mut follower).unwrap(), []);
}

#[test]
fn a_transaction_that_a_fork_removed_is_reorged() {
    let mut follower = Follower::new(0);
    Node::new(&[(1, 10), (2, 50), (3, 52)], 60).scan(&mut follower).unwrap();
    let forked = [(1, 10), (3, 55)];
    // Its slot is not final yet, so the endpoint may only be behind. Transaction 3 moved to another slot.
    let moved = Change::Updated {
        from: row(3, 52),
        to: row(3, 55),
    };
    assert_eq!(Node::new(&forked, 61).scan(&mut follower).unwrap(), [moved]);
    assert_eq!(follower.pending(), [row(2, 50), row(3, 55)]);
    assert_eq!(
        Node::new(&forked, 82).scan(&mut follower).unwrap(),
        [Change::Reorged(row(2, 50))]
    );
    // It can be included again.
    let again = [(1, 10), (3, 55), (2, 80)];
    let changes = Node::new(&again, 120).scan(&mut follower).unwrap();
    assert_eq!(
        changes,
        [
            Change::New(row(2, 80)),
            Change::Final(row(3, 55)),
            Change::Final(row(2, 80))
        ]
    );
}

#[test]
fn a_changed_result_is_read_again() {
    let mut follower = Follower::new(0);
    let entry = |failed, level| Entry {
        id: id(1),
        slot: 10,
        level,
        failed,
    };
    let history = History {
        first_available_slot: 0,
        finalized_slot: 5,
    };
    for (failed, level) in [(false, Commitment::Confirmed), (true, Commitment::Finalized)] {
        follower.start(history).unwrap();
        follower.page(&[entry(failed, level)]).unwrap();
        let Ok(Step::Done(changes)) = follower.page(&[]) else {
            panic!("the walk ends with an empty page")
        };
        if failed {
            let to = Row { failed, ..row(1, 10) };
            assert_eq!(changes, [Change::Updated { from: row(1, 10), to }, Change::Final(to)]);
        }
    }
}

#[test]
fn a_transaction_that_is_indexed_late_is_not_skipped() {
    let mut follower = Follower::new(0);
    Node::new(&[(1, 10), (3, 30), (4, 100)], 140)
        .scan(&mut follower)
        .unwrap();
    let complete = [(1, 10), (2, 20), (3, 30), (4, 100)];
    let changes = Node::new(&complete, 141).scan(&mut follower).unwrap();
    assert_eq!(changes, [Change::New(row(2, 20)), Change::Final(row(2, 20))]);
    assert_eq!(Node::new(&complete, 142).scan(&mut follower).unwrap(), []);
}

#[test]
fn an_endpoint_without_the_known_history_is_not_believed() {
    let chain: Vec<(u64, u64)> = (1..=6).map(|n| (n, n * 10)).collect();
    let mut follower = Follower::new(0);
    Node::new(&chain, 100).scan(&mut follower).unwrap();
    let cursor = follower.cursor();
    let cases: [(&str, Vec<(u64, u64)>); 4] = [
        ("another chain", vec![(90, 15), (91, 65)]),
        ("an empty index", vec![]),
        ("a hole", vec![(1, 10), (2, 20), (4, 40), (5, 50), (6, 60), (7, 70)]),
        (
            "another slot",
            vec![(1, 10), (2, 20), (3, 33), (4, 40), (5, 50), (6, 60)],
        ),
    ];
    for (name, chain) in cases {
        assert_eq!(
            Node::new(&chain, 110).scan(&mut follower),
            Err(FollowError::Gap),
            "{name}"
        );
        assert_eq!(follower.cursor(), cursor, "{name}: nothing changed");
    }
    // With a single known row the same holds.
    let mut single = Follower::new(0);
    Node::new(&[(1, 10)], 100).scan(&mut single).unwrap();
    assert_eq!(Node::new(&[(8, 70)], 110).scan(&mut single), Err(FollowError::Gap));
    assert_eq!(Node::new(&[(8, 5)], 110).scan(&mut single), Err(FollowError::Gap));
    assert!(Node::new(&[(1, 10), (8, 70)], 110).scan(&mut single).is_ok());
    // An endpoint that only lags does not contradict.
    assert_eq!(Node::new(&chain, 55).scan(&mut follower), Ok(vec![]));
}

#[test]
fn pruned_history_is_a_gap_only_where_it_was_not_read() {
    let chain = [(1, 10), (2, 20), (3, 5000)];
    let mut follower = Follower::new(0);
    Node::new(&chain[..2], 4000).scan(&mut follower).unwrap();
    let pruned = |first_available_slot| Node {
        first_available_slot,
        ..Node::new(&chain, 6000)
    };
    assert_eq!(pruned(3969).scan(&mut follower), Err(FollowError::Gap));
    let expected = [Change::New(row(3, 5000)), Change::Final(row(3, 5000))];
    assert_eq!(pruned(3968).scan(&mut follower).unwrap(), expected);
    // A new follower that starts at a slot needs no history before it.
    assert_eq!(pruned(3000).scan(&mut Follower::new(0)), Err(FollowError::Gap));
    assert_eq!(pruned(3000).scan(&mut Follower::new(3000)).unwrap(), expected);
}

#[test]
fn contradicting_pages_are_rejected() {
    let entry = |number, slot| Entry {
        id: id(number),
        slot,
        level: Commitment::Finalized,
        failed: false,
    };
    let history = History {
        first_available_slot: 0,
        finalized_slot: 100,
    };
    let cases: [(&str, Vec<Vec<Entry>>); 3] = [
        ("slots rise", vec![vec![entry(1, 10), entry(2, 11)]]),
        (
            "a page is repeated",
            vec![vec![entry(2, 11), entry(1, 10)], vec![entry(2, 11)]],
        ),
        (
            "a signature twice",
            vec![vec![entry(2, 11), entry(1, 10), entry(2, 9)], vec![]],
        ),
    ];
    for (name, pages) in cases {
        let mut follower = Follower::new(0);
        follower.start(history).unwrap();
        let last = pages.iter().map(|page| follower.page(page)).last().unwrap();
        assert_eq!(last, Err(FollowError::Inconsistent), "{name}");
        assert_eq!(follower.page(&[]), Err(FollowError::NoScan));
        assert_eq!(follower.cursor(), Cursor::default(), "{name}");
    }
}

#[test]
fn the_overlap_is_bounded() {
    let chain: Vec<(u64, u64)> = (1..=500).map(|n| (n, n * 5)).collect();
    let mut follower = Follower::new(0);
    Node {
        limit: 1000,
        ..Node::new(&chain, 5000)
    }
    .scan(&mut follower)
    .unwrap();
    let cursor = follower.cursor();
    assert_eq!(cursor.finalized.len() as u64, OVERLAP_SLOTS / 5 + 2);
    assert_eq!(cursor.finalized.last(), Some(&row(500, 2500)));
    assert_eq!(Follower::resume(0, cursor.clone()).cursor(), cursor);
}

#[test]
fn no_seed_skips_or_invents_a_transaction() {
    // Checks: endpoints lag, index late, respond in small pages and see forks, and the follower restarts from its
    // cursor at any time. The final rows equal the chain, each once, and no other row was ever final.
    for seed in 1..=150u64 {
        let mut random = random(seed);
        let mut chain: Vec<(u64, u64)> = Vec::new();
        let mut next = 1;
        let mut follower = Follower::new(0);
        let (mut known, mut finals) = (BTreeMap::new(), Vec::new());
        let mut best = 0;
        for slot in (100..1500u64).step_by(4) {
            for _ in 0..random(3) {
                chain.push((next, slot));
                next += 1;
            }
            if random(12) == 0 {
                // A fork: the last confirmed slots are replaced; some transactions return, in another order.
                let last = chain.partition_point(|(_, at)| *at < slot.saturating_sub(24));
                let mut lost = chain.split_off(last);
                lost.retain(|_| random(3) > 0);
                lost.reverse();
                chain.extend(lost.into_iter().map(|(number, _)| (number, slot)));
            }
            let confirmed = slot.saturating_sub(random(4) * 10);
            let late = random(10) == 0;
            let visible = chain.iter().filter(|(_, at)| *at <= confirmed);
            // A late index omits some of the last slots.
            let visible: Vec<(u64, u64)> = visible
                .filter(|(number, at)| !(late && number % 3 == 0 && *at > confirmed.saturating_sub(30)))
                .copied()
                .collect();
            let node = Node {
                limit: 1 + random(40) as usize,
                ..Node::new(&visible, confirmed)
            };
            best = best.max(node.history().finalized_slot);
            let changes = match node.scan(&mut follower) {
                Ok(changes) => changes,
                Err(error) => {
                    assert_eq!(error, FollowError::Gap, "seed {seed}");
                    continue;
                }
            };
            apply(&changes, &mut known, &mut finals, seed);
            if random(5) == 0 {
                follower = Follower::resume(0, follower.cursor());
            }
        }
        let last = Node::new(&chain, 4000);
        apply(
            &Node { limit: 1000, ..last }.scan(&mut follower).unwrap(),
            &mut known,
            &mut finals,
            seed,
        );
        finals.sort_by_key(|row: &Row| (row.slot, row.id));
        let mut expected: Vec<Row> = chain.iter().map(|(number, slot)| row(*number, *slot)).collect();
        expected.sort_by_key(|row| (row.slot, row.id));
        assert_eq!(finals, expected, "seed {seed}");
        assert!(known.is_empty(), "seed {seed}");
    }
}

/// Applies changes like the durable rows: no change may contradict known rows.
fn apply(changes: &[Change], known: &mut BTreeMap<Signature, Row>, finals: &mut Vec<Row>, seed: u64) {
    for change in changes {
        match change {
            Change::Reorged(row) => assert_eq!(known.remove(&row.id), Some(*row), "seed {seed}"),
            Change::New(row) => assert_eq!(known.insert(row.id, *row), None, "seed {seed}"),
            Change::Updated { from, to } => assert_eq!(known.insert(to.id, *to), Some(*from), "seed {seed}"),
            Change::Final(row) => {
                assert_eq!(known.remove(&row.id), Some(*row), "seed {seed}");
                finals.push(*row);
            }
        }
    }
}
