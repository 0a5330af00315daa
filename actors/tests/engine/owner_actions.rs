//! Account-owner steps through the engine: every provider fault, crashes, and a row that exists exactly while the state
//! holds.

use purser_actors::engine::{ClaimError, OperationError};
use purser_actors::entity::Purchase;
use purser_actors::entity::identity_verification::{Rejection, Status};
use purser_actors::entity::top_up::CardBalancePurchase;
use purser_actors::kernel::{Entity, table, to_json};
use purser_actors::money::Cents;
use purser_actors::port::Verdict;
use purser_actors::product::Precondition;

use crate::support::harness::{Harness, card_for, evm};
use crate::support::identity::{CallBehavior, address_of};
use crate::support::{eventually, in_time};

async fn status(world: &Harness) -> &'static str {
    let identity = world.engine.identity(&evm(1)).await.unwrap();
    identity.as_ref().map_or("none", Entity::status)
}

/// The provider's reference of the check in progress.
async fn started_reference(world: &Harness) -> String {
    let identity = in_time("the check begins", world.engine.await_identity_started(evm(1)))
        .await
        .unwrap();
    match identity.status {
        Status::InReview {
            started: Some(begun), ..
        } => begun.reference,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn identity_check_ends_with_the_providers_verdict_despite_faults() {
    // Checks: over lost responses, busy replies and panics there is one check, and the queried verdict verifies once.
    let world = Harness::new().await;
    world.identity.set_behaviors(&[
        CallBehavior::Busy,
        CallBehavior::ResponseLost,
        CallBehavior::Panics,
        CallBehavior::Works,
        CallBehavior::Busy,
        CallBehavior::ResponseLost,
        CallBehavior::Panics,
    ]);
    world.engine.request_identity_check(evm(1)).await.unwrap();
    let reference = started_reference(&world).await;
    assert_eq!((status(&world).await, world.identity.checks()), ("in-review", 1));
    assert_eq!(world.store.rows(&[table::VERIFIED]), []);
    world.identity.decide(&reference, Verdict::Passed);
    world.wait_until_idle().await;
    assert_eq!(status(&world).await, "verified");
    assert_eq!(world.store.rows(&[table::VERIFIED]).len(), 1);
    assert_eq!(world.event_count("identity.verified"), 1);
    let again = world.engine.request_identity_check(evm(1)).await;
    assert!(
        matches!(
            again,
            Err(OperationError::Rejected(Rejection::InvalidState("verified")))
        ),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn identity_verdict_is_recorded_once_and_survives_a_crash() {
    // Checks: a callback verifies, a repeated one changes nothing, and one about another check or with another verdict
    // is rejected. After a power cut everything is still stored, and a check in progress continues.
    let world = Harness::new().await;
    world.engine.request_identity_check(evm(1)).await.unwrap();
    let reference = started_reference(&world).await;
    let world = world.crash().await;
    assert_eq!(started_reference(&world).await, reference);
    let verdict = |reference: &str, verdict| {
        world
            .engine
            .record_identity_verdict(evm(1), reference.to_owned(), verdict)
    };
    let other = verdict("another", Verdict::Passed).await;
    assert!(
        matches!(other, Err(OperationError::Rejected(Rejection::DifferentCheck))),
        "{other:?}"
    );
    verdict(&reference, Verdict::Passed).await.unwrap();
    verdict(&reference, Verdict::Passed).await.unwrap();
    let reason = "second thoughts".to_owned();
    let contrary = verdict(&reference, Verdict::Failed { reason: reason.into() }).await;
    assert!(
        matches!(
            contrary,
            Err(OperationError::Rejected(Rejection::AlreadyDecided("verified")))
        ),
        "{contrary:?}"
    );
    let unknown = world
        .engine
        .record_identity_verdict(evm(2), reference.clone(), Verdict::Passed)
        .await;
    assert!(unknown.is_err());
    assert_eq!(
        (world.identity.checks(), world.event_count("identity.verified")),
        (1, 1)
    );
    let world = world.crash().await;
    world.wait_until_idle().await;
    assert_eq!(status(&world).await, "verified");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn old_verdict_does_not_affect_a_new_check() {
    // Checks: rejected first, then verified; a late callback of the first check does not apply to the second.
    let world = Harness::new().await;
    world.engine.request_identity_check(evm(1)).await.unwrap();
    let first = started_reference(&world).await;
    let reason = "blurred".to_owned();
    world.identity.decide(&first, Verdict::Failed { reason: reason.into() });
    world.wait_until_idle().await;
    assert_eq!(status(&world).await, "rejected");
    world.engine.request_identity_check(evm(1)).await.unwrap();
    let second = started_reference(&world).await;
    assert_ne!(first, second);
    let late = world
        .engine
        .record_identity_verdict(evm(1), first, Verdict::Passed)
        .await;
    assert!(
        matches!(late, Err(OperationError::Rejected(Rejection::DifferentCheck))),
        "{late:?}"
    );
    world.identity.decide(&second, Verdict::Passed);
    world.wait_until_idle().await;
    assert_eq!(status(&world).await, "verified");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn check_declined_by_the_provider_is_rejected() {
    // Checks: after a decline no check is in progress, and the owner may request another.
    let world = Harness::new().await;
    world.identity.set_behaviors(&[CallBehavior::Declined]);
    world.engine.request_identity_check(evm(1)).await.unwrap();
    world.wait_until_idle().await;
    assert_eq!((status(&world).await, world.identity.checks()), ("rejected", 0));
    world.engine.request_identity_check(evm(1)).await.unwrap();
    started_reference(&world).await;
    assert_eq!(status(&world).await, "in-review");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn issuer_account_opens_once_and_its_row_has_the_address() {
    // Checks: over every fault there is one account. The row has the address while it is linked and is deleted
    // afterwards; linked again, it is the same account.
    let world = Harness::new().await;
    world
        .identity
        .set_behaviors(&[CallBehavior::Busy, CallBehavior::ResponseLost, CallBehavior::Panics]);
    let wallet = evm(1);
    for round in 1..=2 {
        world.engine.request_issuer_link(wallet, true).await.unwrap();
        let link = in_time("the account opens", world.engine.await_issuer_link(wallet))
            .await
            .unwrap();
        assert_eq!(link.deposit_address(), Some(&address_of(&wallet)));
        assert_eq!(
            world.engine.deposit_address(&wallet).await.unwrap(),
            Some(address_of(&wallet))
        );
        world.engine.request_issuer_link(wallet, false).await.unwrap();
        assert_eq!(world.engine.deposit_address(&wallet).await.unwrap(), None);
        assert_eq!(world.event_count("issuer_link.linked"), round);
    }
    world.wait_until_idle().await;
    assert_eq!(world.identity.opened(), [wallet]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pending_link_survives_a_power_cut_and_can_be_cancelled() {
    // Checks: account opening continues after the cut; a cancelled one ends without an error.
    let world = Harness::new().await;
    world.identity.set_behaviors(&[CallBehavior::Busy; 3]);
    world.engine.request_issuer_link(evm(1), true).await.unwrap();
    let world = world.crash().await;
    eventually("it is linked", async || {
        world.engine.deposit_address(&evm(1)).await.unwrap().is_some()
    })
    .await;
    world.identity.set_behaviors(&[CallBehavior::Busy; 2]);
    world.engine.request_issuer_link(evm(2), true).await.unwrap();
    world.engine.request_issuer_link(evm(2), false).await.unwrap();
    world.wait_until_idle().await;
    assert_eq!(world.engine.deposit_address(&evm(2)).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_link_has_a_reason_and_can_be_requested_again() {
    // Checks: a decline by the issuer is recorded on the link and not retried.
    let world = Harness::new().await;
    world.identity.set_behaviors(&[CallBehavior::Declined]);
    world.engine.request_issuer_link(evm(1), true).await.unwrap();
    let link = in_time("the issuer refuses", world.engine.await_issuer_link(evm(1)))
        .await
        .unwrap();
    assert!(
        to_json(&link.view(&evm(1))).contains("\"decline_reason\":\"no account\""),
        "{link:?}"
    );
    world.engine.request_issuer_link(evm(1), true).await.unwrap();
    world.wait_until_idle().await;
    assert!(world.engine.deposit_address(&evm(1)).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn purchase_that_needs_verification_is_rejected_until_verified() {
    // Checks: without the row nothing is claimed and nothing settles.
    let world = Harness::new().await;
    let mut request = card_for(evm(1), 1);
    request.purchase = Purchase::CardBalance(CardBalancePurchase {
        amount: Cents::new(500),
    });
    let refused = world.pay(&request).await;
    assert!(
        matches!(refused, Err(ClaimError::PreconditionFailed(Precondition::IssuerLinked))),
        "{refused:?}"
    );
    assert_eq!(world.chain.submissions(), 0);
}
