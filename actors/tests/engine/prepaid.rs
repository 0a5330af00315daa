//! Prepaid cards at their issuer over lost responses, panics and crashes.

use std::sync::Arc;

use purser_actors::id::{CardId, JobId};
use purser_actors::kernel::Entity as _;
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::CardAction;
use purser_actors::reconciliation::{EntryStatus, ReconciliationSource};

use crate::reconciliation::pay_and_list;
use crate::reconciliation_lists::{assert_each_discrepancy, assert_no_discrepancies};
use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::lists::{FakeLists, dollars, entry};
use crate::support::ports::IssuerBehavior;

async fn card_of(world: &Harness) -> CardId {
    let card = bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    world.wait_until_idle().await;
    card
}

async fn wait_for_status(world: &Harness, card: CardId, status: &'static str) {
    eventually(status, async || {
        world.engine.card(&card).await.unwrap().unwrap().status() == status
    })
    .await;
}

async fn balance(world: &Harness) -> Usdc {
    let account = world.engine.account(&evm(1)).await.unwrap();
    account.map_or(Usdc::ZERO, |account| account.balance)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn prepaid_card_action_and_remainder_are_applied_once() {
    // Checks: with a busy or panicking issuer and a crash after each request, every action is executed once. The
    // remainder is credited once, and the ledger agrees.
    let mut world = Harness::new().await;
    let card = card_of(&world).await;
    for (action, status, behaviors) in [
        (
            CardAction::Pause,
            "paused",
            &[IssuerBehavior::Busy, IssuerBehavior::Panics][..],
        ),
        (CardAction::Resume, "ready", &[IssuerBehavior::Panics]),
        (
            CardAction::Close,
            "closed",
            &[IssuerBehavior::Busy, IssuerBehavior::Busy, IssuerBehavior::Panics],
        ),
    ] {
        world.issuer.set_behaviors(behaviors);
        assert!(
            world
                .engine
                .request_prepaid_card_action(card, action, None)
                .await
                .unwrap()
        );
        world = world.crash().await;
        wait_for_status(&world, card, status).await;
        world.wait_until_idle().await;
    }
    assert_eq!(balance(&world).await, Usdc::from_atomic(5_000_000));
    let counts = ["paused", "resumed", "closed"].map(|what| world.event_count(&format!("card.{what}")));
    assert_eq!(counts, [1, 1, 1]);
    assert_eq!(world.event_count("balance.credited"), 1);
    assert!(
        !world
            .ledger_balances()
            .contains_key(&LedgerAccount::Provider(LedgerProvider::CardIssuer))
    );
    let closed = world.engine.card(&card).await.unwrap().unwrap();
    assert_eq!(
        (closed.lifecycle.released, closed.lifecycle.pending_action),
        (Cents::new(5_00), None)
    );
    assert!(
        world
            .engine
            .request_prepaid_card_action(card, CardAction::Resume, None)
            .await
            .is_err()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn prepaid_card_transactions_are_recorded_over_a_crash() {
    // Checks: without any request, an accepted and a declined transaction are each recorded once, also across a crash.
    let world = Harness::new().await;
    let card = card_of(&world).await;
    world.issuer.charge(card, 1_20);
    eventually("the charge is heard", async || world.event_count("card.charged") == 1).await;
    world.issuer.charge(card, 9_00);
    let world = world.crash().await;
    eventually("so is the refusal", async || {
        world.event_count("card.charge_declined") == 1
    })
    .await;
    let seen = world.engine.card(&card).await.unwrap().unwrap();
    assert_eq!(
        (seen.transactions().len(), seen.lifecycle.activity.available),
        (2, Cents::new(3_80))
    );
    assert_eq!(world.event_count("card.charged"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn late_remainder_is_credited_when_the_issuer_reports_it() {
    // Checks: it is closed without a remainder; then totals of 2.00 and 3.50 are reported. Each time the increase is
    // credited, over a crash.
    let world = Harness::new().await;
    let card = card_of(&world).await;
    world.issuer.charge(card, 5_00);
    eventually("the charge is heard", async || world.event_count("card.charged") == 1).await;
    assert!(
        world
            .engine
            .request_prepaid_card_action(card, CardAction::Close, None)
            .await
            .unwrap()
    );
    wait_for_status(&world, card, "closed").await;
    assert_eq!(balance(&world).await, Usdc::ZERO);
    world.issuer.set_released(card, 2_00);
    eventually("it is credited", async || {
        balance(&world).await == Usdc::from_atomic(2_000_000)
    })
    .await;
    let world = world.crash().await;
    world.issuer.set_released(card, 3_50);
    eventually("so is the difference", async || {
        balance(&world).await == Usdc::from_atomic(3_500_000)
    })
    .await;
    assert_eq!(world.event_count("card.remainder_released"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wrong_prepaid_remainder_is_a_discrepancy() {
    // Checks: a credited remainder that is missing at the issuer, doubled, or of another amount.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    let (paid, _) = pay_and_list(&world, &lists, &card_for(evm(1), 1)).await;
    let card = bought_card(&paid);
    lists.add_order(card.0, EntryStatus::Completed, 500);
    assert!(
        world
            .engine
            .request_prepaid_card_action(card, CardAction::Close, None)
            .await
            .unwrap()
    );
    world.wait_until_idle().await;
    let given = entry(JobId(card.0), EntryStatus::Completed, dollars(5_00));
    lists.put(ReconciliationSource::PrepaidRemainders, given.clone());
    let world = assert_no_discrepancies(world, &lists).await;
    let double = JobId(99).to_string();
    assert_each_discrepancy(&world, &lists, ReconciliationSource::PrepaidRemainders, given, &double).await;
}
