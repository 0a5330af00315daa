//! The gate: transfers of a frozen account that were not sent stay unsent at every step, and continue after the
//! unfreeze.

use purser_actors::engine::{ClaimError, GateHold, OperationError, PaymentRequest, ReservationError};
use purser_actors::entity::account::Rejection;
use purser_actors::entity::payment::Outcome;
use purser_actors::entity::payout;
use purser_actors::entity::top_up;
use purser_actors::entity::top_up::CardBalancePurchase;
use purser_actors::entity::withdrawal;
use purser_actors::entity::withdrawal::{Status, Withdrawal};
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::{Network, TopUpId, Wallet, WithdrawalId};
use purser_actors::kernel::job::EntityJob;
use purser_actors::kernel::{Entity as _, table};
use purser_actors::money::{Cents, Usdc};
use purser_storage::{Batch, Store as _};

use crate::payouts::{to_app, verified};
use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::{IssuerBehavior, PaymentBehavior, outgoing};
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);
const ID: WithdrawalId = WithdrawalId(77);
const ALL: Usdc = Usdc::from_atomic(5_000_000);
const WITHDRAW: withdrawal::Job = withdrawal::Job::SendWithdrawal(ID);

/// A harness whose account owner has 5.00.
async fn credited() -> Harness {
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay(&card_for(OWNER, 1)).await.expect("it is paid");
    world.wait_until_idle().await;
    world
}

pub(crate) async fn set_frozen(world: &Harness, owner: Wallet, frozen: bool) {
    let message = frozen.then(|| "call us".to_owned());
    let result = in_time("an answer", world.engine.set_frozen(owner, message, None)).await;
    result.expect("it is taken");
}

pub(crate) async fn gate_hold(world: &Harness, work: &impl EntityJob) -> Option<GateHold> {
    world.engine.gate_hold(&work.store()).await.expect("readable")
}

/// Waits for some more attempts, none of which counts as failed, and asserts the reason for which the job is held.
pub(crate) async fn assert_stays_held(world: &Harness, work: &impl EntityJob, why: GateHold) {
    let tries = async || {
        let figures = world.engine.stats().await.expect("readable");
        figures.jobs[work.store().index().expect("a known type")]
            .attempts
            .attempts
    };
    let before = tries().await;
    eventually("it is tried again", async || tries().await > before + 3).await;
    assert_eq!(gate_hold(world, work).await, Some(why));
    let open = world.engine.open_jobs(100).await.expect("readable");
    let effect = open.iter().find(|effect| effect.job == *work).expect("it is open");
    assert_eq!((effect.attempts, effect.dead_lettered), (0, false), "no try is used up");
    let listed = world.engine.gated_jobs().await.expect("readable");
    assert!(listed.iter().any(|(one, held)| one.job == *work && *held == why));
    let figures = world.engine.stats().await.expect("readable");
    assert!(figures.gate_holds[why as usize] >= 1);
}

async fn withdraw(world: &Harness) -> Result<(), OperationError<Rejection>> {
    in_time("an answer", world.engine.withdraw(OWNER, (ID, evm(7), ALL), None)).await
}

async fn read(world: &Harness) -> Option<Withdrawal> {
    world.engine.withdrawal(&ID).await.expect("readable")
}

async fn assert_left_once(world: &Harness) {
    world.wait_until_idle().await;
    let withdrawal = read(world).await.expect("it exists");
    assert!(
        matches!(withdrawal.status, Status::CompleteSigned { .. }),
        "{withdrawal:?}"
    );
    assert_eq!(world.chain.transfers(), 2, "the payment, and one transfer out");
    assert!(
        world.ledger_balances().is_empty(),
        "what came in has left: {:?}",
        world.ledger_balances()
    );
    assert!(world.engine.gated_jobs().await.expect("readable").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_77_transfer_signed_during_a_freeze_is_rejected() {
    // Checks: the gate was passed before the freeze was durable, and the signed transfer would be stored after it. That
    // batch is rejected, nothing is sent, and no attempt is counted, over a crash too. After the unfreeze it continues
    // automatically.
    let world = credited().await;
    world.store.hold();
    let (engine, freezing) = (world.engine.clone(), world.engine.clone());
    let asked = tokio::spawn(async move { engine.withdraw(OWNER, (ID, evm(7), ALL), None).await });
    eventually("the withdrawal waits for the disk", async || world.store.queued() >= 1).await;
    let frozen = tokio::spawn(async move { freezing.set_frozen(OWNER, Some("call us".into()), None).await });
    eventually("the freeze waits behind it", async || world.store.queued() >= 2).await;
    // The first of the two is durable, so its job starts; the second is not.
    world.store.hold_after(1, true);
    world.store.commit(Batch::default(), Box::new(|_| {}));
    in_time("an answer", asked)
        .await
        .expect("no panic")
        .expect("it is taken on");
    eventually("it is signed", async || world.store.queued() >= 3).await;
    world.store.release();
    in_time("an answer", frozen)
        .await
        .expect("no panic")
        .expect("it is frozen");
    assert_stays_held(&world, &WITHDRAW, GateHold::AccountFrozen).await;
    assert_eq!(read(&world).await.expect("it exists").status, Status::Pending);
    assert_eq!((world.chain.transfers(), world.chain.submissions()), (1, 1));
    let world = world.crash().await;
    assert_stays_held(&world, &WITHDRAW, GateHold::AccountFrozen).await;
    assert_eq!(world.chain.transfers(), 1);
    set_frozen(&world, OWNER, false).await;
    assert_left_once(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_77_freeze_stops_unsigned_transfers_at_any_batch() {
    // Checks: the freeze follows each batch of a withdrawal in turn. What was unsigned when the freeze was reported
    // stays unsigned until the unfreeze; then it is sent once, over a crash or not.
    let (mut stayed, mut ended) = (0, false);
    for after in 0..40 {
        let world = credited().await;
        world.store.hold_after(after, true);
        let engine = world.engine.clone();
        let asked = tokio::spawn(async move { engine.withdraw(OWNER, (ID, evm(7), ALL), None).await });
        eventually("the cut or the end", async || {
            ended = asked.is_finished() && world.engine.open_jobs(1).await.is_ok_and(|open| open.is_empty());
            ended || world.store.is_starving()
        })
        .await;
        let (freezing, before) = (world.engine.clone(), world.store.queued());
        let frozen = tokio::spawn(async move { freezing.set_frozen(OWNER, Some("call us".into()), None).await });
        eventually("the freeze is behind that batch", async || {
            frozen.is_finished() || world.store.queued() > before
        })
        .await;
        world.store.release();
        in_time("an answer", frozen)
            .await
            .expect("no panic")
            .expect("it is frozen");
        let result = in_time("an answer", asked).await.expect("no panic");
        result.expect("it was asked before the freeze");
        let unsigned = read(&world).await.is_some_and(|one| one.status == Status::Pending);
        if unsigned {
            stayed += 1;
            assert_stays_held(&world, &WITHDRAW, GateHold::AccountFrozen).await;
            assert_eq!(read(&world).await.expect("it exists").status, Status::Pending);
            assert_eq!(world.chain.transfers(), 1, "only the payment");
        }
        let world = if after % 2 == 0 { world } else { world.crash().await };
        set_frozen(&world, OWNER, false).await;
        assert_left_once(&world).await;
        if ended {
            break;
        }
    }
    assert!(ended, "it never gets through");
    assert!(stayed >= 1, "one of these freezes came before the signature");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_77_signed_transfer_is_only_looked_up() {
    // Checks: signed and sent without a response before the freeze. During the freeze nothing more is sent, over a
    // crash. If the chain shows it, it completes; if it can't settle any more, it fails.
    for lands in [true, false] {
        let world = credited().await;
        let sent = outgoing(ID.0, evm(7), ALL);
        world.chain.set_behavior(&sent, PaymentBehavior::NotExecuted);
        withdraw(&world).await.expect("it is taken on");
        eventually("it was sent", async || world.chain.submissions() >= 3).await;
        set_frozen(&world, OWNER, true).await;
        assert_stays_held(&world, &WITHDRAW, GateHold::AccountFrozen).await;
        let submissions = world.chain.submissions();
        let world = world.crash().await;
        assert_stays_held(&world, &WITHDRAW, GateHold::AccountFrozen).await;
        assert_eq!(world.chain.submissions(), submissions, "it is not sent again");
        let last = match lands {
            true => {
                world.chain.settle(&sent);
                "complete"
            }
            false => {
                world.chain.expire(&sent);
                "failed"
            }
        };
        world.wait_until_idle().await;
        assert_eq!(read(&world).await.expect("it exists").status(), last);
    }
    let world = credited().await;
    world
        .chain
        .set_behavior(&outgoing(ID.0, evm(7), ALL), PaymentBehavior::NotExecuted);
    withdraw(&world).await.expect("it is taken on");
    eventually("it was sent", async || world.chain.submissions() >= 3).await;
    set_frozen(&world, OWNER, true).await;
    assert_stays_held(&world, &WITHDRAW, GateHold::AccountFrozen).await;
    world
        .chain
        .set_behavior(&outgoing(ID.0, evm(7), ALL), PaymentBehavior::Settles);
    set_frozen(&world, OWNER, false).await;
    assert_left_once(&world).await;
}

fn top_up_for(payer: Wallet) -> PaymentRequest {
    let amount = Cents::new(500);
    PaymentRequest {
        purchase: Purchase::CardBalance(CardBalancePurchase { amount }),
        ..card_for(payer, 1)
    }
}

/// Buys with an account that is frozen during settlement: the product exists, and its transfer waits.
async fn bought_frozen(world: &Harness, request: &PaymentRequest) -> PurchasedProduct {
    world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
    let (engine, paid) = (world.engine.clone(), request.clone());
    let paying = tokio::spawn(async move { engine.pay(paid).await });
    eventually("the payment is on its way", async || world.chain.at_gate() == 1).await;
    set_frozen(world, request.authorization.payer(), true).await;
    world.chain.open_gate();
    let paid = in_time("an answer", paying)
        .await
        .expect("no panic")
        .expect("it is paid");
    match paid.outcome {
        Outcome::Fulfilled { product, .. } => product,
        other => panic!("nothing was bought: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_77_top_up_of_a_frozen_account_is_not_sent() {
    // Checks: on both rails it waits unsigned, over a crash, and is delivered once after the unfreeze.
    for payer in [OWNER, Wallet::Solana([1; 32])] {
        let world = Harness::new().await;
        world.store.overwrite(table::issuer_linked(&payer), &[0xdd; 20]);
        let PurchasedProduct::TopUp(id) = bought_frozen(&world, &top_up_for(payer)).await else {
            panic!("another product")
        };
        let work = top_up::Job::SendTopUp(id);
        assert_stays_held(&world, &work, GateHold::AccountFrozen).await;
        let world = world.crash().await;
        assert_stays_held(&world, &work, GateHold::AccountFrozen).await;
        assert!(world.bridge.burns().is_empty() && world.chain.transfers() == 1);
        assert_eq!(status(&world, id).await, "paid");
        set_frozen(&world, payer, false).await;
        world.wait_until_idle().await;
        assert_eq!(status(&world, id).await, "credited");
        assert_eq!(world.bridge.credits().len(), 1);
    }
}

async fn status(world: &Harness, id: TopUpId) -> &'static str {
    let read = world.engine.top_up(&id).await.expect("readable");
    read.expect("it exists").status()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_77_payout_of_a_frozen_account_is_not_ordered() {
    // Checks: a paid payout is not ordered during the freeze; the rail is only queried, over a crash. A payout that the
    // rail has is followed although its account is frozen.
    for known in [false, true] {
        let world = Harness::new().await;
        verified(&world, OWNER).await;
        let PurchasedProduct::Payout(id) = bought_frozen(&world, &to_app(1, "@ada")).await else {
            panic!("another product")
        };
        let work = payout::Job::SendPayout(id);
        assert_stays_held(&world, &work, GateHold::AccountFrozen).await;
        let world = world.crash().await;
        assert_stays_held(&world, &work, GateHold::AccountFrozen).await;
        assert!(world.payouts.calls().is_empty(), "nothing was ordered");
        let payout = async || world.engine.payout(&id).await.expect("readable").expect("it exists");
        if known {
            world
                .payouts
                .add_known_order(payout().await.key, 2, crate::support::payouts::complete());
        } else {
            world.payouts.set_behaviors(&[IssuerBehavior::Ready]);
            set_frozen(&world, OWNER, false).await;
        }
        eventually("it is complete", async || payout().await.status() == "complete").await;
        assert_eq!(world.payouts.calls().len(), usize::from(!known));
        assert_eq!(gate_hold(&world, &work).await, None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn treasury_is_reserved_on_a_chain_with_enough_funds() {
    // Checks: a reservation counts earlier unsent ones, over a restart. A dropped one is released; a sent one no longer
    // counts. Where a chain's treasury has less than it owes, no top-up is sold and nothing is claimed.
    let world = credited().await;
    let short = Err(ReservationError::InsufficientTreasury(Network::Base));
    let promise = async |world: &Harness, id: u128, atomic: u64| {
        let (id, amount) = (WithdrawalId(id), Usdc::from_atomic(atomic));
        world.engine.reserve_treasury(id, &evm(7), amount).await
    };
    world.chain.holdings.treasury(ALL);
    assert_eq!(promise(&world, 1, 5_000_001).await.map(drop), short);
    let first = promise(&world, 2, 3_000_000)
        .await
        .expect("the treasury has enough left");
    assert_eq!(promise(&world, 3, 3_000_000).await.map(drop), short);
    drop(first);
    promise(&world, 4, 3_000_000).await.map(drop).expect("it is free again");

    world
        .chain
        .set_behavior(&outgoing(ID.0, evm(7), ALL), PaymentBehavior::NotExecuted);
    withdraw(&world).await.expect("it is taken on");
    eventually("it was sent", async || world.chain.submissions() >= 2).await;
    assert_eq!(promise(&world, 5, 1).await.map(drop), short);
    let world = world.crash().await;
    assert_eq!(promise(&world, 6, 1).await.map(drop), short, "over a restart");
    world.chain.holdings.treasury(Usdc::from_atomic(4_999_999));
    world.store.overwrite(table::issuer_linked(&evm(2)), &[0xdd; 20]);
    let request = top_up_for(evm(2));
    let refused = world.pay(&request).await.map(|paid| paid.payment);
    assert_eq!(refused, Err(ClaimError::InsufficientTreasury(Network::Base)));
    assert_eq!(world.chain.transfers(), 1, "nothing was charged");
    world.chain.settle(&outgoing(ID.0, evm(7), ALL));
    world.wait_until_idle().await;
    let paid = world.pay(&request).await.expect("nothing is owed any more");
    assert!(matches!(paid.outcome, Outcome::Fulfilled { .. }));
    world.chain.holdings.close_accounts(true);
    assert_eq!(
        promise(&world, 7, 1).await.map(drop),
        Err(ReservationError::CannotReceive)
    );
}
