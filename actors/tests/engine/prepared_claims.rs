//! Payments that the port prepares without asking anybody: their claim stores what will be sent.

use std::time::Duration;

use purser_actors::engine::{ClaimError, PaymentRequest, PaymentResult};
use purser_actors::entity::payment::{Outcome, Status};
use purser_actors::id::Wallet;
use purser_actors::port::PreparedTransaction;
use tokio::task::JoinHandle;

use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::PaymentBehavior;
use crate::support::settings::{cards_a_day, fast};
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);

async fn preparing_locally() -> Harness {
    let mut settings = fast();
    settings.caps = cards_a_day(1, 2_000_000);
    let world = Harness::with(settings).await;
    world.chain.set_prepares_locally(true);
    world
}

fn start(world: &Harness, request: &PaymentRequest) -> JoinHandle<Result<PaymentResult, ClaimError>> {
    let (engine, request) = (world.engine.clone(), request.clone());
    tokio::spawn(async move { engine.pay(request).await })
}

async fn status(world: &Harness, request: &PaymentRequest) -> Option<Status> {
    let id = world.engine.payment_id(&request.authorization);
    let payment = world.engine.payment(&id).await.unwrap();
    payment.map(|payment| payment.status)
}

fn settling(request: &PaymentRequest) -> Status {
    Status::Settling(PreparedTransaction {
        bytes: request.authorization.claim_key().to_vec(),
        transaction: String::new(),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn paid_call_makes_three_commits_if_its_claim_is_prepared() {
    // Checks: the claim, the settlement with its product, and the issued card are one batch each. A port that asks
    // a server needs one more, which stores what will be sent.
    for (locally, commits) in [(true, 3), (false, 4)] {
        let world = Harness::new().await;
        world.chain.set_prepares_locally(locally);
        let (request, before) = (card_for(OWNER, 1), world.store.committed());
        bought_card(&world.pay(&request).await.unwrap());
        world.wait_until_idle().await;
        world.assert_one_card(&request);
        assert_eq!(world.store.committed() - before, commits, "prepared locally: {locally}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn prepared_claim_is_sent_only_once_it_is_durable() {
    // Checks: while the claim waits for the disk, nothing reaches the chain.
    let world = preparing_locally().await;
    let request = card_for(OWNER, 1);
    world.store.hold();
    let call = start(&world, &request);
    eventually("the claim waits", async || world.store.queued() == 1).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!((world.chain.submissions(), world.chain.transfers()), (0, 0));
    assert!(world.history().is_empty() && !call.is_finished());
    world.store.release();
    bought_card(&in_time("the call", call).await.unwrap().unwrap());
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    assert_eq!(world.chain.submissions(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_crash_after_a_prepared_claim_sends_its_bytes_once() {
    // Checks: the power fails when the claim is durable and nothing was sent. The next process sends what the claim
    // stored, without preparing it again, and whether or not a client retries.
    let world = preparing_locally().await;
    let request = card_for(OWNER, 1);
    let before = world.store.committed();
    world.store.hold_after(1, false);
    let call = start(&world, &request);
    eventually("the claim is durable", async || world.store.committed() > before).await;
    assert_eq!(status(&world, &request).await, Some(settling(&request)));
    assert_eq!(world.chain.submissions(), 0);
    // A preparation would fail.
    world.chain.drain(OWNER);
    let world = world.crash().await;
    call.abort();
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    assert_eq!(world.chain.submissions(), 1);
    bought_card(&world.pay(&request).await.unwrap());
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_49_freeze_after_a_prepared_claim_does_not_stop_the_payment() {
    // Checks: the claim has passed the check. The next payment of the frozen account is refused, and what was prepared
    // for it is dropped.
    let world = preparing_locally().await;
    let request = card_for(OWNER, 1);
    world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
    let call = start(&world, &request);
    eventually("it is on its way", async || world.chain.at_gate() == 1).await;
    let message = "too late".to_owned();
    world
        .engine
        .set_frozen(OWNER, Some(message.clone()), None)
        .await
        .unwrap();
    let next = card_for(OWNER, 2);
    assert_eq!(world.pay(&next).await.unwrap_err(), ClaimError::Frozen { message });
    world.chain.open_gate();
    bought_card(&in_time("the call", call).await.unwrap().unwrap());
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    assert_eq!((status(&world, &next).await, world.chain.submissions()), (None, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn prepared_payment_beyond_a_cap_is_neither_claimed_nor_sent() {
    // Checks: the account refuses the claim. The same payment buys on the next day.
    let world = preparing_locally().await;
    bought_card(&world.pay(&card_for(OWNER, 1)).await.unwrap());
    let next = card_for(OWNER, 2);
    assert_eq!(
        world.pay(&next).await.unwrap_err(),
        ClaimError::DailyCountCap { cap: 1 }
    );
    world.wait_until_idle().await;
    assert_eq!((status(&world, &next).await, world.chain.submissions()), (None, 1));
    world.clock.advance(86_400_000);
    bought_card(&world.pay(&next).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn payment_that_cannot_be_prepared_locally_is_prepared_after_its_claim() {
    // Checks: the answers are those of a port that asks a server: the chain's reason, or that the payment can be
    // presented again. Nothing is sent, and the only card of the daily cap can still be bought.
    let world = preparing_locally().await;
    let declined = card_for(OWNER, 1);
    world.chain.drain(OWNER);
    let paid = world.pay(&declined).await.unwrap();
    assert!(matches!(paid.outcome, Outcome::Declined(_)), "{:?}", paid.outcome);
    assert!(matches!(
        status(&world, &declined).await,
        Some(Status::DeclinedUnsent(_))
    ));
    world.wait_until_idle().await;
    world.chain.fill();
    let request = card_for(OWNER, 2);
    let behavior = PaymentBehavior::Unreachable(fast().prepare_attempts);
    world.chain.set_behavior(&request.authorization, behavior);
    let paid = world.pay(&request).await.unwrap();
    assert_eq!(paid.outcome, Outcome::Unavailable);
    assert_eq!(status(&world, &request).await, Some(Status::Released));
    assert_eq!(world.chain.submissions(), 0);
    assert_eq!(world.event_count("payment.released"), 2);
    world.wait_until_idle().await;
    bought_card(&world.pay(&request).await.unwrap());
    world.wait_until_idle().await;
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_presentations_of_a_prepared_payment_are_one_claim() {
    // Checks: one call claims it, the others join, and it is sent once.
    let world = preparing_locally().await;
    let request = card_for(OWNER, 1);
    let calls: Vec<_> = (0..20).map(|_| start(&world, &request)).collect();
    let mut won = 0;
    for call in calls {
        let paid = in_time("a call", call).await.unwrap().unwrap();
        bought_card(&paid);
        won += usize::from(paid.won);
    }
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    assert_eq!((won, world.chain.submissions()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn restored_prepared_payment_may_have_been_sent() {
    // Checks: the backup has the payment as settling, and the lost history sent it. It is sent again with the same
    // bytes, and the money moves once.
    let world = preparing_locally().await;
    let request = card_for(OWNER, 1);
    world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
    let call = start(&world, &request);
    eventually("it is on its way", async || world.chain.at_gate() == 1).await;
    let backup = world.store.backup();
    world.chain.open_gate();
    bought_card(&in_time("the call", call).await.unwrap().unwrap());
    world.chain.drain(OWNER);
    let world = world.back_to(backup).await;
    bought_card(&world.pay(&request).await.unwrap());
    world.wait_until_idle().await;
    assert_eq!((world.chain.transfers(), world.chain.submissions()), (1, 2));
    assert_eq!(world.event_count("payment.fulfilled"), 1);
}
