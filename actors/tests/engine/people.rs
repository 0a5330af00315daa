//! What only a person brings about, run by the engine: the outside fails in every way, the process dies, and a row is
//! there exactly while it is so.

use purser_actors::engine::{Denied, PayError};
use purser_actors::identity::{Rejection, Status};
use purser_actors::kernel::{Entity, table};
use purser_actors::money::Cents;
use purser_actors::port::Verdict;
use purser_actors::product::{Purchase, Requirement};

use crate::support::people::{Turn, address_of};
use crate::support::world::{World, card_for, evm};
use crate::support::{eventually, in_time};

async fn status(world: &World) -> &'static str {
    let identity = world.engine.identity(&evm(1)).await.unwrap();
    identity.as_ref().map_or("none", Entity::status)
}

/// The provider's name of the check that is under way.
async fn begun(world: &World) -> String {
    let identity = in_time("the check begins", world.engine.identity_begun(evm(1)))
        .await
        .unwrap();
    match identity.status {
        Status::InReview { begun: Some(begun), .. } => begun.reference,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_check_ends_as_its_provider_says_whatever_fails_on_the_way() {
    // Aim: lost answers, busy moments and panics begin one check, and the verdict that is asked for verifies once.
    let world = World::new().await;
    world.people.turns(&[
        Turn::Busy,
        Turn::Lost,
        Turn::Panics,
        Turn::Works,
        Turn::Busy,
        Turn::Lost,
        Turn::Panics,
    ]);
    world.engine.begin_identity(evm(1)).await.unwrap();
    let reference = begun(&world).await;
    assert_eq!((status(&world).await, world.people.checks()), ("in-review", 1));
    assert_eq!(world.store.rows(&[table::VERIFIED]), []);
    world.people.decide(&reference, Verdict::Passed);
    world.quiet().await;
    assert_eq!(status(&world).await, "verified");
    assert_eq!(world.store.rows(&[table::VERIFIED]).len(), 1);
    assert_eq!(world.announced("identity.verified"), 1);
    let again = world.engine.begin_identity(evm(1)).await;
    assert!(
        matches!(again, Err(Denied::Rejected(Rejection::State("verified")))),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_verdict_comes_once_by_whatever_way_and_outlives_the_process() {
    // Aim: a callback verifies, the same again changes nothing, one on another check or with another word is refused;
    // after a power cut all of it stands, and a check under way goes on.
    let world = World::new().await;
    world.engine.begin_identity(evm(1)).await.unwrap();
    let reference = begun(&world).await;
    let world = world.crash().await;
    assert_eq!(begun(&world).await, reference);
    let verdict = |reference: &str, verdict| world.engine.decide_identity(evm(1), reference.to_owned(), verdict);
    let other = verdict("another", Verdict::Passed).await;
    assert!(
        matches!(other, Err(Denied::Rejected(Rejection::OtherCheck))),
        "{other:?}"
    );
    verdict(&reference, Verdict::Passed).await.unwrap();
    verdict(&reference, Verdict::Passed).await.unwrap();
    let reason = "second thoughts".to_owned();
    let contrary = verdict(&reference, Verdict::Failed { reason: reason.into() }).await;
    assert!(
        matches!(contrary, Err(Denied::Rejected(Rejection::Decided("verified")))),
        "{contrary:?}"
    );
    let nobody = world
        .engine
        .decide_identity(evm(2), reference.clone(), Verdict::Passed)
        .await;
    assert!(nobody.is_err());
    assert_eq!((world.people.checks(), world.announced("identity.verified")), (1, 1));
    let world = world.crash().await;
    world.quiet().await;
    assert_eq!(status(&world).await, "verified");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rejected_owner_begins_another_check_and_an_old_verdict_does_not_touch_it() {
    // Aim: no first, then yes; the first check's callback, late, is not taken for the second's.
    let world = World::new().await;
    world.engine.begin_identity(evm(1)).await.unwrap();
    let first = begun(&world).await;
    let reason = "blurred".to_owned();
    world.people.decide(&first, Verdict::Failed { reason: reason.into() });
    world.quiet().await;
    assert_eq!(status(&world).await, "rejected");
    world.engine.begin_identity(evm(1)).await.unwrap();
    let second = begun(&world).await;
    assert_ne!(first, second);
    let late = world.engine.decide_identity(evm(1), first, Verdict::Passed).await;
    assert!(matches!(late, Err(Denied::Rejected(Rejection::OtherCheck))), "{late:?}");
    world.people.decide(&second, Verdict::Passed);
    world.quiet().await;
    assert_eq!(status(&world).await, "verified");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_check_that_the_provider_will_not_begin_is_rejected() {
    // Aim: a definite no leaves nothing under way, and the owner may try again.
    let world = World::new().await;
    world.people.turns(&[Turn::No]);
    world.engine.begin_identity(evm(1)).await.unwrap();
    world.quiet().await;
    assert_eq!((status(&world).await, world.people.checks()), ("rejected", 0));
    world.engine.begin_identity(evm(1)).await.unwrap();
    begun(&world).await;
    assert_eq!(status(&world).await, "in-review");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_link_is_opened_once_and_its_row_holds_the_address() {
    // Aim: whatever fails, one account; the row is the address while it is linked and gone when it is not; linked again
    // it is the same account.
    let world = World::new().await;
    world.people.turns(&[Turn::Busy, Turn::Lost, Turn::Panics]);
    let wallet = evm(1);
    for round in 1..=2 {
        world.engine.set_linked(wallet, true).await.unwrap();
        let link = in_time("the account opens", world.engine.link_opened(wallet))
            .await
            .unwrap();
        assert_eq!(link.deposit_address(), Some(&address_of(&wallet)));
        assert_eq!(
            world.engine.deposit_address(&wallet).await.unwrap(),
            Some(address_of(&wallet))
        );
        world.engine.set_linked(wallet, false).await.unwrap();
        assert_eq!(world.engine.deposit_address(&wallet).await.unwrap(), None);
        assert_eq!(world.announced("issuer.linked"), round);
    }
    world.quiet().await;
    assert_eq!(world.people.opened(), [wallet]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_link_under_way_survives_a_power_cut_and_can_be_taken_back() {
    // Aim: the opening goes on after the cut; one that is taken back ends without a word.
    let world = World::new().await;
    world.people.turns(&[Turn::Busy; 3]);
    world.engine.set_linked(evm(1), true).await.unwrap();
    let world = world.crash().await;
    eventually("it is linked", async || {
        world.engine.deposit_address(&evm(1)).await.unwrap().is_some()
    })
    .await;
    world.people.turns(&[Turn::Busy; 2]);
    world.engine.set_linked(evm(2), true).await.unwrap();
    world.engine.set_linked(evm(2), false).await.unwrap();
    world.quiet().await;
    assert_eq!(world.engine.deposit_address(&evm(2)).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refused_link_says_why_and_may_be_asked_for_again() {
    // Aim: the issuer's definite no is a fact of the link, not a failure that is tried again.
    let world = World::new().await;
    world.people.turns(&[Turn::No]);
    world.engine.set_linked(evm(1), true).await.unwrap();
    let link = in_time("the issuer refuses", world.engine.link_opened(evm(1)))
        .await
        .unwrap();
    assert!(
        link.view(&evm(1))
            .to_json()
            .contains("\"refusal_reason\":\"no account\""),
        "{link:?}"
    );
    world.engine.set_linked(evm(1), true).await.unwrap();
    world.quiet().await;
    assert!(world.engine.deposit_address(&evm(1)).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_purchase_that_needs_a_person_is_refused_until_there_was_one() {
    // Aim: without the row nothing is claimed and nothing settles.
    let world = World::new().await;
    let mut request = card_for(evm(1), 1);
    request.purchase = Purchase::CardBalance {
        amount: Cents::new(500),
    };
    let refused = world.pay(&request).await;
    assert!(
        matches!(refused, Err(PayError::Missing(Requirement::Linked))),
        "{refused:?}"
    );
    assert_eq!(world.chain.submissions(), 0);
}
