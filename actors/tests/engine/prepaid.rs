//! What goes on with prepaid cards at their issuer, over lost answers, panics and deaths.

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
async fn a_prepaid_cards_wish_is_carried_out_once_and_its_rest_is_credited_once() {
    // Aim: busy and panicking issuers, and a death behind each wish: each is carried out once; what was left is on the
    // balance once, and the books agree.
    let mut world = Harness::new().await;
    let card = card_of(&world).await;
    for (wish, status, moods) in [
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
        world.issuer.set_behaviors(moods);
        assert!(
            world
                .engine
                .request_prepaid_card_action(card, wish, None)
                .await
                .unwrap()
        );
        world = world.crash().await;
        wait_for_status(&world, card, status).await;
        world.wait_until_idle().await;
    }
    assert_eq!(balance(&world).await, Usdc::from_atomic(5_000_000));
    let told = ["paused", "resumed", "closed"].map(|what| world.event_count(&format!("card.{what}")));
    assert_eq!(told, [1, 1, 1]);
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
async fn charges_of_a_prepaid_card_are_heard_over_a_death() {
    // Aim: nobody asks: a charge that is taken, and one that is refused while nobody listens, are known once each.
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
async fn what_is_given_back_long_after_the_end_is_credited_when_the_issuer_says_so() {
    // Aim: closed with nothing given back, then 2.00 and 3.50 in total: the difference each time, over a death.
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
async fn what_was_given_back_of_a_prepaid_card_otherwise_is_a_difference() {
    // Aim: what its issuer gave back of a closed card, and we credited: lost there, twice, of another amount.
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
