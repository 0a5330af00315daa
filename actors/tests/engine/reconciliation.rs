//! Continuous reconciliation of the ledger with the lists of chains and providers.

use std::sync::Arc;

use purser_actors::engine::{PaymentRequest, PaymentResult, ReconciliationStatus};
use purser_actors::id::{CardId, Wallet};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::money::Usdc;
use purser_actors::port::{ChainMovement, Timestamp};
use purser_actors::reconciliation::{DiscrepancyKind, EntryStatus};

use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::lists::{FakeLists, ReadFault};

/// Pays and puts the payment on the chain's list. Without a grace period, no run may happen in between.
pub(crate) async fn pay_and_list(
    world: &Harness,
    lists: &FakeLists,
    request: &PaymentRequest,
) -> (PaymentResult, ChainMovement) {
    lists.set_fault(Some(ReadFault::NoResponse));
    let paid = world.pay_until_known(request).await;
    world.wait_until_idle().await;
    let payment = world.engine.payment(&paid.payment).await.unwrap().unwrap();
    let moved = ChainMovement {
        transaction: payment.transaction().unwrap().to_owned(),
        index: 0,
        incoming: true,
        counterparty: payment.payer(),
        amount: payment.price(),
        at: Timestamp(0),
        fingerprint: request.authorization.fingerprint(),
    };
    lists.show(moved.clone());
    (paid, moved)
}

/// A bought card, with lists that contain it.
async fn card(world: &Harness, lists: &FakeLists, nonce: u8) -> (CardId, ChainMovement) {
    let (paid, moved) = pay_and_list(world, lists, &card_for(evm(1), nonce)).await;
    let card = bought_card(&paid);
    lists.add_order(card.0, EntryStatus::Completed, 500);
    lists.set_fault(None);
    (card, moved)
}

fn transfer(transaction: &str, incoming: bool) -> ChainMovement {
    ChainMovement {
        transaction: transaction.to_owned(),
        index: 0,
        incoming,
        counterparty: evm(7),
        amount: Usdc::from_atomic(1),
        at: Timestamp(0),
        fingerprint: [99; 32],
    }
}

pub(crate) async fn kinds(world: &Harness) -> Vec<&'static str> {
    let open = world.engine.discrepancies(None, 100).await.unwrap();
    let mut kinds: Vec<_> = open.iter().map(|(_, open)| open.details.kind.name()).collect();
    kinds.sort_unstable();
    kinds
}

pub(crate) async fn wait_for_discrepancies(world: &Harness, expected: &[&str]) {
    eventually(&format!("{expected:?} is open"), async || {
        kinds(world).await == expected
    })
    .await;
}

async fn status(world: &Harness) -> ReconciliationStatus {
    world.engine.reconciliation().await.unwrap()
}

/// Waits for a complete run that starts after this call.
pub(crate) async fn wait_for_full_run(world: &Harness) {
    let before = world.engine.reconciliation().await.unwrap().run.completed_at;
    for _ in 0..2 {
        let last = status(world).await.run.completed_at;
        eventually("a whole walk", async || status(world).await.run.completed_at > last).await;
    }
    assert!(status(world).await.run.completed_at > before);
}

async fn harness(lists: &Arc<FakeLists>) -> Harness {
    Harness::new().await.reconciling(lists.reconciling()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_34_discrepancy_is_announced_when_opened_and_when_resolved() {
    // Checks: a missing and a surplus deposit, an unknown outgoing transfer, an unknown card, a card missing at the
    // issuer, a wrong amount and a wrong status are each one discrepancy, over a power cut, until resolved. Only
    // operators see them.
    let lists = Arc::new(FakeLists::default());
    let world = harness(&lists).await;
    let (lacking, _) = card(&world, &lists, 1).await;
    let (dearer, missing) = card(&world, &lists, 2).await;
    let (refused, _) = card(&world, &lists, 3).await;
    wait_for_full_run(&world).await;
    assert_eq!(kinds(&world).await, [""; 0]);
    assert_eq!(world.event_count("discrepancy.opened"), 0);

    lists.remove_order(lacking.0);
    lists.add_order(dearer.0, EntryStatus::Completed, 600);
    lists.add_order(refused.0, EntryStatus::Declined, 500);
    lists.add_order(4_711, EntryStatus::Completed, 500);
    lists.hide(&missing.transaction);
    lists.show(transfer("surplus", true));
    lists.show(transfer("unexplained", false));
    let all = [
        "amount_mismatch",
        "missing_at_provider",
        "missing_deposit",
        "status_mismatch",
        "unexpected_at_provider",
        "unmatched_deposit",
        "unmatched_transfer",
    ];
    wait_for_discrepancies(&world, &all).await;
    let world = world.crash().await;
    wait_for_full_run(&world).await;
    assert_eq!(kinds(&world).await, all);
    assert_eq!(world.event_count("discrepancy.opened"), all.len());
    let counted = status(&world).await.open;
    assert_eq!(counted.iter().sum::<u64>(), 7);
    assert_eq!(counted[DiscrepancyKind::MissingAtProvider as usize], 1);
    let open = world.engine.discrepancies(None, 100).await.unwrap();
    let lacks = open
        .iter()
        .find(|(_, open)| open.details.kind == DiscrepancyKind::MissingAtProvider);
    assert_eq!(lacks.unwrap().1.details.subject, Some(lacking.to_string()));
    let records = world.history();
    let records = records.iter().filter(|record| {
        record
            .announcement
            .as_ref()
            .is_some_and(|a| a.kind.starts_with("discrepancy"))
    });
    assert!(records.clone().count() > 0 && records.clone().all(|record| record.owner == Wallet::SYSTEM));

    for (card, cents) in [(lacking, 500), (dearer, 500), (refused, 500)] {
        lists.add_order(card.0, EntryStatus::Completed, cents);
    }
    lists.remove_order(4_711);
    lists.show(missing);
    lists.hide("surplus");
    lists.hide("unexplained");
    wait_for_discrepancies(&world, &[]).await;
    wait_for_full_run(&world).await;
    assert_eq!(world.event_count("discrepancy.opened"), all.len());
    assert_eq!(world.event_count("discrepancy.resolved"), all.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requested_run_starts_at_once() {
    // Checks: with an hour between runs, a requested run starts at once and finds later entries. So does the next one,
    // which reports that it could not read every list.
    let lists = Arc::new(FakeLists::default());
    let mut reconciling = lists.reconciling();
    reconciling.settings.rest_ms = 3_600_000;
    let world = Harness::new().await.reconciling(reconciling).await;
    let (card, _) = card(&world, &lists, 1).await;
    let ended = async |number: u64| {
        eventually(&format!("walk {number} ends"), async || {
            status(&world)
                .await
                .last_run
                .is_some_and(|ended| ended.number >= number)
        })
        .await;
        status(&world).await.last_run.unwrap()
    };
    let first = world.engine.request_reconciliation().unwrap();
    assert!(ended(first).await.complete);
    assert_eq!(kinds(&world).await, [""; 0]);
    lists.remove_order(card.0);
    let second = world.engine.request_reconciliation().unwrap();
    assert!(second > first);
    assert!(ended(second).await.compared > 0);
    assert_eq!(kinds(&world).await, ["missing_at_provider"]);
    lists.set_fault(Some(ReadFault::NoResponse));
    let third = world.engine.request_reconciliation().unwrap();
    assert!(!ended(third).await.complete, "no source answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changed_or_reopened_discrepancy_is_announced_again() {
    // Checks: missing, then with another amount, then resolved, then missing again.
    let lists = Arc::new(FakeLists::default());
    let world = harness(&lists).await;
    let (card, _) = card(&world, &lists, 1).await;
    lists.remove_order(card.0);
    wait_for_discrepancies(&world, &["missing_at_provider"]).await;
    lists.add_order(card.0, EntryStatus::Completed, 501);
    wait_for_discrepancies(&world, &["amount_mismatch"]).await;
    lists.add_order(card.0, EntryStatus::Completed, 500);
    wait_for_discrepancies(&world, &[]).await;
    lists.remove_order(card.0);
    wait_for_discrepancies(&world, &["missing_at_provider"]).await;
    let counts = ["opened", "updated", "resolved"].map(|what| world.event_count(&format!("discrepancy.{what}")));
    assert_eq!(counts, [2, 1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unreadable_list_proves_nothing() {
    // Checks: while a source does not answer, no discrepancy opens or resolves, and no run counts as complete.
    let lists = Arc::new(FakeLists::default());
    let world = harness(&lists).await;
    let (card, _) = card(&world, &lists, 1).await;
    lists.remove_order(card.0);
    wait_for_discrepancies(&world, &["missing_at_provider"]).await;
    lists.set_fault(Some(ReadFault::NoResponse));
    let stopped = async || {
        let walk = status(&world).await.run;
        walk.is_complete() && walk.skipped
    };
    eventually("a walk without lists", stopped).await;
    let whole = status(&world).await.run.completed_at;
    lists.add_order(card.0, EntryStatus::Completed, 500);
    let ended = async || status(&world).await.last_run.map(|walk| walk.number);
    let before = ended().await;
    let another = async || stopped().await && ended().await != before;
    eventually("another one", another).await;
    assert_eq!(status(&world).await.run.completed_at, whole);
    assert_eq!(kinds(&world).await, ["missing_at_provider"]);
    lists.set_fault(None);
    wait_for_discrepancies(&world, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn crashed_reconciliation_worker_is_restarted_and_continues() {
    // Checks: its supervisor starts a new one, the restart is counted, and no discrepancy is lost.
    let lists = Arc::new(FakeLists::default());
    let world = harness(&lists).await;
    let (card, _) = card(&world, &lists, 1).await;
    lists.set_fault(Some(ReadFault::Panic));
    eventually("it dies", async || status(&world).await.restarts > 0).await;
    lists.remove_order(card.0);
    lists.set_fault(None);
    wait_for_discrepancies(&world, &["missing_at_provider"]).await;
    assert!(world.engine.is_healthy());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn corrupt_discrepancy_blocks_no_other() {
    // Checks: an open discrepancy is corrupt. The worker survives, finishes the run without counting it as complete,
    // opens and resolves another discrepancy, and counts the corrupt one.
    let lists = Arc::new(FakeLists::default());
    let world = harness(&lists).await;
    let (damaged, _) = card(&world, &lists, 1).await;
    let (other, _) = card(&world, &lists, 2).await;
    wait_for_full_run(&world).await;
    lists.remove_order(damaged.0);
    wait_for_discrepancies(&world, &["missing_at_provider"]).await;
    let ((_, id), _) = world.engine.discrepancies(None, 1).await.unwrap().remove(0);
    let row = table::entity(EntityKind::Discrepancy, &id.to_be_bytes());
    world.store.overwrite(row, b"rubbish");
    let world = world.crash().await;
    eventually("a walk to the end", async || {
        let walk = status(&world).await.run;
        walk.is_complete() && walk.skipped
    })
    .await;
    lists.remove_order(other.0);
    wait_for_discrepancies(&world, &["missing_at_provider"]).await;
    let open = world.engine.discrepancies(None, 1).await.unwrap().remove(0).1;
    assert_eq!(open.details.subject, Some(other.to_string()));
    lists.add_order(other.0, EntryStatus::Completed, 500);
    wait_for_discrepancies(&world, &[]).await;
    assert_eq!(status(&world).await.restarts, 0);
    let figures = world.engine.stats().await.unwrap();
    let mut kinds = figures.kinds.iter();
    let discrepancies = kinds.find(|kind| kind.kind == EntityKind::Discrepancy.name()).unwrap();
    assert_eq!(discrepancies.quarantined, 1);
}
