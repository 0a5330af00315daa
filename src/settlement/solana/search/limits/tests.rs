#![allow(clippy::unwrap_used, reason = "a test")]

use super::*;

const PAYMENT: [u8; 32] = [1; 32];
const SINCE: u64 = 900;

fn entry(number: u8, slot: u64, level: Commitment) -> Entry {
    Entry {
        id: [number; 64],
        slot,
        level,
        failed: false,
    }
}

fn confirmed(number: u8, slot: u64) -> Entry {
    entry(number, slot, Commitment::Confirmed)
}

fn last(number: u8, slot: u64) -> Entry {
    entry(number, slot, Commitment::Finalized)
}

/// A search that reads these pages.
fn search(walk: &mut HistoryScan, is_past: bool, pages: &[&[Entry]]) -> Vec<Page> {
    walk.start(is_past);
    let turn = |page: &&[Entry]| {
        for entry in page.iter().take_while(|entry| entry.slot >= SINCE) {
            walk.skip(entry);
        }
        walk.finish_page(page, SINCE)
    };
    pages.iter().map(turn).collect()
}

// Checks: while the payment can settle, each search begins at the newest entry and ends at a final one that was read.
// Entries that are not final are listed again.
#[test]
fn what_was_read_and_is_final_is_not_listed_again() {
    let mut walk = HistoryScan::default();
    let page = [confirmed(9, 960), last(8, 930), last(7, 920), last(6, 800)];
    assert_eq!(search(&mut walk, false, &[&page]), [Page::End { proves: false }]);
    assert!(walk.needs_position() && !walk.is_absent());
    walk.start(false);
    assert_eq!((walk.before(), walk.until()), (None, Some([8; 64])));
    // A search that ends early lists the same entries once more.
    let page = [confirmed(11, 970), last(10, 965)];
    assert_eq!(search(&mut walk, false, &[&page]), [Page::More]);
    walk.start(false);
    assert_eq!((walk.before(), walk.until()), (None, Some([8; 64])));
    assert_eq!(
        search(&mut walk, false, &[&page, &[]]),
        [Page::More, Page::End { proves: false }]
    );
    walk.start(false);
    assert_eq!(walk.until(), Some([10; 64]));
}

// Checks: only a scan that began with the endpoint past the last block height proves absence. It reads everything
// again, from the newest entry to the end of the list or below the first slot, possibly over several searches.
#[test]
fn only_a_complete_search_past_the_end_is_proof() {
    let mut walk = HistoryScan::default();
    search(&mut walk, false, &[&[last(8, 930)], &[]]);
    assert_eq!(
        search(&mut walk, true, &[&[last(20, 990), last(19, 980)]]),
        [Page::More]
    );
    assert_eq!((walk.before(), walk.until()), (Some([19; 64]), None), "all of it");
    assert!(!walk.needs_position());
    assert_eq!(search(&mut walk, false, &[&[last(8, 930)]]), [Page::More], "it goes on");
    assert_eq!(walk.before(), Some([8; 64]));
    assert_eq!(
        search(&mut walk, true, &[&[last(7, 899)]]),
        [Page::End { proves: true }]
    );
    assert!(!walk.is_absent(), "the history is not known yet");
    let mut pruned = walk.clone();
    walk.finish(true);
    assert!(walk.is_absent());
    pruned.finish(false);
    assert!(!pruned.is_absent() && !pruned.needs_position() && pruned.until() == Some([20; 64]));
    // It is still searched, but proves nothing any more.
    assert_eq!(search(&mut pruned, true, &[&[]]), [Page::End { proves: false }]);
}

// Checks: an empty page after an entry that a fork may have removed is not the end; after a final entry it is.
#[test]
fn incomplete_list_proves_nothing() {
    for (page, expected) in [
        (confirmed(20, 990), Page::Broken),
        (last(20, 990), Page::End { proves: true }),
    ] {
        let mut walk = HistoryScan::default();
        assert_eq!(search(&mut walk, true, &[&[page], &[]]), [Page::More, expected]);
        let begins_again = expected == Page::Broken;
        assert_eq!(walk.before().is_none(), begins_again);
    }
}

// Checks: each payment may have fifty reads whatever other searches do. Beyond that all together may have ten a second,
// with a burst of half of five seconds.
#[test]
fn all_searches_together_have_a_read_limit() {
    let mut searches = Searches::default();
    let reads = |searches: &mut Searches, payment: &[u8; 32], now_ms: u64| {
        (0..1_000).take_while(|_| searches.may_read(payment, now_ms)).count()
    };
    searches.start(&PAYMENT, (1_000, SINCE), 2, 0);
    let ahead = usize::try_from(MAX_AHEAD_MS / READ_MS).unwrap();
    assert_eq!(reads(&mut searches, &PAYMENT, 0), GUARANTEED_READS + ahead);
    assert_eq!(reads(&mut searches, &PAYMENT, 1_000), 10);
    searches.start(&[2; 32], (1_000, SINCE), 2, 1_000);
    assert_eq!(reads(&mut searches, &[2; 32], 1_000), GUARANTEED_READS, "its own");
    assert_eq!(reads(&mut searches, &[2; 32], 2_000), 10);
    assert_eq!(reads(&mut searches, &PAYMENT, 2_000), 0);
    assert_eq!(reads(&mut searches, &PAYMENT, 100_000), ahead, "nothing is saved up");
}

// Checks: the pause between searches without a result grows. A search with more to read, or with a result, is repeated
// soon.
#[test]
fn repeated_searches_back_off() {
    let mut searches = Searches::default();
    let mut now_ms = 0;
    let mut pause = |searches: &mut Searches, is_found: bool, is_cut: bool| {
        let begin = |searches: &mut Searches, at| searches.start(&PAYMENT, (1_000, SINCE), 2, at);
        assert!(matches!(begin(searches, now_ms), SearchStart::Search(_)));
        searches.finish(&PAYMENT, is_found, is_cut);
        let waited = (1..)
            .find(|ms| matches!(begin(searches, now_ms + ms), SearchStart::Search(_)))
            .unwrap();
        now_ms += waited + 1_000_000;
        waited
    };
    for _ in 0..QUICK_SEARCHES {
        assert_eq!(pause(&mut searches, false, false), PAUSE_MS);
    }
    let pauses: Vec<u64> = (0..6).map(|_| pause(&mut searches, false, false)).collect();
    assert_eq!(pauses, [4_500, 6_750, 10_125, 15_187, 22_780, MAX_PAUSE_MS]);
    assert_eq!(pause(&mut searches, false, true), MAX_PAUSE_MS, "the next one");
    assert_eq!(pause(&mut searches, true, false), PAUSE_MS);
    searches.start(&PAYMENT, (1_000, SINCE), 2, 90_000_000);
    searches.expedite(&PAYMENT);
    let next = searches.start(&PAYMENT, (1_000, SINCE), 2, 90_000_000);
    assert!(
        matches!(next, SearchStart::Search(foreign) if foreign.is_decisive),
        "at once"
    );
    let later = searches.start(&PAYMENT, (1_000, SINCE), 2, 99_000_000);
    assert!(matches!(later, SearchStart::Search(foreign) if !foreign.is_decisive));
}

// Checks: a result proven by a signature counts for all endpoints and payments; an unproven one only for its endpoint.
#[test]
fn what_was_read_is_not_read_again() {
    let mut searches = Searches::default();
    let (proven, unproven) = ([7; 64], [8; 64]);
    assert_eq!(searches.is_payment(&proven, &PAYMENT, 0), None);
    searches.record_read(&proven, Some(PAYMENT), 0);
    searches.record_read(&unproven, None, 1);
    for endpoint in 0..3 {
        assert_eq!(searches.is_payment(&proven, &PAYMENT, endpoint), Some(true));
        assert_eq!(searches.is_payment(&proven, &[2; 32], endpoint), Some(false));
        let shown = (endpoint == 1).then_some(false);
        assert_eq!(searches.is_payment(&unproven, &PAYMENT, endpoint), shown);
    }
    searches.record_read(&unproven, Some(PAYMENT), 0);
    assert_eq!(
        searches.is_payment(&unproven, &PAYMENT, 1),
        Some(true),
        "another endpoint proves it"
    );
    for number in 0..u64::try_from(MAX_TRANSACTIONS).unwrap() {
        let mut id = [9; 64];
        id[..8].copy_from_slice(&number.to_be_bytes());
        searches.record_read(&id, Some([3; 32]), 0);
    }
    assert_eq!(searches.is_payment(&proven, &PAYMENT, 0), None, "the oldest is removed");
    assert_eq!(
        (searches.transactions.len(), searches.read_order.len()),
        (MAX_TRANSACTIONS, MAX_TRANSACTIONS)
    );
}
