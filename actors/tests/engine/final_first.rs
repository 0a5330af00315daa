//! Incoming transfers without a payment and our own outgoing transfers: neither is decided or completed before it is
//! final.

use std::sync::Arc;

use purser_actors::engine::{IncomingDecision, IncomingDecisionError, LostHistory};
use purser_actors::entity::withdrawal::Status;
use purser_actors::id::{DepositId, Network, RequestId, WithdrawalId};
use purser_actors::kernel::Entity as _;
use purser_actors::ledger::LedgerAccount;
use purser_actors::money::Usdc;
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::{ChainMovement, Clock as _, Timestamp};

use crate::reconciliation::{kinds, wait_for_discrepancies, wait_for_full_run};
use crate::support::eventually;
use crate::support::harness::{Harness, evm};
use crate::support::lists::FakeLists;
use crate::support::ports::{TREASURY, outgoing};
use crate::top_ups;
use crate::withdrawals::{ALL, ID, OWNER, assert_complete, balance, credited, withdraw, withdrawal};

fn movement(transaction: &str, incoming: bool, at: Timestamp) -> ChainMovement {
    ChainMovement {
        transaction: transaction.to_owned(),
        index: 0,
        incoming,
        counterparty: evm(7),
        amount: ALL,
        at,
        fingerprint: [99; 32],
    }
}

/// Balance of the sender's account.
async fn sender_balance(world: &Harness) -> u64 {
    let account = world.engine.account(&evm(7)).await.unwrap();
    account.map_or(0, |account| account.balance.atomic())
}

async fn status(world: &Harness, transaction: &str) -> Option<&'static str> {
    let id = DepositId::for_transfer(Network::Base, transaction, 0);
    let found = world.engine.incoming_transfer(&id).await.unwrap();
    found.map(|found| found.status())
}

/// Waits for some more checks.
async fn wait_for_recheck(lists: &FakeLists) {
    let asked = lists.finality_calls();
    eventually("it is looked at again", async || lists.finality_calls() > asked + 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_incoming_transfer_is_decided_only_once_final() {
    // Checks: a transfer from the lost history would be credited automatically. Until it is final it has no ledger
    // entry, no owner and no operator decision, over a crash too. A reorg drops it, and another is credited after it.
    // Once it is included again, it is credited once.
    let lists = Arc::new(FakeLists::default());
    let world = Harness::new().await;
    let since = world.clock.now();
    let window = LostHistory {
        since,
        restored: since.plus_ms(30_000),
        until: since.plus_ms(60_000),
    };
    lists.set_unconfirmed(true);
    lists.show(movement("z", true, since));
    let mut world = world.with_lost_history(window).reconciling(lists.reconciling()).await;
    world.clock.advance(60_001);
    let act = OperatorAction {
        operator: "ana".into(),
        role: Role::Operator,
        request_id: RequestId(7),
    };
    for _ in 0..2 {
        wait_for_recheck(&lists).await;
        assert_eq!((status(&world, "z").await, sender_balance(&world).await), (None, 0));
        assert!(world.ledger_balances().is_empty(), "{:?}", world.ledger_balances());
        let (id, credit) = (
            DepositId::for_transfer(Network::Base, "z", 0),
            IncomingDecision::Return { keep_payout: false },
        );
        let ruled = world.engine.decide_incoming(id, credit, (&act, "seen".into())).await;
        assert_eq!(ruled.map(drop), Err(IncomingDecisionError::NotFound));
        world = world.crash().await;
    }
    lists.hide("z");
    lists.set_unconfirmed(false);
    lists.show(movement("b", true, since));
    eventually("the other is credited", async || {
        status(&world, "b").await == Some("credited")
    })
    .await;
    assert_eq!(
        (status(&world, "z").await, sender_balance(&world).await),
        (None, 5_000_000)
    );
    lists.show(movement("z", true, since));
    eventually("it is credited", async || status(&world, "z").await == Some("credited")).await;
    world.wait_until_idle().await;
    assert_eq!(sender_balance(&world).await, 10_000_000);
    assert_eq!(
        world.ledger_balances()[&LedgerAccount::Treasury(Network::Base)],
        10_000_000
    );
}

/// A withdrawal of everything that is on chain and not final; it was sent again since then.
async fn unconfirmed_withdrawal() -> Harness {
    let world = credited().await;
    world.chain.set_outgoing_unconfirmed(true);
    withdraw(&world, ALL).await.expect("it is taken on");
    eventually("it is sent", async || world.chain.submissions() > 3).await;
    assert!(world.chain.has(&outgoing(ID.0, evm(7), ALL)));
    world
}

async fn assert_held(world: &Harness) {
    assert!(matches!(withdrawal(world).await.status, Status::Sent(_)));
    assert_eq!(balance(world).await, (5_000_000, 5_000_000));
    assert_eq!(world.ledger_balances()[&LedgerAccount::CustomerHeld(OWNER)], -5_000_000);
    assert_eq!(world.event_count("withdrawal.complete"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_withdrawal_completes_only_once_final() {
    // Checks: while on chain and not final, it stays sent and held, over a crash too. After a reorg the same transfer
    // is sent again, and no other. Once final, it completes once. Meanwhile its missing amount is not deducted from the
    // treasury twice.
    let world = unconfirmed_withdrawal().await;
    assert_held(&world).await;
    let world = world.crash().await;
    assert_held(&world).await;
    world.chain.reorg(&outgoing(ID.0, evm(7), ALL));
    eventually("it is sent again", async || {
        world.chain.has(&outgoing(ID.0, evm(7), ALL))
    })
    .await;
    assert_held(&world).await;
    world.chain.holdings.treasury(ALL);
    let (id, to) = (WithdrawalId(ID.0 + 1), evm(8));
    let reservation = world.engine.reserve_treasury(id, &to, ALL).await;
    reservation.map(drop).expect("the treasury has enough left");
    world.chain.set_outgoing_unconfirmed(false);
    world.wait_until_idle().await;
    assert_complete(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_permanently_dropped_withdrawal_is_released_once() {
    // Checks: a reorg drops it after its expiry: it fails, and the whole amount is available.
    let world = unconfirmed_withdrawal().await;
    let sent = outgoing(ID.0, evm(7), ALL);
    world
        .chain
        .set_behavior(&sent, crate::support::ports::PaymentBehavior::NotExecuted);
    world.chain.expire(&sent);
    world.chain.reorg(&sent);
    world.wait_until_idle().await;
    assert!(matches!(withdrawal(&world).await.status, Status::Failed { .. }));
    assert_eq!(balance(&world).await, (5_000_000, 0));
    assert_eq!(world.chain.transfers(), 1, "only the payment");
    assert_eq!(world.event_count("withdrawal.failed"), 1);
    assert_eq!(world.event_count("withdrawal.complete"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_top_up_is_delivered_once_its_transfer_is_final() {
    // Checks: while the transfer on Base may be dropped, the top-up stays `paid`, over a crash too. After a reorg it is
    // sent again; once final, it is delivered once.
    let world = Harness::new().await;
    top_ups::link(&world, OWNER);
    world.chain.set_outgoing_unconfirmed(true);
    let id = top_ups::buy(&world, &top_ups::top_up_for(OWNER, 1)).await;
    let paid = async |world: &Harness| world.engine.top_up(&id).await.unwrap().unwrap().status() == "paid";
    eventually("it is sent", async || world.chain.submissions() > 4).await;
    assert!(paid(&world).await && world.chain.transfers() == 2);
    let world = world.crash().await;
    let sent = outgoing(id.0, purser_actors::id::Wallet::Evm([0xdd; 20]), ALL);
    assert!(world.chain.has(&sent));
    world.chain.reorg(&sent);
    eventually("it is sent again", async || world.chain.has(&sent)).await;
    assert!(paid(&world).await);
    world.chain.set_outgoing_unconfirmed(false);
    world.wait_until_idle().await;
    let top_up = world.engine.top_up(&id).await.unwrap().unwrap();
    assert_eq!((top_up.status(), world.chain.transfers()), ("credited", 2));
    assert_eq!(world.event_count("top_up.delivered"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unfinal_transfer_is_no_discrepancy() {
    // Checks: a withdrawal that was seen on chain and an unclaimed incoming transfer are no discrepancy while a reorg
    // may drop them. An untracked outgoing transfer is one at once. The incoming transfer is one from finality until
    // its decision.
    let lists = Arc::new(FakeLists::default());
    let world = unconfirmed_withdrawal().await;
    let sent = outgoing(ID.0, evm(7), ALL);
    assert_eq!(sent.payer(), purser_actors::id::Wallet::Evm(TREASURY));
    lists.set_unconfirmed(true);
    lists.show(ChainMovement {
        fingerprint: sent.fingerprint(),
        ..movement("withdrawn", false, Timestamp(0))
    });
    lists.show(movement("came", true, Timestamp(0)));
    lists.show(ChainMovement {
        amount: Usdc::from_atomic(1),
        ..movement("stolen", false, Timestamp(0))
    });
    let world = world.reconciling(lists.reconciling()).await;
    wait_for_full_run(&world).await;
    let of_the_payment = "missing_deposit";
    assert_eq!(kinds(&world).await, [of_the_payment, "unmatched_transfer"]);
    assert_held(&world).await;
    lists.set_unconfirmed(false);
    wait_for_discrepancies(
        &world,
        &[
            "missing_deposit",
            "unmatched_deposit",
            "unmatched_transfer",
            "unmatched_transfer",
        ],
    )
    .await;
}
