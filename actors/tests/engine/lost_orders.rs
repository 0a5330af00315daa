//! Orders at payout rails and bank that a restored store does not have: transfers stay paused until they are
//! attributed.

use std::sync::Arc;

use purser_actors::engine::{Attribution, AttributionError, RestoreWindow};
use purser_actors::id::{JobId, RequestId};
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::{Clock as _, ProviderEntry};
use purser_actors::reconciliation::{EntryStatus, ReconciliationSource};

use crate::support::eventually;
use crate::support::harness::Harness;
use crate::support::lists::{FakeLists, dollars, entry};
use crate::support::settings::fast;

const QUIET_MS: u64 = 960_000;
const PAID: JobId = JobId(5);
const MOVED: JobId = JobId(6);

fn put(world: &Harness, lists: &FakeLists, (source, key): (ReconciliationSource, JobId), status: EntryStatus) {
    let at = world.clock.now();
    let listed = entry(key, status, dollars(30_000));
    lists.put(source, ProviderEntry { at, ..listed });
}

async fn restore(world: Harness) -> Harness {
    let at = world.clock.now();
    let until = at.plus_ms(QUIET_MS);
    world.restored(RestoreWindow { since: at, until, at }).await
}

fn keys(world: &Harness) -> Vec<u128> {
    let mut keys: Vec<u128> = world.engine.lost_orders().iter().map(|order| order.key.0).collect();
    keys.sort_unstable();
    keys
}

async fn wait_for_listed(world: &Harness, wanted: &[JobId]) {
    let wanted: Vec<u128> = wanted.iter().map(|key| key.0).collect();
    eventually("these orders are listed", async || keys(world) == wanted).await;
}

async fn attribute_loss(world: &Harness, key: JobId) -> Result<Attribution, AttributionError> {
    let act = OperatorAction {
        operator: "ana".into(),
        role: Role::Administrator,
        request_id: RequestId(7),
    };
    let booking = (Attribution::Loss, None);
    world
        .engine
        .attribute_transfer(&key.to_string(), booking, (&act, "seen".into()))
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn listed_lost_order_pauses_transfers_until_decided() {
    // Checks: once listed, an order stays even if it is not found by its key. An order that the provider declines in
    // the end pauses nothing. Nothing is attributed while it can't be queried. The gate opens only when the last one is
    // attributed.
    let lists = Arc::new(FakeLists::default());
    let world = Harness::new().await.reconciling(lists.reconciling()).await;
    put(
        &world,
        &lists,
        (ReconciliationSource::Payouts, PAID),
        EntryStatus::Completed,
    );
    put(
        &world,
        &lists,
        (ReconciliationSource::BankTransfers, MOVED),
        EntryStatus::Pending,
    );
    let world = restore(world).await;
    wait_for_listed(&world, &[PAID, MOVED]).await;
    world.clock.advance(QUIET_MS + 1);
    lists.take(ReconciliationSource::Payouts, PAID);
    put(
        &world,
        &lists,
        (ReconciliationSource::BankTransfers, MOVED),
        EntryStatus::Declined,
    );
    wait_for_listed(&world, &[PAID]).await;
    assert_eq!(attribute_loss(&world, PAID).await, Err(AttributionError::NotFound));
    assert!(world.engine.are_withdrawals_paused());
    put(
        &world,
        &lists,
        (ReconciliationSource::Payouts, PAID),
        EntryStatus::Completed,
    );
    attribute_loss(&world, PAID).await.expect("it is booked");
    eventually("the gate opens", async || !world.engine.are_withdrawals_paused()).await;
    assert!(keys(&world).is_empty());
    assert_eq!(
        attribute_loss(&world, PAID).await,
        Err(AttributionError::NotFound),
        "it is booked"
    );
    assert_eq!(attribute_loss(&world, MOVED).await, Err(AttributionError::NotExecuted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hanging_list_hides_no_other_and_keeps_the_gate_closed() {
    // Checks: the bank accepts queries and never answers. The rails' orders are listed and can be attributed, and the
    // gate stays closed until the bank's list was read after the window.
    let lists = Arc::new(FakeLists::default());
    let mut settings = fast();
    settings.payouts.timeout_ms = 20;
    let world = Harness::with(settings).await.reconciling(lists.reconciling()).await;
    put(
        &world,
        &lists,
        (ReconciliationSource::Payouts, PAID),
        EntryStatus::Completed,
    );
    lists.set_hanging(Some(ReconciliationSource::BankTransfers));
    let world = restore(world).await;
    wait_for_listed(&world, &[PAID]).await;
    world.clock.advance(QUIET_MS + 1);
    attribute_loss(&world, PAID).await.expect("it is booked");
    wait_for_listed(&world, &[]).await;
    let asked = lists.unanswered();
    eventually("the bank is asked again", async || lists.unanswered() > asked + 1).await;
    assert!(world.engine.are_withdrawals_paused());
    lists.set_hanging(None);
    eventually("the gate opens", async || !world.engine.are_withdrawals_paused()).await;
}
