//! Webhook deliveries.

use std::collections::BTreeSet;

use purser_actors::engine::OperationError;
use purser_actors::engine::webhooks::{
    DeliveryPage, DeliveryQuery, RegistrationError, WebhookRegistration, WebhookSettings,
};
use purser_actors::entity::account::LoginCode;
use purser_actors::entity::session::AuthMethod;
use purser_actors::entity::webhook_delivery::WebhookDelivery;
use purser_actors::id::{ApiKeyId, WebhookDeliveryId, WebhookId};
use purser_actors::kernel::Entity;
use purser_actors::port::{Clock as _, Timestamp};

use crate::support::eventually;
use crate::support::harness::{Harness, card_for, evm, session};
use crate::support::receivers::Reply;
use crate::support::settings::fast;

const HOUR_MS: u64 = 3_600_000;
pub(crate) const URL: &str = "https://one.example/hook";
pub(crate) const OTHER: &str = "https://two.example/hook";

fn registration(n: u8, url: &str, types: &[&str], record: u128) -> WebhookRegistration {
    WebhookRegistration {
        owner: evm(n),
        url: url.into(),
        types: types.iter().map(|t| (*t).to_owned()).collect(),
        record,
        sealed: vec![0; 32],
        session: purser_actors::id::SessionId(record),
        amr: AuthMethod::Wallet,
    }
}

pub(crate) async fn register(world: &Harness, n: u8, url: &str, types: &[&str], record: u128) -> WebhookId {
    let wanted = registration(n, url, types, record);
    world.engine.register_webhook(wanted, None).await.unwrap()
}

async fn deliveries(world: &Harness, n: u8) -> Vec<(WebhookDeliveryId, WebhookDelivery)> {
    let wanted = DeliveryQuery {
        limit: 1_000,
        ..DeliveryQuery::default()
    };
    let page: DeliveryPage = world.engine.webhook_deliveries_of(&evm(n), &wanted).await.unwrap();
    page.found
}

/// Event types that a URL received, in order.
pub(crate) fn kinds(world: &Harness, url: &str) -> Vec<String> {
    let arrived = world.receivers.at(url);
    let kind = |body: &str| {
        serde_json::from_str::<serde_json::Value>(body).unwrap()["type"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    arrived.iter().map(|one| kind(&one.body)).collect()
}

pub(crate) async fn wait_for_posts(world: &Harness, url: &str, count: usize) {
    eventually("it arrives", async || world.receivers.count(url) >= count).await;
    world.wait_until_idle().await;
    assert_eq!(world.receivers.count(url), count, "{url}: {:?}", kinds(world, url));
}

/// Types of all events of the account.
fn event_types(world: &Harness, n: u8) -> Vec<String> {
    let history = world.history();
    let own = history.into_iter().filter(|record| record.owner == evm(n));
    own.filter_map(|record| record.announcement).map(|a| a.kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_event_reaches_each_subscribed_endpoint_once() {
    // Checks: each endpoint gets its own account's events that match its filter, and a test event only itself; every
    // event under its own id.
    let world = Harness::new().await;
    let one = register(&world, 1, URL, &[], 1).await;
    world.clock.advance(1);
    register(&world, 1, OTHER, &["card.*"], 2).await;
    world.pay(&card_for(evm(1), 1)).await.unwrap();
    world.pay(&card_for(evm(2), 2)).await.unwrap();
    let all: Vec<String> = event_types(&world, 1);
    eventually("all arrive", async || {
        event_types(&world, 1).iter().any(|kind| kind == "card.ready")
            && world.receivers.count(URL) + 2 == event_types(&world, 1).len()
            && kinds(&world, OTHER).iter().any(|kind| kind == "card.ready")
    })
    .await;
    world.wait_until_idle().await;
    assert!(all.len() > 3, "{all:?}");
    // It does not get its own registration or the other's test event.
    let mut expected = event_types(&world, 1);
    for own in ["webhook.registered", "webhook.test"] {
        let place = expected.iter().position(|kind| kind == own).unwrap();
        expected.remove(place);
    }
    let mut got = kinds(&world, URL);
    assert_eq!(got.iter().filter(|kind| *kind == "webhook.test").count(), 1);
    got.sort();
    expected.sort();
    assert_eq!(got, expected);
    let others = kinds(&world, OTHER);
    assert!(
        others
            .iter()
            .all(|kind| kind == "webhook.test" || kind.starts_with("card.")),
        "{others:?}"
    );
    let ids: BTreeSet<_> = world.receivers.at(URL).into_iter().map(|one| one.event).collect();
    assert_eq!(ids.len(), world.receivers.count(URL), "each once");
    let list = deliveries(&world, 1).await;
    assert_eq!(list.len(), got.len() + others.len());
    assert!(list.iter().all(|(_, delivery)| delivery.status() == "delivered"));
    assert!(deliveries(&world, 2).await.is_empty());
    assert_eq!(world.engine.webhooks_of(&evm(1)).await.unwrap()[0].0, one);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_60_62_attempts_follow_the_schedule_under_one_id() {
    // Checks: ten attempts, with an error response or none, each after its delay plus at most a tenth. All attempts of
    // one message have one id and one body. Then it fails; a redelivery starts anew under the same id.
    let world = Harness::new().await;
    world
        .receivers
        .replies(URL, &[Reply::Unreachable, Reply::Status(500), Reply::Unreachable]);
    world.receivers.always(URL, Reply::Status(500));
    register(&world, 1, URL, &["none"], 1).await;
    let pauses = WebhookSettings::STANDARD.pauses_ms;
    for (n, pause) in pauses.iter().enumerate() {
        if n > 0 {
            // No attempt shortly before the due time, one shortly after.
            world.clock.advance(pause - 2_000);
            tokio::time::sleep(std::time::Duration::from_millis(60)).await;
            assert_eq!(world.receivers.count(URL), n, "not before its time");
            world.clock.advance(2_000 + pause / 10);
        }
        wait_for_posts(&world, URL, n + 1).await;
    }
    let (id, delivery) = deliveries(&world, 1).await.pop().unwrap();
    assert_eq!(
        (delivery.status(), delivery.attempt_count, delivery.attempts.len()),
        ("failed", 10, 10)
    );
    world.clock.advance(1_000 * HOUR_MS);
    world.receivers.always(URL, Reply::Status(204));
    let again = world.engine.redeliver_webhook(id, None, None).await;
    assert!(again.is_ok());
    wait_for_posts(&world, URL, 11).await;
    let got = world.receivers.at(URL);
    assert!(
        got.iter()
            .all(|one| (one.event, &one.body) == (got[0].event, &got[0].body))
    );
    let unknown = world.engine.redeliver_webhook(WebhookDeliveryId(5), None, None).await;
    assert!(matches!(unknown, Err(OperationError::Rejected(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_60_retry_after_is_honored_and_410_ends_attempts() {
    // Checks: `Retry-After` delays the next attempt. A 410 disables the endpoint with an event and drops its pending
    // deliveries; after a new registration, missed events can be redelivered.
    let world = Harness::new().await;
    world
        .receivers
        .replies(URL, &[Reply::Later(HOUR_MS), Reply::Status(200), Reply::Status(410)]);
    let id = register(&world, 1, URL, &[], 1).await;
    wait_for_posts(&world, URL, 1).await;
    world.clock.advance(HOUR_MS - 2_000);
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    assert_eq!(world.receivers.count(URL), 1);
    world.clock.advance(3_000);
    wait_for_posts(&world, URL, 2).await;
    world.pay(&card_for(evm(1), 1)).await.unwrap();
    let state = async || world.engine.webhook(&id).await.unwrap().unwrap().status();
    eventually("it is disabled", async || state().await == "disabled").await;
    world.wait_until_idle().await;
    assert_eq!(world.event_count("webhook.disabled"), 1);
    let since = world.clock.now();
    let refused = world.engine.redeliver_since(id, since, None, None).await;
    assert!(matches!(refused, Err(OperationError::Rejected(_))));
    let before = world.receivers.count(URL);
    world.pay(&card_for(evm(1), 2)).await.unwrap();
    eventually("the card is ready", async || world.event_count("card.ready") == 2).await;
    world.wait_until_idle().await;
    assert_eq!(world.receivers.count(URL), before, "nothing is posted to it");
    assert_eq!(register(&world, 1, URL, &["card.*"], 2).await, id);
    world
        .engine
        .redeliver_since(id, Timestamp(0), None, None)
        .await
        .unwrap();
    eventually("it gets what it missed", async || {
        kinds(&world, URL).iter().filter(|kind| *kind == "card.ready").count() >= 2
    })
    .await;
    world.wait_until_idle().await;
    let list = deliveries(&world, 1).await;
    let ready = list
        .iter()
        .filter(|(_, d)| d.message.kind == "card.ready" && d.status() == "delivered");
    assert_eq!(ready.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_62_both_secrets_sign_for_a_day() {
    // Checks: after a rotation both secrets sign, a day later only the new one. The endpoint limit holds, and a known
    // URL does not count against it.
    let mut settings = fast();
    settings.webhooks.max_per_account = 2;
    let world = Harness::with(settings).await;
    let id = register(&world, 1, URL, &["none"], 1).await;
    wait_for_posts(&world, URL, 1).await;
    assert_eq!(register(&world, 1, URL, &["none"], 2).await, id);
    wait_for_posts(&world, URL, 2).await;
    register(&world, 1, OTHER, &["none"], 3).await;
    let third = registration(1, "https://three.example/", &[], 4);
    let full = world.engine.register_webhook(third, None).await;
    assert!(matches!(full, Err(RegistrationError::LimitReached(2))), "{full:?}");
    world.clock.advance(24 * HOUR_MS);
    let (test, _) = deliveries(&world, 1)
        .await
        .into_iter()
        .find(|(_, d)| d.message.endpoint == id)
        .unwrap();
    world.engine.redeliver_webhook(test, None, None).await.unwrap();
    wait_for_posts(&world, URL, 3).await;
    let signed: Vec<_> = world.receivers.at(URL).into_iter().map(|one| one.signed_by).collect();
    assert_eq!(signed, [vec![1], vec![2, 1], vec![2]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_61_dead_endpoints_do_not_delay_healthy_ones() {
    // Checks: far more endpoints than permits hang forever, new ones and formerly healthy ones; healthy endpoints still
    // get their events.
    let mut settings = fast();
    settings.webhooks.max_concurrent_degraded = 4;
    settings.webhooks.max_concurrent_healthy = 4;
    settings.webhooks.degraded_after_ms = 20;
    settings.webhooks.timeout_ms = 600_000;
    settings.limits.max_active = 10_000;
    let world = Harness::with(settings).await;
    register(&world, 1, URL, &["card.*"], 1).await;
    wait_for_posts(&world, URL, 1).await;
    let dead = |n: u8| format!("https://dead.example/{n}");
    for n in (0..40_u8).step_by(2) {
        register(&world, 2 + n, &dead(n), &[], 100 + u128::from(n)).await;
        wait_for_posts(&world, &dead(n), 1).await;
    }
    for n in 0..40_u8 {
        let url = dead(n);
        world.receivers.always(&url, Reply::Hangs);
        register(&world, 2 + n, &url, &[], 200 + u128::from(n)).await;
    }
    for nonce in 1..=20 {
        world.pay(&card_for(evm(1), nonce)).await.unwrap();
    }
    eventually("the live one hears of every card", async || {
        kinds(&world, URL).iter().filter(|kind| *kind == "card.ready").count() == 20
    })
    .await;
    assert!(world.engine.webhook_stats().degraded <= 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_63_unrecorded_delivery_is_repeated_under_its_id() {
    // Checks: the sender crashes after the receiver has the event.
    let world = Harness::new().await;
    world.receivers.replies(URL, &[Reply::Panics, Reply::Panics]);
    register(&world, 1, URL, &["none"], 1).await;
    wait_for_posts(&world, URL, 3).await;
    let got = world.receivers.at(URL);
    assert!(got.iter().all(|one| one.event == got[0].event));
    let list = deliveries(&world, 1).await;
    assert_eq!(
        (list.len(), list[0].1.status(), list[0].1.attempt_count),
        (1, "delivered", 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_63_crash_at_any_batch_neither_loses_nor_doubles_a_delivery() {
    // Checks: the power is cut after each batch from a registration to the last delivery of a card's events. After the
    // restart every event is one delivery, delivered, and each attempt has its id.
    for batches in 0..30 {
        let world = Harness::new().await;
        register(&world, 1, URL, &["card.*"], 1).await;
        let before = world.store.committed();
        world.store.hold_after(batches, batches % 2 == 0);
        let engine = world.engine.clone();
        let request = card_for(evm(1), 1);
        let paying = tokio::spawn(async move { drop(engine.pay(request).await) });
        let done = async || world.event_count("card.ready") == 1 && world.engine.open_jobs(1).await.unwrap().is_empty();
        // A task that waits for the last, unanswered batch sends no more requests.
        let is_last = || batches % 2 == 1 && world.store.committed() >= before + batches;
        eventually("deliveries have stopped", async || {
            is_last() || world.store.is_starving() || done().await
        })
        .await;
        paying.abort();
        let world = world.crash().await;
        drop(world.pay_until_known(&card_for(evm(1), 1)).await);
        eventually("the card's event is delivered", async || {
            kinds(&world, URL).iter().any(|kind| kind == "card.ready")
        })
        .await;
        world.wait_until_idle().await;
        // The fan-out worker follows the events; it is no job that a test could wait for.
        eventually("every event has its delivery", async || {
            let wanted = event_types(&world, 1).into_iter();
            let wanted = wanted.filter(|k| k.starts_with("card.") || k == "webhook.test").count();
            deliveries(&world, 1).await.len() == wanted
        })
        .await;
        world.wait_until_idle().await;
        let list = deliveries(&world, 1).await;
        let events: BTreeSet<_> = list.iter().map(|(_, delivery)| delivery.message.event).collect();
        assert_eq!(
            events.len(),
            list.len(),
            "one delivery an event, after {batches} batches"
        );
        assert!(list.iter().all(|(_, delivery)| delivery.status() == "delivered"));
        assert!(world.receivers.at(URL).iter().all(|one| events.contains(&one.event)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_49_frozen_account_gets_no_event_after_the_freeze() {
    // Checks: a freeze stops every delivery; after the unfreeze, pending events are delivered.
    let world = Harness::new().await;
    world.pay(&card_for(evm(1), 1)).await.unwrap();
    eventually("the card is ready", async || world.event_count("card.ready") == 1).await;
    register(&world, 1, URL, &["account.*", "card.*"], 1).await;
    wait_for_posts(&world, URL, 1).await;
    world
        .engine
        .set_frozen(evm(1), Some("call us".into()), None)
        .await
        .unwrap();
    wait_for_posts(&world, URL, 2).await;
    let test = deliveries(&world, 1).await.pop().unwrap().0;
    world.engine.redeliver_webhook(test, None, None).await.unwrap();
    world.wait_until_idle().await;
    assert_eq!(world.receivers.count(URL), 2);
    world.engine.set_frozen(evm(1), None, None).await.unwrap();
    world.clock.advance(HOUR_MS);
    eventually("what waited arrives", async || world.receivers.count(URL) == 4).await;
    assert_eq!(kinds(&world, URL)[1], "account.frozen");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn endpoints_of_ended_agents_receive_nothing_more() {
    // Checks: an endpoint that an API key registered ends with the key, one of the wallet's program with a stop of all
    // agents, also for deliveries that wait. What the owner registered on a page goes on.
    const LATER_S: u64 = 9_000_000_000;
    const THIRD: &str = "https://three.example/hook";
    let (world, owner) = (Harness::new().await, evm(1));
    let (program, of_key, key) = (session(), session(), ApiKeyId(71));
    let engine = &world.engine;
    engine.sign_in(owner, ([1; 16], LATER_S), program).await.unwrap();
    engine.issue_api_key(key, owner, "Ada", 8).await.unwrap();
    engine.exchange_api_key(key, of_key).await.unwrap();
    let code = LoginCode {
        hash: [1; 32],
        expires_s: LATER_S,
    };
    let made = engine.create_login_code(owner, code, AuthMethod::Wallet, program.id);
    made.await.unwrap();
    let (_, browser) = engine.redeem_login_code([1; 32], |_| session()).await.unwrap();
    let types = ["card.ready", "account.agents_stopped"];
    for (record, (url, session)) in (1..).zip([(URL, of_key.id), (OTHER, browser), (THIRD, program.id)]) {
        let wanted = WebhookRegistration {
            session,
            ..registration(1, url, &types, record)
        };
        engine.register_webhook(wanted, None).await.unwrap();
    }
    let of_types = |url| {
        kinds(&world, url)
            .iter()
            .filter(|kind| types.contains(&kind.as_str()))
            .count()
    };
    let counts = || [URL, OTHER, THIRD].map(of_types);
    world.clock.advance(1);
    world.pay(&card_for(owner, 1)).await.unwrap();
    eventually("all know of the card", async || counts() == [1, 1, 1]).await;
    engine.revoke_api_key(key).await.unwrap();
    world.pay(&card_for(owner, 2)).await.unwrap();
    eventually("two know of the second", async || counts()[1..] == [2, 2]).await;
    engine.set_agents_stopped(owner, true).await.unwrap();
    eventually("the page's endpoint knows of the stop", async || counts()[1] == 3).await;
    world.wait_until_idle().await;
    assert_eq!(counts(), [1, 3, 2]);
}
