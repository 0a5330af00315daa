//! A payment buys once, however often and concurrently it is presented.

use purser_actors::engine::ClaimError;
use purser_actors::entity::payment::{Outcome, Status};
use purser_storage::Store;

use crate::support::harness::{Harness, bought_card, card_for, evm, session};
use crate::support::ports::{IssuerBehavior, PaymentBehavior};
use crate::support::settings::{cards_a_day, fast};
use crate::support::{eventually, in_time};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn paid_call_creates_card_session_and_account() {
    // Checks: everything that a first purchase creates exists, and no job is left.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    let paid = world.pay(&request).await.unwrap();
    assert!(paid.won);
    world.wait_until_idle().await;
    world.assert_one_card(&request);

    let Outcome::Fulfilled {
        session, transaction, ..
    } = &paid.outcome
    else {
        panic!("{:?}", paid.outcome);
    };
    assert_eq!(*session, Some(request.session.id));
    assert_eq!(*transaction, world.chain.settle(&request.authorization));
    let opened = world.engine.session(&request.session.id).await.unwrap().unwrap();
    assert_eq!(opened.owner, evm(1));
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(account.balance.atomic(), 0);
    let (cards, more) = world.engine.cards_of(&evm(1), None, 10).await.unwrap();
    assert_eq!((cards.len(), more), (1, false));
    assert_eq!(cards[0].0, bought_card(&paid));
    let sealed = world.engine.sealed(bought_card(&paid)).await.unwrap();
    assert_eq!(sealed.unwrap(), bought_card(&paid).0.to_be_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_01_payment_sent_a_hundred_times_concurrently_buys_once() {
    // Checks: one settlement, one product, one winner; the other 99 get the same outcome.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    let engine = &world.engine;
    let calls: Vec<_> = (0..100)
        .map(|_| {
            // Every caller requests a session of its own.
            let mut request = request.clone();
            request.session = session();
            let engine = engine.clone();
            tokio::spawn(async move { engine.pay(request).await })
        })
        .collect();
    let mut results = Vec::new();
    for call in calls {
        results.push(in_time("a call", call).await.unwrap().unwrap());
    }
    assert_eq!(results.iter().filter(|paid| paid.won).count(), 1, "one claim wins");
    assert!(
        results.iter().all(|paid| paid.outcome == results[0].outcome),
        "all get the same outcome"
    );
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    assert_eq!(world.chain.submissions(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_01_repeated_payments_of_one_wallet_buy_one_card_each() {
    // Checks: duplicates of one payment cause rejected batches of other payments; none of those is affected.
    let mut settings = fast();
    settings.max_in_flight_per_payer = 256;
    let world = Harness::with(settings).await;
    let calls: Vec<_> = (0..160)
        .map(|n| {
            let (engine, request) = (world.engine.clone(), card_for(evm(1), n / 4));
            tokio::spawn(async move { engine.pay(request).await })
        })
        .collect();
    // A slow disk: batches queue behind each flush.
    let disk = tokio::spawn({
        let store = world.store.clone();
        async move {
            loop {
                store.hold();
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                store.release();
                while store.queued() > 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
    });
    let mut won = 0;
    for call in calls {
        let paid = in_time("a call", call).await.unwrap().unwrap();
        bought_card(&paid);
        won += usize::from(paid.won);
    }
    disk.abort();
    // Only now no task can hold the store.
    assert!(disk.await.unwrap_err().is_cancelled());
    world.store.release();
    world.wait_until_idle().await;
    assert_eq!((won, world.cards().len()), (40, 40));
    assert_eq!((world.chain.transfers(), world.chain.submissions()), (40, 40));
    assert_eq!(world.issuer.cards(), 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_02_replay_gets_the_same_product_without_winning() {
    // Checks: the response to a payment never changes, not even after a restart.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    let first = world.pay(&request).await.unwrap();
    let replay = world.pay(&request).await.unwrap();
    assert_eq!((replay.won, &replay.outcome), (false, &first.outcome));
    world.wait_until_idle().await;
    let world = world.crash().await;
    let replay = world.pay(&request).await.unwrap();
    assert_eq!((replay.won, &replay.outcome), (false, &first.outcome));
    assert_eq!(replay.payment, first.payment, "the id outlives the process");
    world.wait_until_idle().await;
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_03_payment_is_bound_to_its_first_request() {
    // Checks: the same payment for another request is rejected and changes nothing, before and after the first
    // response.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    let mut other = request.clone();
    other.request = [6; 32];
    world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
    let first = tokio::spawn({
        let (engine, request) = (world.engine.clone(), request.clone());
        async move { engine.pay(request).await }
    });
    eventually("the payment is on its way", async || world.chain.at_gate() == 1).await;
    assert_eq!(world.pay(&other).await.unwrap_err(), ClaimError::AlreadyUsed);
    world.chain.open_gate();
    in_time("the first call", first).await.unwrap().unwrap();
    let before = world.history().len();
    world.wait_until_idle().await;
    assert_eq!(world.pay(&other).await.unwrap_err(), ClaimError::AlreadyUsed);
    assert!(
        world.history().len() - before <= 1,
        "only the issuing of the card may have come since"
    );
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_07_unknown_settlement_is_resolved_from_the_chain_once() {
    // Checks: no response is not a decline. The caller gets `pending`; the watch finds the transfer and fulfils it.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::NotExecuted);
    let paid = world.pay(&request).await.unwrap();
    assert!(paid.won);
    assert_eq!(paid.outcome, Outcome::Pending);
    let again = world.pay(&request).await.unwrap();
    assert_eq!((again.won, again.outcome), (false, Outcome::Pending));
    eventually("the chain was read in vain", async || world.chain.lookups() >= 3).await;
    assert_eq!(world.cards().len(), 0);
    world.chain.settle(&request.authorization);
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    assert_eq!(world.chain.submissions(), 1, "it was never sent a second time");
    let paid = world.pay(&request).await.unwrap();
    assert_eq!(bought_card(&paid), world.cards()[0].0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_07_settlement_with_a_lost_response_is_found() {
    // Checks: the transfer settled, but its response was lost; the product is delivered.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::ResponseLost);
    world.pay(&request).await.unwrap();
    world.wait_until_idle().await;
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_07_hanging_settlement_is_unknown() {
    // Checks: the wait for the chain is bounded, and a timeout is no failure.
    let mut settings = fast();
    settings.settle_timeout_ms = 30;
    let world = Harness::with(settings).await;
    let request = card_for(evm(1), 1);
    world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
    let paid = world.pay(&request).await.unwrap();
    assert_eq!(paid.outcome, Outcome::Pending);
    world.chain.settle(&request.authorization);
    world.wait_until_idle().await;
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_11_unsent_payment_is_released_and_can_be_presented_again() {
    // Checks: an unreachable chain leaves no permanent claim; the same payment can be presented again and buys.
    let mut settings = fast();
    settings.caps = cards_a_day(1, 2_000_000);
    let world = Harness::with(settings).await;
    let request = card_for(evm(1), 1);
    world.chain.set_behavior(
        &request.authorization,
        PaymentBehavior::Unreachable(settings.prepare_attempts),
    );
    let paid = world.pay(&request).await.unwrap();
    assert_eq!(paid.outcome, Outcome::Unavailable);
    assert_eq!(world.chain.submissions(), 0, "nothing was sent");
    // The cap reservation is free again: the only card of the day can still be bought.
    world.wait_until_idle().await;
    let paid = world.pay(&request).await.unwrap();
    assert!(paid.won, "no other caller has the product");
    let again = world.pay(&request).await.unwrap();
    assert!(!again.won, "once");
    bought_card(&paid);
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    let next = world.pay(&card_for(evm(1), 2)).await.unwrap_err();
    assert_eq!(next, ClaimError::DailyCountCap { cap: 1 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_11_concurrent_retries_of_a_released_payment_buy_once() {
    // Checks: one of several admissions counts, and only its caller wins; the cap reservations of the others are
    // released.
    let mut settings = fast();
    settings.caps = cards_a_day(20, 2_000_000);
    let world = Harness::with(settings).await;
    let request = card_for(evm(1), 1);
    world.chain.set_behavior(
        &request.authorization,
        PaymentBehavior::Unreachable(settings.prepare_attempts),
    );
    world.pay(&request).await.unwrap();
    world.wait_until_idle().await;
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let (engine, mut request) = (world.engine.clone(), request.clone());
            request.session = session();
            tokio::spawn(async move { engine.pay(request).await })
        })
        .collect();
    let mut won = 0;
    for call in calls {
        let paid = in_time("a call", call).await.unwrap().unwrap();
        bought_card(&paid);
        won += usize::from(paid.won);
    }
    assert_eq!(won, 1, "one presentation wins");
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    for nonce in 2..=20 {
        world.pay(&card_for(evm(1), nonce)).await.unwrap();
    }
    let next = world.pay(&card_for(evm(1), 21)).await.unwrap_err();
    assert_eq!(
        next,
        ClaimError::DailyCountCap { cap: 20 },
        "exactly one share was used"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unsettleable_payment_is_refused_and_releases_its_cap() {
    // Checks: only proof that the transfer is impossible ends the payment and releases its reservation.
    let mut settings = fast();
    settings.caps = cards_a_day(1, 2_000_000);
    let world = Harness::with(settings).await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::NotExecuted);
    let paid = world.pay(&request).await.unwrap();
    let next = card_for(evm(1), 2);
    assert_eq!(
        world.pay(&next).await.unwrap_err(),
        ClaimError::DailyCountCap { cap: 1 }
    );
    world.chain.expire(&request.authorization);
    world.wait_until_idle().await;
    let payment = world.engine.payment(&paid.payment).await.unwrap().unwrap();
    assert!(matches!(payment.status, Status::Refused(_)), "{:?}", payment.status);
    assert!(world.ledger_balances().is_empty());
    let paid = world.pay(&request).await.unwrap();
    assert!(matches!(paid.outcome, Outcome::Declined(_)), "{:?}", paid.outcome);
    bought_card(&world.pay(&next).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn issuer_makes_one_card_under_one_key_unless_it_declines() {
    // Checks: if the issuer is pending, busy, panics or loses its response, the order stays open under the same key
    // until a card exists.
    for behaviors in [
        &[IssuerBehavior::NotYet, IssuerBehavior::NotYet][..],
        &[IssuerBehavior::Busy, IssuerBehavior::Busy],
        &[IssuerBehavior::Panics, IssuerBehavior::Busy, IssuerBehavior::Panics],
        &[IssuerBehavior::ResponseLost, IssuerBehavior::ResponseLost],
    ] {
        let mut settings = fast();
        settings.issuer_timeout_ms = 20;
        let world = Harness::with(settings).await;
        world.issuer.set_behaviors(behaviors);
        let request = card_for(evm(1), 1);
        world.pay(&request).await.unwrap();
        world.wait_until_idle().await;
        world.assert_one_card(&request);
        let calls = world.issuer.calls();
        assert!(calls.len() > behaviors.len(), "{behaviors:?}: {calls:?}");
        assert!(calls.iter().all(|key| *key == calls[0]), "one key: {calls:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn event_envelopes_are_valid_json_in_store_order() {
    // Checks: each envelope parses, starts with its own sequence number, and shows the change.
    let world = Harness::new().await;
    let paid = world.pay(&card_for(evm(1), 1)).await.unwrap();
    world.wait_until_idle().await;
    let mut kinds = Vec::new();
    for event in world.store.events(0, 1_000, Some(&evm(1).key())).await.unwrap() {
        let record = purser_actors::kernel::event_record::EventRecord::read(&event.subject, &event.payload).unwrap();
        let Some(announcement) = record.announcement else {
            continue;
        };
        let text = announcement.with_seq(event.seq);
        assert!(
            text.starts_with(&format!("{{\"seq\":{},\"id\":\"evt_", event.seq)),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["type"], announcement.kind);
        assert_eq!(json["user_id"], evm(1).user_id());
        if announcement.kind == "card.ready" {
            assert_eq!(json["previous"]["status"], "pending");
            assert_eq!(json["data"]["object"]["status"], "ready");
            assert_eq!(json["data"]["object"]["card_id"], bought_card(&paid).to_string());
            assert!(
                text.contains("\"usd_amount\":5,"),
                "amounts are numbers with exact text: {text}"
            );
        }
        kinds.push(announcement.kind);
    }
    assert_eq!(
        kinds,
        [
            "account.created",
            "payment.settled",
            "payment.fulfilled",
            "card.pending",
            "card.ready"
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_49_declined_payment_of_a_frozen_account_is_not_retried() {
    // Checks: another presentation is a settlement like any other: it needs a permit and an account that is not frozen.
    let mut settings = fast();
    settings.max_in_flight_per_payer = 1;
    let world = Harness::with(settings).await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Declined);
    assert!(matches!(
        world.pay(&request).await.unwrap().outcome,
        Outcome::Declined(_)
    ));
    let before = world.chain.submissions();
    world
        .engine
        .set_frozen(evm(1), Some("call us".into()), None)
        .await
        .unwrap();
    assert!(matches!(world.pay(&request).await, Err(ClaimError::Frozen { .. })));
    world.engine.set_frozen(evm(1), None, None).await.unwrap();
    let permit = world.engine.admit(&evm(1)).unwrap();
    assert!(matches!(world.pay(&request).await, Err(ClaimError::Overloaded(_))));
    assert_eq!(world.chain.submissions(), before);
    drop(permit);
    world.pay(&request).await.unwrap();
    assert!(world.chain.submissions() > before);
}
