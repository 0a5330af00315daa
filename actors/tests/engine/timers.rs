//! Scheduled jobs.

use purser_actors::entity::card;
use purser_actors::id::JobId;
use purser_actors::kernel::{Entity, table};
use purser_actors::port::{CardAction, Clock, Timestamp, add_months, month_end};

use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};

/// Milliseconds until the end of 2031, the expiry of the fake issuer's cards.
const PRINTED: (u16, u8) = (2031, 12);

/// From now to a day after the end of the printed month.
fn ms_until_expired(world: &Harness) -> u64 {
    month_end(PRINTED.0, PRINTED.1).0 - world.clock.now().0 + 86_400_000
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn card_expires_only_at_the_end_of_its_printed_month() {
    // Checks: until then the timer is a row, not a job; when due it ends the card once, over a restart too.
    let world = Harness::new().await;
    let card = bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    world.wait_until_idle().await;
    let timers = world.store.rows(&[table::TIMER]);
    assert_eq!(timers.len(), 1);
    let due = timers[0].0[1..]
        .first_chunk()
        .map(|b| Timestamp(u64::from_be_bytes(*b)));
    let now = world.clock.now();
    assert_eq!(due, Some(month_end(PRINTED.0, PRINTED.1)));
    world.clock.advance(due.unwrap().0 - now.0 - 60_000);
    let world = world.crash().await;
    world.wait_until_idle().await;
    assert_eq!(world.engine.card(&card).await.unwrap().unwrap().status(), "ready");
    world.clock.advance(60_000);
    let is = async |status: &str| world.engine.card(&card).await.unwrap().unwrap().status() == status;
    eventually("it expires", async || is("expired").await).await;
    world.wait_until_idle().await;
    assert_eq!(world.store.rows(&[table::TIMER]), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn late_timer_ends_without_an_event() {
    // Checks: a closed card stays closed at the timer's due time, and no row of the timer is left.
    let world = Harness::new().await;
    let card = bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    world.wait_until_idle().await;
    assert!(
        world
            .engine
            .request_prepaid_card_action(card, CardAction::Close, None)
            .await
            .unwrap()
    );
    world.wait_until_idle().await;
    world.clock.advance(ms_until_expired(&world));
    eventually("the timer is gone", async || {
        world.store.rows(&[table::TIMER]).is_empty()
    })
    .await;
    world.wait_until_idle().await;
    let kept = world.engine.card(&card).await.unwrap().unwrap();
    assert!(matches!(kept.status, card::Status::Closed(_)), "{:?}", kept.status);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unreadable_timer_delays_no_other() {
    // Checks: more unreadable timers than one pass reads, all before the card's: they stay, and the card expires.
    const CORRUPT_ID: u128 = 1_001;
    let world = Harness::new().await;
    for n in 0..CORRUPT_ID {
        world
            .store
            .overwrite(table::timer(Timestamp(1), JobId(n)), b"no effect");
    }
    let card = bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    world.wait_until_idle().await;
    world.clock.advance(ms_until_expired(&world));
    eventually("it expires", async || {
        world.engine.card(&card).await.unwrap().unwrap().status() == "expired"
    })
    .await;
    let left = world.store.rows(&[table::TIMER]);
    assert_eq!(left.len(), CORRUPT_ID as usize, "they are there to be looked at");
}

#[test]
fn months_follow_the_calendar() {
    // Checks: six months ahead, over year ends, short months and leap days; midnight and the last millisecond.
    for (from, to) in [
        (0, 15_638_400_000),                            // 1970-01-01 -> 1970-07-01
        (1_772_236_800_000, 1_787_875_200_000),         // 2026-02-28 -> 2026-08-28
        (1_788_134_400_000, 1_803_772_800_000),         // 2026-08-31 -> 2027-02-28
        (1_819_670_400_000 + 1, 1_835_395_200_000 + 1), // 2027-08-31 -> 2028-02-29, a leap year
        (1_835_395_200_000, 1_851_120_000_000),         // 2028-02-29 -> 2028-08-29
        (1_796_083_199_999, 1_811_721_599_999),         // 2026-11-30T23:59:59.999 -> 2027-05-30T23:59:59.999
    ] {
        assert_eq!(add_months(Timestamp(from), 6), Timestamp(to), "from {from}");
    }
}
