//! Withdrawals from card balances after a restore, where the issuer has later information.

use purser_actors::engine::OperationError;
use purser_actors::entity::card_withdrawal::{self, Rejection as No};
use purser_actors::id::WithdrawalId;

use crate::reloadable_cards::{ACCOUNT, act, harness_with_balance, withdraw, withdrawal};
use crate::support::harness::Harness;
use crate::support::identity::CallBehavior;

/// States of the first `n` withdrawals.
async fn states(world: &Harness, n: u128) -> Vec<&'static str> {
    use purser_actors::kernel::Entity as _;
    let mut states = Vec::new();
    for n in 1..=n {
        states.push(withdrawal(world, n).await.status());
    }
    states
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn withdrawal_decided_after_a_backup_is_not_paid_again() {
    // Checks: after the backup one was paid, one rejected, one paid before the backup knew its hold, one untouched.
    // Only the untouched one can be claimed, nothing is released twice, and the issuer's report decides the others.
    let world = harness_with_balance(1_000).await;
    for n in [1, 2, 3] {
        withdraw(&world, n, 100).await;
    }
    world.wait_until_idle().await;
    world.reloadable_cards.set_behaviors(&[CallBehavior::Busy; 5]);
    withdraw(&world, 4, 100).await;
    let backup = world.store.backup();
    world.wait_until_idle().await;
    for n in [1, 4] {
        let claimed = world.engine.claim_card_withdrawal(WithdrawalId(n), act("ana"), 60_000);
        let lease = claimed.await.expect("it is queued").number;
        let paid = world
            .engine
            .fulfil_card_withdrawal(WithdrawalId(n), act("ana"), lease, format!("0x{n}"));
        paid.await.expect("it is paid");
    }
    let rejected = world
        .engine
        .reject_card_withdrawal(WithdrawalId(2), act("ana"), None, "no".into());
    rejected.await.expect("it is rejected");
    world.wait_until_idle().await;
    assert_eq!(world.reloadable_cards.left(&ACCOUNT), 700);

    let world = world.back_to(backup).await;
    assert_eq!(states(&world, 3).await, ["queued"; 3]);
    world.wait_until_idle().await;
    assert_eq!(
        withdrawal(&world, 4).await.status,
        card_withdrawal::Status::ClosedAtIssuer { paid: true }
    );
    world.reloadable_cards.set_unanswered_hold_queries(1);
    let claim = async |n| {
        world
            .engine
            .claim_card_withdrawal(WithdrawalId(n), act("ben"), 60_000)
            .await
    };
    assert!(
        matches!(claim(1).await, Err(OperationError::Unavailable)),
        "the issuer cannot say"
    );
    let paid = claim(1).await;
    assert!(
        matches!(paid, Err(OperationError::Rejected(No::ClosedAtIssuer { paid: true }))),
        "{paid:?}"
    );
    let put_back = world
        .engine
        .reject_card_withdrawal(WithdrawalId(2), act("ben"), None, "no".into())
        .await;
    assert!(
        matches!(
            put_back,
            Err(OperationError::Rejected(No::ClosedAtIssuer { paid: false }))
        ),
        "{put_back:?}"
    );
    claim(3).await.expect("it is undecided");
    world.wait_until_idle().await;
    assert_eq!(states(&world, 4).await, ["complete", "rejected", "claimed", "complete"]);
    let again = claim(1).await;
    assert!(
        matches!(again, Err(OperationError::Rejected(No::ClosedAtIssuer { paid: true }))),
        "{again:?}"
    );
    assert_eq!(world.reloadable_cards.left(&ACCOUNT), 700, "nothing is released twice");
    let (queue, _) = world.engine.card_withdrawal_queue(None, 10).await.unwrap();
    assert_eq!(queue.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn withdrawal_without_a_hold_is_not_paid() {
    // Checks: a withdrawal whose hold the issuer does not know can't be claimed; an operator may reject it.
    let world = harness_with_balance(1_000).await;
    withdraw(&world, 1, 400).await;
    world.wait_until_idle().await;
    world.reloadable_cards.clear_holds();
    let claimed = world
        .engine
        .claim_card_withdrawal(WithdrawalId(1), act("ana"), 60_000)
        .await;
    assert!(
        matches!(claimed, Err(OperationError::Rejected(No::HoldMissing))),
        "{claimed:?}"
    );
    assert_eq!(states(&world, 1).await, ["queued"]);
    let rejected = world
        .engine
        .reject_card_withdrawal(WithdrawalId(1), act("ana"), None, "no".into());
    rejected.await.expect("a person decides it");
    assert_eq!(states(&world, 1).await, ["rejected"]);
    assert_eq!(
        world.reloadable_cards.left(&ACCOUNT),
        600,
        "nothing is released without a hold"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lease_from_before_a_backup_pays_nothing_twice() {
    // Checks: it was claimed at the backup and has been paid since; the same operator with the same lease learns that
    // it is paid.
    let world = harness_with_balance(1_000).await;
    withdraw(&world, 1, 400).await;
    world.wait_until_idle().await;
    let claimed = world
        .engine
        .claim_card_withdrawal(WithdrawalId(1), act("ana"), 3_600_000)
        .await;
    let lease = claimed.expect("it is free").number;
    let backup = world.store.backup();
    let pay = async |world: &Harness, hash: &str| {
        let paid = world
            .engine
            .fulfil_card_withdrawal(WithdrawalId(1), act("ana"), lease, hash.into());
        paid.await
    };
    pay(&world, "0xabc").await.expect("it is paid");
    world.wait_until_idle().await;
    let world = world.back_to(backup).await;
    assert_eq!(states(&world, 1).await, ["claimed"]);
    let again = pay(&world, "0xdef").await;
    assert!(
        matches!(again, Err(OperationError::Rejected(No::ClosedAtIssuer { paid: true }))),
        "{again:?}"
    );
    assert_eq!(states(&world, 1).await, ["complete"]);
}
