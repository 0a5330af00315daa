//! Orders at the payout rails and the bank that a restored store does not know: nothing leaves before they are booked.

use std::sync::Arc;

use purser_actors::engine::{Booking, NotBooked, Restored};
use purser_actors::id::{EffectId, RequestId};
use purser_actors::operator::{Act, Role};
use purser_actors::port::{Clock as _, Entry};
use purser_actors::reconcile::{Source, Standing};

use crate::support::eventually;
use crate::support::lists::{TestLists, dollars, entry};
use crate::support::settings::fast;
use crate::support::world::World;

const QUIET_MS: u64 = 960_000;
const PAID: EffectId = EffectId(5);
const MOVED: EffectId = EffectId(6);

fn put(world: &World, lists: &TestLists, (source, key): (Source, EffectId), standing: Standing) {
    let at = world.clock.now();
    let listed = entry(key, standing, dollars(30_000));
    lists.put(source, Entry { at, ..listed });
}

async fn restored(world: World) -> World {
    let at = world.clock.now();
    let until = at.plus_ms(QUIET_MS);
    world.restored(Restored { since: at, until, at }).await
}

fn keys(world: &World) -> Vec<u128> {
    let mut keys: Vec<u128> = world
        .engine
        .unexplained_orders()
        .iter()
        .map(|order| order.key.0)
        .collect();
    keys.sort_unstable();
    keys
}

async fn listed(world: &World, wanted: &[EffectId]) {
    let wanted: Vec<u128> = wanted.iter().map(|key| key.0).collect();
    eventually("these orders are listed", async || keys(world) == wanted).await;
}

async fn lose(world: &World, key: EffectId) -> Result<Booking, NotBooked> {
    let act = Act {
        by: "ana".into(),
        role: Role::Administrator,
        request: RequestId(7),
    };
    let booking = (Booking::Loss, None);
    world
        .engine
        .book(&key.to_string(), booking, (&act, "seen".into()))
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_list_has_shown_holds_until_it_is_booked_or_refused() {
    // Aim: shown once and then not found by its key, it stays; what the provider refuses in the end holds nothing; nothing is booked
    // while it cannot be looked up; when the last is booked, and not before, the gate opens.
    let lists = Arc::new(TestLists::default());
    let world = World::new().await.reconciling(lists.reconciling()).await;
    put(&world, &lists, (Source::Payouts, PAID), Standing::Done);
    put(&world, &lists, (Source::Bank, MOVED), Standing::UnderWay);
    let world = restored(world).await;
    listed(&world, &[PAID, MOVED]).await;
    world.clock.advance(QUIET_MS + 1);
    lists.take(Source::Payouts, PAID);
    put(&world, &lists, (Source::Bank, MOVED), Standing::Refused);
    listed(&world, &[PAID]).await;
    assert_eq!(lose(&world, PAID).await, Err(NotBooked::Unknown));
    assert!(world.engine.is_held());
    put(&world, &lists, (Source::Payouts, PAID), Standing::Done);
    lose(&world, PAID).await.expect("it is booked");
    eventually("the gate opens", async || !world.engine.is_held()).await;
    assert!(keys(&world).is_empty());
    assert_eq!(lose(&world, PAID).await, Err(NotBooked::Unknown), "it is booked");
    assert_eq!(lose(&world, MOVED).await, Err(NotBooked::NotCarriedOut));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_list_that_hangs_hides_no_other_and_keeps_the_gate_shut() {
    // Aim: the bank takes questions and never answers: what the rails list is named and can be booked, and the gate stays shut until
    // the bank's list was read after nothing more can land.
    let lists = Arc::new(TestLists::default());
    let mut settings = fast();
    settings.payouts.timeout_ms = 20;
    let world = World::with(settings).await.reconciling(lists.reconciling()).await;
    put(&world, &lists, (Source::Payouts, PAID), Standing::Done);
    lists.hang(Some(Source::Bank));
    let world = restored(world).await;
    listed(&world, &[PAID]).await;
    world.clock.advance(QUIET_MS + 1);
    lose(&world, PAID).await.expect("it is booked");
    listed(&world, &[]).await;
    let asked = lists.unanswered();
    eventually("the bank is asked again", async || lists.unanswered() > asked + 1).await;
    assert!(world.engine.is_held());
    lists.hang(None);
    eventually("the gate opens", async || !world.engine.is_held()).await;
}
