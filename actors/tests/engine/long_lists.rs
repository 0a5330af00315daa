//! Pages of long lists: what a page costs does not depend on how much the account has.

use purser_actors::engine::ListStart;
use purser_actors::id::{CardId, StatementLineId, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::Timestamp;
use purser_storage::{Span, Store as _};

use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::IssuerBehavior;
use crate::support::store::rows_read;

const OWNER: Wallet = evm(1);
/// Of a page.
const LIMIT: usize = 10;

/// Buys cards, every one of which the issuer declines: each is a payment, a card, a credit and a line of the statement.
async fn buy(world: &Harness, nonces: std::ops::Range<u8>) {
    for nonce in nonces {
        world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
        // Entries of a list are ordered by their times.
        world.clock.advance(1_000);
        world.pay(&card_for(OWNER, nonce)).await.expect("it is paid");
    }
    world.wait_until_idle().await;
}

/// Rows that each page reads.
async fn read_pages(world: &Harness) -> Vec<(&'static str, usize)> {
    let (engine, store) = (&world.engine, &world.store);
    let newest = engine.cards_of(&OWNER, ListStart::Before(None), LIMIT).await;
    let (newest, _) = newest.expect("readable");
    let line = engine.statement(&OWNER, ListStart::Before(None), 1).await;
    let line: StatementLineId = line.expect("readable").0[0].0;
    let mut read = Vec::new();
    let mut before = rows_read();
    let mut note = |page: &'static str| {
        let now = rows_read();
        read.push((page, now - before));
        before = now;
    };
    for start in [ListStart::<CardId>::Before(None), ListStart::After(None)] {
        let found = engine.cards_of(&OWNER, start, LIMIT).await.expect("readable");
        assert_eq!((found.0.len(), found.1), (LIMIT, true));
        note("cards");
        let found = engine
            .statement(&OWNER, start.at::<StatementLineId>(None), LIMIT)
            .await
            .expect("readable");
        assert_eq!((found.0.len(), found.1), (LIMIT, true));
        note("statement");
    }
    let second = ListStart::Before(Some(newest[0].0));
    assert_eq!(
        engine.cards_of(&OWNER, second, 1).await.expect("readable").0[0].0,
        newest[1].0
    );
    note("cards before one");
    let found = engine.statement(&OWNER, ListStart::Before(Some(line)), LIMIT).await;
    assert_eq!(found.expect("readable").0.len(), LIMIT);
    note("statement before a line");
    assert_eq!(engine.newest_cards(&OWNER, LIMIT).await.expect("readable").len(), LIMIT);
    note("newest cards of all kinds");
    assert_eq!(
        engine.payments_of(&OWNER, None, LIMIT).await.expect("readable").0.len(),
        LIMIT
    );
    note("payments");
    engine.statement_sums(&OWNER, None, None).await.expect("readable");
    note("sums of the statement");
    let events = store.events_of(&OWNER.key(), Span::NEWEST, LIMIT).await;
    assert_eq!(events.expect("readable").len(), LIMIT);
    note("events");
    read
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn page_of_a_long_list_reads_as_many_rows_as_one_of_a_short_list() {
    // Checks: with eleven times as many cards, payments, events and lines, every page reads as many rows as before.
    let world = Harness::new().await;
    buy(&world, 0..12).await;
    let short = read_pages(&world).await;
    buy(&world, 12..132).await;
    assert_eq!(read_pages(&world).await, short);
    assert!(short.iter().all(|(_, rows)| *rows <= 6 * LIMIT), "{short:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sums_of_a_period_are_those_of_its_lines() {
    // Checks: for periods that begin and end at a line, the sums are those of the lines in them; a time is found by
    // halving, so few of the lines are read.
    let world = Harness::new().await;
    buy(&world, 0..100).await;
    let all = world.engine.statement(&OWNER, None, 100).await.expect("readable").0;
    let lines: Vec<_> = all.into_iter().map(|(_, line)| line).collect();
    assert_eq!(lines.len(), 100);
    let some = lines.iter().step_by(9).map(|line| Some(line.at));
    let times: Vec<_> = some.chain([None]).collect();
    for from in &times {
        for until in &times {
            let is_inside = |at: Timestamp| from.is_none_or(|from| at >= from) && until.is_none_or(|until| at < until);
            let inside = || lines.iter().filter(|line| is_inside(line.at));
            let credited: u64 = inside().map(|line| line.amount.atomic()).sum();
            let before = rows_read();
            let sums = world.engine.statement_sums(&OWNER, *from, *until).await;
            let sums = sums.expect("readable");
            // At each end: the newest line, two lines at each of seven steps, and the line before that time.
            assert!(rows_read() - before <= 2 * 16, "few rows are read");
            assert_eq!((sums.credited.atomic(), sums.debited), (credited, Usdc::ZERO));
            let closing = sums.opening.checked_add(sums.credited).expect("it fits");
            assert_eq!(sums.closing, closing);
            if let Some(last) = inside().next_back() {
                assert_eq!((sums.closing, sums.held), (last.balance, last.held));
            }
        }
    }
}
