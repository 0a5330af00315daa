//! The books held against others' lists for as long as the engine lives.

use std::sync::Arc;

use purser_actors::engine::{PaymentRequest, PaymentResult, Reconciliation};
use purser_actors::id::{CardId, Wallet};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::money::Usdc;
use purser_actors::port::{ChainMovement, Timestamp};
use purser_actors::reconciliation::{DiscrepancyKind, EntryStatus};

use crate::support::eventually;
use crate::support::harness::{Harness, bought, card_for, evm};
use crate::support::lists::{FakeLists, ReadFault};

/// Pays, and puts what was paid on the chain's list. Without a time of grace nobody may look in between.
pub(crate) async fn pays(
    world: &Harness,
    lists: &FakeLists,
    request: &PaymentRequest,
) -> (PaymentResult, ChainMovement) {
    lists.trouble(Some(ReadFault::Silent));
    let paid = world.pay_until_told(request).await;
    world.quiet().await;
    let payment = world.engine.payment(&paid.payment).await.unwrap().unwrap();
    let moved = ChainMovement {
        transaction: payment.transaction().unwrap().to_owned(),
        index: 0,
        incoming: true,
        other: payment.payer(),
        amount: payment.price(),
        at: Timestamp(0),
        mark: request.authorization.fingerprint(),
    };
    lists.show(moved.clone());
    (paid, moved)
}

/// A card that is bought, with lists that know of it.
async fn card(world: &Harness, lists: &FakeLists, nonce: u8) -> (CardId, ChainMovement) {
    let (paid, moved) = pays(world, lists, &card_for(evm(1), nonce)).await;
    let card = bought(&paid);
    lists.enter(card.0, EntryStatus::Completed, 500);
    lists.trouble(None);
    (card, moved)
}

fn transfer(transaction: &str, incoming: bool) -> ChainMovement {
    ChainMovement {
        transaction: transaction.to_owned(),
        index: 0,
        incoming,
        other: evm(7),
        amount: Usdc::from_atomic(1),
        at: Timestamp(0),
        mark: [99; 32],
    }
}

pub(crate) async fn kinds(world: &Harness) -> Vec<&'static str> {
    let open = world.engine.differences(None, 100).await.unwrap();
    let mut kinds: Vec<_> = open.iter().map(|(_, open)| open.found.kind.name()).collect();
    kinds.sort_unstable();
    kinds
}

pub(crate) async fn finds(world: &Harness, expected: &[&str]) {
    eventually(&format!("{expected:?} is open"), async || {
        kinds(world).await == expected
    })
    .await;
}

async fn stands(world: &Harness) -> Reconciliation {
    world.engine.reconciliation().await.unwrap()
}

/// A walk begins after this and reads everything.
pub(crate) async fn walked(world: &Harness) {
    let before = world.engine.reconciliation().await.unwrap().walk.completed_at;
    for _ in 0..2 {
        let last = stands(world).await.walk.completed_at;
        eventually("a whole walk", async || stands(world).await.walk.completed_at > last).await;
    }
    assert!(stands(world).await.walk.completed_at > before);
}

async fn world(lists: &Arc<FakeLists>) -> Harness {
    Harness::new().await.reconciling(lists.reconciling()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_34_what_books_and_lists_differ_in_is_told_once_and_once_when_it_is_gone() {
    // Aim: a missing and a surplus deposit, a transfer out that nobody ordered, a card that we do not know, one that the
    // issuer lacks, one with another amount, one in another state: each under its name, once, over a power cut, until it
    // is mended; nobody but the house is told.
    let lists = Arc::new(FakeLists::default());
    let world = world(&lists).await;
    let (lacking, _) = card(&world, &lists, 1).await;
    let (dearer, missing) = card(&world, &lists, 2).await;
    let (refused, _) = card(&world, &lists, 3).await;
    walked(&world).await;
    assert_eq!(kinds(&world).await, [""; 0]);
    assert_eq!(world.announced("difference.opened"), 0);

    lists.strike(lacking.0);
    lists.enter(dearer.0, EntryStatus::Completed, 600);
    lists.enter(refused.0, EntryStatus::Declined, 500);
    lists.enter(4_711, EntryStatus::Completed, 500);
    lists.hide(&missing.transaction);
    lists.show(transfer("surplus", true));
    lists.show(transfer("unexplained", false));
    let all = [
        "amount_differs",
        "chain_deposit_missing",
        "chain_deposit_without_credit",
        "provider_has_unknown",
        "provider_lacks",
        "state_differs",
        "transfer_unexplained",
    ];
    finds(&world, &all).await;
    let world = world.crash().await;
    walked(&world).await;
    assert_eq!(kinds(&world).await, all);
    assert_eq!(world.announced("difference.opened"), all.len());
    let counted = stands(&world).await.open;
    assert_eq!(counted.iter().sum::<u64>(), 7);
    assert_eq!(counted[DiscrepancyKind::MissingAtProvider as usize], 1);
    let open = world.engine.differences(None, 100).await.unwrap();
    let lacks = open
        .iter()
        .find(|(_, open)| open.found.kind == DiscrepancyKind::MissingAtProvider);
    assert_eq!(lacks.unwrap().1.found.subject, Some(lacking.to_string()));
    let told = world.history();
    let told = told.iter().filter(|record| {
        record
            .announcement
            .as_ref()
            .is_some_and(|a| a.kind.starts_with("difference"))
    });
    assert!(told.clone().count() > 0 && told.clone().all(|record| record.owner == Wallet::SYSTEM));

    for (card, cents) in [(lacking, 500), (dearer, 500), (refused, 500)] {
        lists.enter(card.0, EntryStatus::Completed, cents);
    }
    lists.strike(4_711);
    lists.show(missing);
    lists.hide("surplus");
    lists.hide("unexplained");
    finds(&world, &[]).await;
    walked(&world).await;
    assert_eq!(world.announced("difference.opened"), all.len());
    assert_eq!(world.announced("difference.resolved"), all.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_walk_that_is_asked_for_begins_without_the_rest() {
    // Aim: with an hour between two walks, one that is asked for begins at once and finds what came since; the next one too, which
    // says that it could not read every list.
    let lists = Arc::new(FakeLists::default());
    let mut reconciling = lists.reconciling();
    reconciling.pace.rest_ms = 3_600_000;
    let world = Harness::new().await.reconciling(reconciling).await;
    let (card, _) = card(&world, &lists, 1).await;
    let ended = async |number: u64| {
        eventually(&format!("walk {number} ends"), async || {
            stands(&world).await.ended.is_some_and(|ended| ended.number >= number)
        })
        .await;
        stands(&world).await.ended.unwrap()
    };
    let first = world.engine.walk_anew().unwrap();
    assert!(ended(first).await.complete);
    assert_eq!(kinds(&world).await, [""; 0]);
    lists.strike(card.0);
    let second = world.engine.walk_anew().unwrap();
    assert!(second > first);
    assert!(ended(second).await.compared > 0);
    assert_eq!(kinds(&world).await, ["provider_lacks"]);
    lists.trouble(Some(ReadFault::Silent));
    let third = world.engine.walk_anew().unwrap();
    assert!(!ended(third).await.complete, "nobody answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_difference_that_becomes_another_says_so_and_one_that_comes_back_is_told_again() {
    // Aim: lacking, then with another amount, then gone, then lacking again.
    let lists = Arc::new(FakeLists::default());
    let world = world(&lists).await;
    let (card, _) = card(&world, &lists, 1).await;
    lists.strike(card.0);
    finds(&world, &["provider_lacks"]).await;
    lists.enter(card.0, EntryStatus::Completed, 501);
    finds(&world, &["amount_differs"]).await;
    lists.enter(card.0, EntryStatus::Completed, 500);
    finds(&world, &[]).await;
    lists.strike(card.0);
    finds(&world, &["provider_lacks"]).await;
    let told = ["opened", "changed", "resolved"].map(|what| world.announced(&format!("difference.{what}")));
    assert_eq!(told, [2, 1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_list_that_cannot_be_read_proves_nothing() {
    // Aim: while nobody answers, nothing opens, nothing that is open is taken for mended, and no walk counts as whole.
    let lists = Arc::new(FakeLists::default());
    let world = world(&lists).await;
    let (card, _) = card(&world, &lists, 1).await;
    lists.strike(card.0);
    finds(&world, &["provider_lacks"]).await;
    lists.trouble(Some(ReadFault::Silent));
    let stopped = async || {
        let walk = stands(&world).await.walk;
        walk.is_complete() && walk.skipped
    };
    eventually("a walk without lists", stopped).await;
    let whole = stands(&world).await.walk.completed_at;
    lists.enter(card.0, EntryStatus::Completed, 500);
    let ended = async || stands(&world).await.ended.map(|walk| walk.number);
    let before = ended().await;
    let another = async || stopped().await && ended().await != before;
    eventually("another one", another).await;
    assert_eq!(stands(&world).await.walk.completed_at, whole);
    assert_eq!(kinds(&world).await, ["provider_lacks"]);
    lists.trouble(None);
    finds(&world, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_walker_that_dies_is_replaced_and_goes_on() {
    // Aim: its supervisor puts another in its place, visibly, and nothing that differs is lost.
    let lists = Arc::new(FakeLists::default());
    let world = world(&lists).await;
    let (card, _) = card(&world, &lists, 1).await;
    lists.trouble(Some(ReadFault::Deadly));
    eventually("it dies", async || stands(&world).await.restarts > 0).await;
    lists.strike(card.0);
    lists.trouble(None);
    finds(&world, &["provider_lacks"]).await;
    assert!(world.engine.is_healthy());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_difference_that_is_damaged_stands_in_the_way_of_no_other() {
    // Aim: rubbish where an open difference was: the walker does not die of it, walks to the end without calling that whole,
    // finds another difference and that it is gone, and the damaged one is counted.
    let lists = Arc::new(FakeLists::default());
    let world = world(&lists).await;
    let (damaged, _) = card(&world, &lists, 1).await;
    let (other, _) = card(&world, &lists, 2).await;
    walked(&world).await;
    lists.strike(damaged.0);
    finds(&world, &["provider_lacks"]).await;
    let ((_, id), _) = world.engine.differences(None, 1).await.unwrap().remove(0);
    let row = table::entity(EntityKind::Discrepancy, &id.to_be_bytes());
    world.store.scribble(row, b"rubbish");
    let world = world.crash().await;
    eventually("a walk to the end", async || {
        let walk = stands(&world).await.walk;
        walk.is_complete() && walk.skipped
    })
    .await;
    lists.strike(other.0);
    finds(&world, &["provider_lacks"]).await;
    let open = world.engine.differences(None, 1).await.unwrap().remove(0).1;
    assert_eq!(open.found.subject, Some(other.to_string()));
    lists.enter(other.0, EntryStatus::Completed, 500);
    finds(&world, &[]).await;
    assert_eq!(stands(&world).await.restarts, 0);
    let figures = world.engine.stats().await.unwrap();
    let mut kinds = figures.kinds.iter();
    let differences = kinds.find(|kind| kind.kind == EntityKind::Discrepancy.name()).unwrap();
    assert_eq!(differences.quarantined, 1);
}
