#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;

use super::super::follow::{Change, Follower, History, Reading};
use super::*;
use crate::solana::random::random;

fn row(number: u8, slot: u64) -> Row {
    Row {
        id: [number; 64],
        slot,
        failed: false,
    }
}

/// An endpoint with these transactions (number, slot), oldest first, and this final slot.
fn listing(finalized_slot: u64, shown: &[(u8, u64)]) -> Listing {
    let entry = |(number, slot): &(u8, u64)| Entry {
        id: [*number; 64],
        slot: *slot,
        level: match *slot <= finalized_slot {
            true => Commitment::Finalized,
            false => Commitment::Confirmed,
        },
        failed: false,
    };
    Listing {
        history: History {
            first_available_slot: 0,
            finalized_slot,
        },
        entries: shown.iter().map(entry).collect(),
    }
}

fn rows(shown: &[(u8, u64)]) -> Vec<Row> {
    shown.iter().map(|(number, slot)| row(*number, *slot)).collect()
}

const TRUE: [(u8, u64); 4] = [(1, 10), (2, 20), (3, 30), (4, 95)];

// Checks: the agreement of two endpoints decides, in whichever order dishonest or lagging ones are. A transaction
// listed by one alone is not final, and neither is anything after one that it omits. The final slot is the second
// highest claim.
#[test]
fn what_two_endpoints_show_alike_is_final() {
    let honest = || listing(90, &TRUE);
    let invents = listing(90, &[(1, 10), (9, 15), (2, 20), (3, 30)]);
    let omits = listing(90, &[(1, 10), (3, 30)]);
    let moves = listing(90, &[(1, 10), (2, 21), (3, 30)]);
    let fails = {
        let mut listing = honest();
        listing.entries[1].failed = true;
        listing
    };
    let ahead = listing(1_000_000, &TRUE);
    let behind = listing(25, &TRUE);
    let unsure = {
        let mut listing = honest();
        listing.entries[2].level = Commitment::Confirmed;
        listing
    };
    // Name, listings, slot, number of final transactions (from the first), number of disputed ones.
    let table: [(&str, Vec<Listing>, u64, usize, usize); 14] = [
        ("one", vec![honest()], 0, 0, 0),
        ("two alike", vec![honest(), honest()], 90, 3, 0),
        ("the first invents", vec![invents.clone(), honest()], 14, 1, 1),
        ("the second invents", vec![honest(), invents.clone()], 14, 1, 1),
        ("the first omits", vec![omits.clone(), honest()], 19, 1, 1),
        ("the second omits", vec![honest(), omits.clone()], 19, 1, 1),
        ("another slot", vec![moves, honest()], 19, 1, 2),
        ("another success", vec![fails, honest()], 19, 1, 1),
        ("the first is ahead", vec![ahead.clone(), honest()], 90, 3, 0),
        ("the second is behind", vec![honest(), behind], 25, 2, 0),
        ("a node that is not as far", vec![honest(), unsure], 29, 2, 0),
        ("one of three invents", vec![invents, honest(), honest()], 90, 3, 1),
        ("one of three omits", vec![honest(), omits, honest()], 90, 3, 1),
        ("one of three is ahead", vec![ahead, honest(), honest()], 90, 3, 0),
    ];
    for (name, listings, slot, finals, disputed) in table {
        let agreement = Agreement::from_listings(&Follower::new(0), &listings);
        assert_eq!(agreement.slot, slot, "{name}");
        assert_eq!(agreement.finals, rows(&TRUE[..finals]), "{name}");
        // The same transaction in two slots is two rows.
        assert_eq!(agreement.disputed.len(), disputed, "{name}");
        assert_eq!(agreement.is_whole(), disputed == 0 && listings.len() > 1, "{name}");
    }
}

fn finals(changes: &[Change]) -> Vec<Row> {
    let finals = changes.iter().filter_map(|change| match change {
        Change::Final(row) => Some(*row),
        _ => None,
    });
    finals.collect()
}

// Checks: an invented transaction is seen, never final, and removed once two endpoints continue without it. An omitted
// one is seen by the endpoint that lists it, and final once both do. Nothing after either is final before.
#[test]
fn an_invented_row_is_removed_and_an_omitted_one_is_found() {
    let mut follower = Follower::new(0);
    let mut take = |listings: &[Listing]| {
        let agreement = Agreement::from_listings(&follower, listings);
        let changes = follower.take(listings, &agreement);
        (changes, follower.covered_slot(), follower.pending().len())
    };
    let lies = listing(90, &[(1, 10), (9, 15), (3, 30)]);
    let (changes, covered, pending) = take(&[lies.clone(), listing(90, &TRUE[..3])]);
    assert_eq!(finals(&changes), [row(1, 10)]);
    assert_eq!(
        (covered, pending),
        (14, 3),
        "the invented, the omitted and the one behind them are seen"
    );
    let (changes, covered, _) = take(&[lies]);
    assert_eq!((changes, covered), (vec![], 14), "one alone changes nothing");
    let honest = listing(100, &TRUE);
    let (changes, covered, pending) = take(&[honest.clone(), honest]);
    assert_eq!(changes[0], Change::Reorged(row(9, 15)));
    assert_eq!(finals(&changes), rows(&TRUE[1..]));
    assert_eq!((covered, pending), (100, 0));
}

// Checks: a part ends with a whole slot, and excludes the slot that stopped it.
#[test]
fn a_part_is_made_of_whole_slots() {
    let shown = [(1, 10), (2, 20), (3, 20), (4, 30)];
    let follower = Follower::new(0);
    let agreement = Agreement::from_listings(&follower, &[listing(90, &shown), listing(90, &shown)]);
    for (most, slot, count) in [(1, 19, 1), (2, 29, 3), (3, 29, 3), (4, 90, 4), (9, 90, 4)] {
        let part = agreement.first(&follower, most);
        assert_eq!((part.slot, part.finals.len()), (slot, count), "{most}");
    }
    let mut stopped = agreement.first(&follower, 9);
    stopped.end_before(20);
    assert_eq!((stopped.slot, stopped.finals), (19, vec![row(1, 10)]));
}

// Checks: two endpoints, of which one randomly invents, omits and lags, are scanned page by page as in the port. Every
// final row is on the chain, once and in its slot. Once both are honest, the whole chain is final.
#[test]
fn false_data_of_one_endpoint_is_never_final() {
    for seed in 1..=200u64 {
        let mut random = random(seed);
        let chain: Vec<(u8, u64)> = (1..=60).map(|n| (n, u64::from(n) * 10)).collect();
        let (mut follower, mut final_rows) = (Follower::new(0), BTreeMap::new());
        let mut step = |follower: &mut Follower, shown: [(u64, Vec<(u8, u64)>); 2]| {
            let walked = shown.map(|(finalized, shown)| scan(follower, &listing(finalized, &shown)));
            let listings: Vec<Listing> = walked.into_iter().flatten().collect();
            let agreement = Agreement::from_listings(follower, &listings);
            for row in finals(&follower.take(&listings, &agreement)) {
                assert_eq!(final_rows.insert(row.id, row), None, "seed {seed}: once");
                assert!(chain.contains(&(row.id[0], row.slot)), "seed {seed}: {row:?}");
            }
        };
        for confirmed in (50..=640u64).step_by(30) {
            let visible = |until: u64| chain.iter().copied().filter(move |(_, slot)| *slot <= until);
            let honest: Vec<(u8, u64)> = visible(confirmed).collect();
            let mut lies: Vec<(u8, u64)> = visible(confirmed.saturating_sub(random(40))).collect();
            if random(2) == 0 {
                lies.retain(|_| random(5) > 0);
            }
            if random(2) == 0 {
                lies.push((200 + random(50) as u8, random(confirmed)));
                lies.sort_by_key(|(_, slot)| *slot);
            }
            let claimed = confirmed.saturating_sub(32) + random(3) * 500;
            let mut shown = [(confirmed.saturating_sub(32), honest), (claimed, lies)];
            if random(2) == 0 {
                shown.reverse();
            }
            step(&mut follower, shown);
            if random(4) == 0 {
                follower = Follower::resume(0, follower.cursor());
            }
        }
        step(&mut follower, [(900, chain.clone()), (900, chain.clone())]);
        assert_eq!(final_rows.len(), chain.len(), "seed {seed}");
        assert!(follower.pending().is_empty(), "seed {seed}");
    }
}

/// The endpoint's listing from a scan; `None` if the endpoint contradicts final rows.
fn scan(follower: &Follower, shown: &Listing) -> Option<Listing> {
    let mut follower = follower.clone();
    let request = follower.start(shown.history).unwrap();
    let newest = shown.entries.iter().rev().copied();
    let page: Vec<Entry> = newest.take_while(|entry| Some(entry.id) != request.until).collect();
    match follower.read(&page).ok()? {
        Reading::Done(listing) => Some(listing),
        Reading::More(_) => match follower.read(&[]).ok()? {
            Reading::Done(listing) => Some(listing),
            Reading::More(_) => None,
        },
    }
}
