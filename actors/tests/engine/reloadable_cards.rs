//! Cards and withdrawals that spend a card balance, through the engine: issuer faults and crashes. The issuer's own
//! records prove where the money is.

use purser_actors::engine::{ListStart, OperationError};
use purser_actors::entity::card_withdrawal::{self, CardWithdrawal, Rejection as No};
use purser_actors::entity::reloadable_card::{INSUFFICIENT, Rejection, ReloadableCard, Status};
use purser_actors::id::{CardId, RequestId, Wallet, WithdrawalId};
use purser_actors::kernel::table;
use purser_actors::lease::LeaseError;
use purser_actors::money::Cents;
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::CardAction;
use purser_storage::{Batch, Store as _, Write};

use crate::support::harness::{Harness, evm};
use crate::support::identity::CallBehavior;
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);
pub(crate) const ACCOUNT: [u8; 20] = [0xdd; 20];

/// A harness whose account owner has this balance at the issuer.
pub(crate) async fn harness_with_balance(cents: u64) -> Harness {
    let world = Harness::new().await;
    world.store.overwrite(table::issuer_linked(&OWNER), &ACCOUNT);
    world.reloadable_cards.load(ACCOUNT, cents);
    world
}

async fn create(world: &Harness, n: u128, cents: u64, reusable: bool) {
    let asked = world
        .engine
        .create_reloadable((CardId(n), OWNER, ACCOUNT), (Cents::new(cents), reusable), None, None);
    in_time("an answer", asked).await.expect("it is taken on");
}

async fn card(world: &Harness, n: u128) -> ReloadableCard {
    world.engine.reloadable(&CardId(n)).await.unwrap().expect("it exists")
}

async fn request_action(world: &Harness, n: u128, action: CardAction) -> Result<bool, OperationError<Rejection>> {
    in_time("an answer", world.engine.request_card_action(CardId(n), action, None)).await
}

/// Waits until the engine has read this number of events.
async fn wait_for_status(world: &Harness, n: u128, status: &'static str) -> ReloadableCard {
    use purser_actors::kernel::Entity as _;
    eventually(status, async || card(world, n).await.status() == status).await;
    card(world, n).await
}

fn announced_count(world: &Harness, what: &str) -> usize {
    world.event_count(&format!("reloadable_card.{what}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reloadable_card_is_opened_once_over_faults_and_crashes() {
    // Checks: over lost and malformed responses, panics and a crash after each, the balance is charged once and the
    // card is open once.
    for turns in [
        &[CallBehavior::Works][..],
        &[CallBehavior::Busy, CallBehavior::Busy],
        &[CallBehavior::ResponseLost],
        &[CallBehavior::Panics, CallBehavior::ResponseLost],
        &[CallBehavior::ResponseLost, CallBehavior::Busy, CallBehavior::Panics],
    ] {
        let world = harness_with_balance(1_000).await;
        world.reloadable_cards.set_behaviors(turns);
        create(&world, 7, 600, true).await;
        let world = world.crash().await;
        world.wait_until_idle().await;
        let opened = card(&world, 7).await;
        assert!(matches!(opened.status, Status::Open(_)), "{turns:?}: {opened:?}");
        assert_eq!(
            (world.reloadable_cards.left(&ACCOUNT), world.reloadable_cards.on_cards()),
            (400, 600),
            "{turns:?}"
        );
        assert_eq!(
            (announced_count(&world, "creating"), announced_count(&world, "open")),
            (1, 1),
            "{turns:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_orders_never_overdraw_the_balance() {
    // Checks: of ten concurrent cards and withdrawals, as many succeed as the balance covers. Every other one gets a
    // reason, and no money is missing.
    let world = harness_with_balance(1_000).await;
    let orders: Vec<_> = (0..10)
        .map(|n| {
            let engine = world.engine.clone();
            tokio::spawn(async move {
                if n % 2 == 0 {
                    let ordered = (CardId(n), OWNER, ACCOUNT);
                    drop(
                        engine
                            .create_reloadable(ordered, (Cents::new(300), true), None, None)
                            .await,
                    );
                } else {
                    let asked = (WithdrawalId(n), OWNER, ACCOUNT);
                    let to = (evm(7), Cents::new(300));
                    drop(engine.withdraw_card_balance(asked, to, None).await);
                }
            })
        })
        .collect();
    for order in orders {
        in_time("an answer", order).await.expect("it does not panic");
    }
    world.wait_until_idle().await;
    let mut refused = 0;
    for n in 0..10 {
        if n % 2 == 0 {
            refused += usize::from(
                matches!(&card(&world, n).await.status, Status::Failed { reason } if reason.as_str() == INSUFFICIENT),
            );
        } else {
            let status = withdrawal(&world, n).await.status;
            refused += usize::from(
                matches!(&status, card_withdrawal::Status::Failed { reason } if reason.as_str() == INSUFFICIENT),
            );
        }
    }
    assert_eq!((refused, world.reloadable_cards.left(&ACCOUNT)), (7, 100));
    assert_eq!(
        announced_count(&world, "failed") + world.event_count("card_withdrawal.failed"),
        7
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn card_order_needs_a_linked_account() {
    // Checks: the batch requires the row, so a concurrently unlinked account orders nothing.
    let world = harness_with_balance(1_000).await;
    let key = table::issuer_linked(&OWNER);
    let batch = Batch {
        writes: vec![Write::Delete { key }],
        ..Batch::default()
    };
    world.store.commit(batch, Box::new(|_| {}));
    let ordered = (CardId(7), OWNER, ACCOUNT);
    let refused = world
        .engine
        .create_reloadable(ordered, (Cents::new(100), true), None, None)
        .await;
    assert!(matches!(refused, Err(OperationError::Unavailable)), "{refused:?}");
    assert!(world.engine.reloadable(&CardId(7)).await.unwrap().is_none());
    assert_eq!(world.reloadable_cards.left(&ACCOUNT), 1_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn card_action_is_executed_once() {
    // Checks: pause, resume and close over lost responses and crashes. Closing releases the remainder, and an ended
    // card accepts no action.
    let mut world = harness_with_balance(1_000).await;
    create(&world, 7, 600, true).await;
    world.wait_until_idle().await;
    assert!(world.reloadable_cards.charge(CardId(7), 50));
    for (action, status) in [
        (CardAction::Pause, "paused"),
        (CardAction::Resume, "open"),
        (CardAction::Close, "closed"),
    ] {
        world
            .reloadable_cards
            .set_behaviors(&[CallBehavior::Busy, CallBehavior::ResponseLost, CallBehavior::Panics]);
        assert!(request_action(&world, 7, action).await.unwrap());
        world = world.crash().await;
        world.wait_until_idle().await;
        let now = wait_for_status(&world, 7, status).await;
        assert_eq!(now.pending_action, None);
        assert_eq!(
            world.reloadable_cards.charge(CardId(7), 10),
            status == "open",
            "{status}"
        );
    }
    let closed = card(&world, 7).await;
    assert!(matches!(closed.status, Status::Closed(_)));
    assert_eq!(
        (world.reloadable_cards.left(&ACCOUNT), world.reloadable_cards.on_cards()),
        (1_000 - 60, 0)
    );
    let counts = ["paused", "resumed", "closed"].map(|what| announced_count(&world, what));
    assert_eq!(counts, [1, 1, 1]);
    for action in [CardAction::Pause, CardAction::Resume, CardAction::Close] {
        let refused = request_action(&world, 7, action).await;
        assert!(
            matches!(
                refused,
                Err(OperationError::Rejected(Rejection::InvalidState("closed")))
            ),
            "{refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn card_transaction_is_recorded_and_ends_a_single_use_card() {
    // Checks: without any request, the issuer reports the balance, a purchase and the end of a single-use card. Each is
    // announced once, over a restart.
    let world = harness_with_balance(1_000).await;
    create(&world, 7, 600, true).await;
    create(&world, 8, 300, false).await;
    world.wait_until_idle().await;
    assert!(world.reloadable_cards.charge(CardId(7), 50) && world.reloadable_cards.charge(CardId(8), 120));
    let one = wait_for_status(&world, 8, "closed").await;
    assert_eq!(one.transactions()[0].amount, Cents::new(120));
    eventually("the charge is heard", async || {
        !card(&world, 7).await.transactions().is_empty()
    })
    .await;
    assert_eq!(card(&world, 7).await.activity.available, Cents::new(550));
    assert_eq!(world.reloadable_cards.left(&ACCOUNT), 1_000 - 600 - 120);
    let world = world.crash().await;
    assert!(world.reloadable_cards.charge(CardId(7), 70));
    eventually("the next is heard", async || {
        card(&world, 7).await.transactions().len() == 2
    })
    .await;
    assert_eq!(
        (announced_count(&world, "charged"), announced_count(&world, "closed")),
        (3, 1)
    );
}

pub(crate) async fn withdraw(world: &Harness, n: u128, cents: u64) {
    let to = (evm(7), Cents::new(cents));
    let asked = world
        .engine
        .withdraw_card_balance((WithdrawalId(n), OWNER, ACCOUNT), to, None);
    in_time("an answer", asked).await.expect("it is taken on");
}

pub(crate) async fn withdrawal(world: &Harness, n: u128) -> CardWithdrawal {
    let read = world.engine.card_withdrawal(&WithdrawalId(n)).await;
    read.unwrap().expect("it exists")
}

pub(crate) fn act(by: &str) -> OperatorAction {
    OperatorAction {
        operator: by.into(),
        role: Role::Operator,
        request_id: RequestId(9),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn card_withdrawal_is_paid_or_released_once() {
    // Checks: it is held once and settled once with the right result, through lost responses and a crash after each
    // step. The owner's list shows both withdrawals.
    let mut world = harness_with_balance(1_000).await;
    let faults = [CallBehavior::Busy, CallBehavior::ResponseLost, CallBehavior::Panics];
    for n in [1, 2] {
        world.reloadable_cards.set_behaviors(&faults);
        withdraw(&world, n, 400).await;
        world = world.crash().await;
        world.wait_until_idle().await;
    }
    assert_eq!(world.reloadable_cards.left(&ACCOUNT), 200);
    let (queue, more) = world.engine.card_withdrawal_queue(None, 10).await.unwrap();
    assert_eq!((queue.len(), queue[0].0, more), (2, WithdrawalId(1), false));
    let engine = &world.engine;
    let lease = engine
        .claim_card_withdrawal(WithdrawalId(1), act("ana"), 60_000)
        .await
        .unwrap();
    let other = engine.claim_card_withdrawal(WithdrawalId(1), act("ben"), 60_000).await;
    assert!(
        matches!(other, Err(OperationError::Rejected(No::Lease(LeaseError::HeldByOther(holder)))) if holder.by == "ana")
    );
    world.reloadable_cards.set_behaviors(&faults);
    let paid = engine.fulfil_card_withdrawal(WithdrawalId(1), act("ana"), lease.number, "0xabc".into());
    paid.await.expect("it is paid");
    world = world.crash().await;
    world.wait_until_idle().await;
    world.reloadable_cards.set_behaviors(&faults);
    let engine = &world.engine;
    let rejected = engine.reject_card_withdrawal(WithdrawalId(2), act("ana"), None, "no such place".into());
    rejected.await.expect("it is rejected");
    world = world.crash().await;
    world.wait_until_idle().await;
    assert_eq!(world.reloadable_cards.left(&ACCOUNT), 600, "one was released");
    let mut ended = world.reloadable_cards.hold_results();
    ended.sort();
    assert_eq!(ended, [Some(false), Some(true)]);
    let states = ["complete", "rejected", "hold_released"].map(|s| world.event_count(&format!("card_withdrawal.{s}")));
    assert_eq!(states, [1, 1, 1]);
    let (all, more) = world.engine.withdrawals_of(&OWNER, None, 1).await.unwrap();
    assert_eq!((all[0].0, more), (WithdrawalId(1), true));
    let (all, more) = world
        .engine
        .withdrawals_of(&OWNER, Some(WithdrawalId(1)), 5)
        .await
        .unwrap();
    assert_eq!((all[0].0, all.len(), more), (WithdrawalId(2), 1, false));
    let newest = world.engine.withdrawals_of(&OWNER, ListStart::Before(None), 1).await;
    let (all, more) = newest.unwrap();
    assert_eq!((all[0].0, all.len(), more), (WithdrawalId(2), 1, true));
    let before = ListStart::Before(Some(WithdrawalId(2)));
    let (all, more) = world.engine.withdrawals_of(&OWNER, before, 5).await.unwrap();
    assert_eq!((all[0].0, all.len(), more), (WithdrawalId(1), 1, false));
    assert!(world.engine.card_withdrawal_queue(None, 10).await.unwrap().0.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transaction_pays_one_withdrawal() {
    // Checks: an operator who enters the same transaction twice gets an error; the second withdrawal stays claimed and
    // can still be paid.
    let world = harness_with_balance(1_000).await;
    for n in [1, 2] {
        withdraw(&world, n, 400).await;
    }
    world.wait_until_idle().await;
    let engine = &world.engine;
    for n in [1, 2] {
        let lease = engine
            .claim_card_withdrawal(WithdrawalId(n), act("ana"), 60_000)
            .await
            .unwrap();
        let paid = engine.fulfil_card_withdrawal(WithdrawalId(n), act("ana"), lease.number, "0xabc".into());
        match paid.await {
            Ok(()) => assert_eq!(n, 1),
            Err(OperationError::AlreadyUsed) => assert_eq!(n, 2),
            Err(other) => panic!("{other:?}"),
        }
    }
    let paid = engine.fulfil_card_withdrawal(WithdrawalId(2), act("ana"), 1, "0xdef".into());
    paid.await.expect("another transaction paid it");
}
