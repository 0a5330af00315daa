//! Corrupt or slow endpoints do not affect others.

use std::collections::BTreeSet;

use purser_actors::kernel::{EntityKind, table};

use crate::support::eventually;
use crate::support::harness::{Harness, card_for, evm};
use crate::support::receivers::Reply;
use crate::support::settings::fast;
use crate::webhooks::{OTHER, URL, kinds, register, wait_for_posts};

async fn quarantined_endpoints(world: &Harness) -> u64 {
    let figures = world.engine.stats().await.unwrap();
    let mut kinds = figures.kinds.iter();
    kinds
        .find(|kind| kind.kind == EntityKind::Webhook.name())
        .unwrap()
        .quarantined
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn corrupt_endpoint_does_not_delay_others() {
    // Checks: an endpoint's row and the dispatch cursor are corrupt. After a restart another account's endpoint gets
    // every event once; the corrupt endpoint is counted and gets none.
    let world = Harness::new().await;
    let damaged = register(&world, 1, URL, &["card.*"], 1).await;
    register(&world, 2, OTHER, &["card.*"], 2).await;
    wait_for_posts(&world, URL, 1).await;
    wait_for_posts(&world, OTHER, 1).await;
    let row = table::entity(EntityKind::Webhook, &damaged.0.to_be_bytes());
    world.store.overwrite(row, b"rubbish");
    world
        .store
        .overwrite(table::meta("webhook-dispatch-cursor"), b"rubbish");
    let world = world.crash().await;
    for n in [1, 2] {
        world.pay(&card_for(evm(n), n)).await.unwrap();
    }
    eventually("both cards are ready, and one is delivered", async || {
        world.event_count("card.ready") == 2 && kinds(&world, OTHER).iter().any(|kind| kind == "card.ready")
    })
    .await;
    world.wait_until_idle().await;
    assert_eq!(kinds(&world, URL), ["webhook.test"]);
    let ids: BTreeSet<_> = world.receivers.at(OTHER).into_iter().map(|one| one.event).collect();
    assert_eq!(ids.len(), world.receivers.count(OTHER), "each once");
    assert_eq!(quarantined_endpoints(&world).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unreadable_endpoint_is_read_again() {
    // Checks: a read error does not prove corruption. Once the disk answers, the endpoint gets the missed events and is
    // not quarantined.
    let world = Harness::new().await;
    let endpoint = register(&world, 1, URL, &["card.*"], 1).await;
    wait_for_posts(&world, URL, 1).await;
    let disk = world.store.backup();
    disk.set_unreadable(Some(table::entity(EntityKind::Webhook, &endpoint.0.to_be_bytes())));
    let world = world.back_to(disk).await;
    world.pay(&card_for(evm(1), 1)).await.unwrap();
    eventually("the card is ready", async || world.event_count("card.ready") == 1).await;
    assert_eq!(world.receivers.count(URL), 1);
    world.store.set_unreadable(None);
    eventually("it is delivered", async || {
        kinds(&world, URL).iter().any(|kind| kind == "card.ready")
    })
    .await;
    assert_eq!(quarantined_endpoints(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_61_account_cannot_take_all_healthy_permits() {
    // Checks: one account has more slow endpoints than there are healthy permits. Only its share is attempted at once,
    // and another account's endpoint gets every event meanwhile.
    let mut settings = fast();
    settings.webhooks.max_concurrent_healthy = 8;
    settings.webhooks.degraded_after_ms = 600_000;
    settings.webhooks.timeout_ms = 600_000;
    let world = Harness::with(settings).await;
    let slow: Vec<String> = (0..12).map(|n| format!("https://slow.example/{n}")).collect();
    for (record, url) in (100..).zip(&slow) {
        register(&world, 1, url, &["card.*"], record).await;
        wait_for_posts(&world, url, 1).await;
    }
    register(&world, 2, OTHER, &["card.*"], 1).await;
    wait_for_posts(&world, OTHER, 1).await;
    slow.iter().for_each(|url| world.receivers.always(url, Reply::Hangs));
    let hanging = || slow.iter().map(|url| world.receivers.count(url) - 1).sum::<usize>();
    world.pay(&card_for(evm(1), 1)).await.unwrap();
    eventually("one hangs", async || hanging() > 0).await;
    for nonce in 1..=20 {
        world.pay(&card_for(evm(2), nonce)).await.unwrap();
    }
    eventually("the other hears of every card", async || {
        kinds(&world, OTHER).iter().filter(|kind| *kind == "card.ready").count() == 20
    })
    .await;
    assert_eq!(hanging(), 1);
}
