//! Withdrawals through the engine: the balance, the chain, and crashes.

use purser_actors::engine::{Attribution, AttributionError, ListStart, OperationError, RestoreWindow};
use purser_actors::entity::account::Rejection;
use purser_actors::entity::withdrawal::{Status, Withdrawal};
use purser_actors::id::{Network, RequestId, Wallet, WithdrawalId};
use purser_actors::ledger::LedgerAccount;
use purser_actors::money::Usdc;
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::{Clock, OutgoingTransfer, Timestamp};

use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::{IssuerBehavior, PaymentBehavior, outgoing};
use crate::support::{eventually, in_time};

pub(crate) const OWNER: Wallet = evm(1);
pub(crate) const ID: WithdrawalId = WithdrawalId(77);
/// Credit of the declined card of a [`Harness`].
pub(crate) const ALL: Usdc = Usdc::from_atomic(5_000_000);

/// A harness whose account owner has 5.00.
pub(crate) async fn credited() -> Harness {
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay(&card_for(OWNER, 1)).await.expect("it is paid");
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, (5_000_000, 0));
    world
}

pub(crate) async fn balance(world: &Harness) -> (u64, u64) {
    let account = world
        .engine
        .account(&OWNER)
        .await
        .expect("readable")
        .expect("it exists");
    (account.balance.atomic(), account.held.atomic())
}

pub(crate) async fn withdraw(world: &Harness, amount: Usdc) -> Result<(), OperationError<Rejection>> {
    in_time("an answer", world.engine.withdraw(OWNER, (ID, evm(7), amount), None)).await
}

pub(crate) async fn withdrawal(world: &Harness) -> Withdrawal {
    world
        .engine
        .withdrawal(&ID)
        .await
        .expect("readable")
        .expect("it exists")
}

/// Asserts one transfer and one posting.
pub(crate) async fn assert_complete(world: &Harness) {
    assert!(matches!(withdrawal(world).await.status, Status::CompleteSigned { .. }));
    assert_eq!(balance(world).await, (0, 0));
    assert_eq!(world.chain.transfers(), 2, "the payment, and one transfer out");
    assert!(
        world.ledger_balances().is_empty(),
        "what came in has left: {:?}",
        world.ledger_balances()
    );
    assert_eq!(world.event_count("withdrawal.complete"), 1);
}

/// A restore whose window has ended.
pub(crate) const fn restore_window(since: Timestamp, until: Timestamp) -> RestoreWindow {
    let at = until;
    RestoreWindow { since, until, at }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_27_concurrent_withdrawals_of_the_whole_balance_are_one() {
    // Checks: of ten concurrent withdrawals one is accepted; while it is pending its amount is on hold, also in the
    // ledger.
    let world = credited().await;
    world
        .chain
        .set_behavior(&outgoing(ID.0, evm(7), ALL), PaymentBehavior::Waits);
    let calls: Vec<_> = (0..10)
        .map(|n| {
            let (engine, id) = (world.engine.clone(), WithdrawalId(ID.0 + n));
            tokio::spawn(async move { engine.withdraw(OWNER, (id, evm(7), ALL), None).await })
        })
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(in_time("an answer", call).await.expect("it does not panic"));
    }
    assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), 1);
    let refused = |a: &&Result<_, _>| matches!(a, Err(OperationError::Rejected(Rejection::Insufficient { available })) if *available == Usdc::ZERO);
    assert_eq!(answers.iter().filter(refused).count(), 9);
    world.chain.open_gate();
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, (0, 0));
    assert_eq!(world.chain.transfers(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pending_withdrawal_is_on_hold_in_the_ledger() {
    // Checks: from the batch that accepts it to the one that ends it, the amount is owed and on hold.
    let world = credited().await;
    world
        .chain
        .set_behavior(&outgoing(ID.0, evm(7), ALL), PaymentBehavior::Waits);
    withdraw(&world, ALL).await.expect("it is taken on");
    eventually("it is sent", async || world.chain.at_gate() == 1).await;
    assert_eq!(
        (balance(&world).await, withdrawal(&world).await.transaction()),
        ((5_000_000, 5_000_000), None)
    );
    let books: Vec<_> = world.ledger_balances().into_iter().collect();
    let expected = [
        (LedgerAccount::Treasury(Network::Base), 5_000_000),
        (LedgerAccount::CustomerHeld(OWNER), -5_000_000),
    ];
    assert_eq!(books, expected);
    world.chain.open_gate();
    world.wait_until_idle().await;
    assert_complete(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn crash_anywhere_sends_the_withdrawal_once() {
    // Checks: crashes before the signature, during the submission, and after settlement leave one transfer, with the
    // same bytes in every attempt (this fake chain rejects others).
    for behavior in [
        PaymentBehavior::Settles,
        PaymentBehavior::ResponseLost,
        PaymentBehavior::Waits,
        PaymentBehavior::Unreachable(2),
        PaymentBehavior::Panics(2),
    ] {
        let mut world = credited().await;
        world.chain.set_behavior(&outgoing(ID.0, evm(7), ALL), behavior);
        withdraw(&world, ALL).await.expect("it is taken on");
        if behavior == PaymentBehavior::Waits {
            eventually("it is sent", async || world.chain.at_gate() == 1).await;
        }
        world = world.crash().await;
        world.chain.open_gate();
        world.wait_until_idle().await;
        assert_complete(&world).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lost_withdrawal_fails_only_on_proof() {
    // Checks: declined or unanswered, it stays pending while it could still settle, over a crash too. Once the chain
    // proves that it can't, the amount is available again and nothing was sent.
    for behavior in [PaymentBehavior::NotExecuted, PaymentBehavior::Declined] {
        let mut world = credited().await;
        let sent = outgoing(ID.0, evm(7), ALL);
        world.chain.set_behavior(&sent, behavior);
        withdraw(&world, ALL).await.expect("it is taken on");
        for _ in 0..2 {
            let seen = world.chain.lookups();
            eventually("the chain is read again", async || world.chain.lookups() > seen + 2).await;
            assert!(matches!(withdrawal(&world).await.status, Status::Sent(_)));
            assert_eq!(balance(&world).await, (5_000_000, 5_000_000));
            world = world.crash().await;
        }
        world.chain.expire(&sent);
        world.wait_until_idle().await;
        assert!(matches!(withdrawal(&world).await.status, Status::Failed { .. }));
        assert_eq!(balance(&world).await, (5_000_000, 0));
        assert_eq!(world.chain.transfers(), 1, "only the payment");
        let mut books = world.ledger_balances();
        assert_eq!(books.remove(&LedgerAccount::Customer(OWNER)), Some(-5_000_000));
        assert_eq!(world.event_count("withdrawal.failed"), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn late_settled_withdrawal_is_complete() {
    // Checks: no response arrives, and then the chain shows it.
    let world = credited().await;
    let sent = outgoing(ID.0, evm(7), ALL);
    world.chain.set_behavior(&sent, PaymentBehavior::NotExecuted);
    withdraw(&world, ALL).await.expect("it is taken on");
    eventually("the chain is read", async || world.chain.lookups() > 2).await;
    world.chain.settle(&sent);
    world.wait_until_idle().await;
    assert_complete(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unpreparable_withdrawal_is_released() {
    // Checks: after its attempts nothing that could settle was signed, so it fails and the balance is unchanged.
    let world = credited().await;
    world
        .chain
        .set_behavior(&outgoing(ID.0, evm(7), ALL), PaymentBehavior::Unreachable(u32::MAX));
    withdraw(&world, ALL).await.expect("it is taken on");
    world.wait_until_idle().await;
    let failed = withdrawal(&world).await;
    assert_eq!(
        failed.status,
        Status::Failed {
            reason: "not_sent".into()
        }
    );
    assert_eq!(balance(&world).await, (5_000_000, 0));
    assert_eq!(world.chain.transfers(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn statement_has_every_change_and_its_cause() {
    // Checks: credit, hold and payout once each, in order, with the balance after each; a page starts where the last
    // one ended, in both directions; a period begins at its first line.
    let world = credited().await;
    withdraw(&world, ALL).await.expect("it is taken on");
    world.wait_until_idle().await;
    let (lines, more) = world.engine.statement(&OWNER, None, 10).await.expect("readable");
    let changes: Vec<_> = lines
        .iter()
        .map(|(_, e)| (e.change.name(), e.balance.atomic(), e.held.atomic()))
        .collect();
    assert_eq!(
        changes,
        [
            ("credited", 5_000_000, 0),
            ("held", 5_000_000, 5_000_000),
            ("withdrawn", 0, 0)
        ]
    );
    assert!(!more && lines[1].1.cause == ID.to_string() && lines[2].1.cause == ID.to_string());
    let (rest, more) = world
        .engine
        .statement(&OWNER, Some(lines[0].0), 1)
        .await
        .expect("readable");
    assert_eq!((rest.as_slice(), more), (&lines[1..2], true));
    let newest = world.engine.statement(&OWNER, ListStart::Before(None), 2).await;
    let (newest, more) = newest.expect("readable");
    assert_eq!((&newest[0], &newest[1], more), (&lines[2], &lines[1], true));
    let before = ListStart::Before(Some(newest[1].0));
    let (oldest, more) = world.engine.statement(&OWNER, before, 2).await.expect("readable");
    assert_eq!((oldest.as_slice(), more), (&lines[..1], false));
    // Lines of a period: those from the first one at or after its beginning.
    for line in &lines {
        let at = world.engine.statement_position(&OWNER, line.1.at).await.expect("found");
        let (from, _) = world.engine.statement(&OWNER, Some(at), 1).await.expect("readable");
        assert_eq!(from.first().map(|(_, found)| found.at), Some(line.1.at));
    }
    let later = world.clock.now().plus_ms(60_000);
    let end = world.engine.statement_position(&OWNER, later).await.expect("found");
    let (none, _) = world.engine.statement(&OWNER, Some(end), 1).await.expect("readable");
    assert!(none.is_empty(), "it is after the last line");
    let (own, _) = world.engine.withdrawals_of(&OWNER, None, 10).await.expect("readable");
    assert_eq!(own.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [ID]);
    assert!(
        world
            .engine
            .statement(&evm(2), None, 10)
            .await
            .expect("readable")
            .0
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn withdrawal_waits_after_a_restore_until_every_transfer_is_tracked() {
    // Checks: an unreadable chain, a transfer that may still settle and an untracked transfer each keep an unsigned
    // withdrawal waiting. An operator's attribution releases it, and it is sent once. Attributions survive a crash.
    let world = credited().await;
    let now = world.clock.now();
    world.chain.set_unresponsive(true);
    let (since, until) = (now, now.plus_ms(60_000));
    let world = world.restored(restore_window(since, until)).await;
    withdraw(&world, ALL).await.expect("the engine takes it on");
    let held = async |world: &Harness| {
        let before = world.chain.listings();
        eventually("the chain is asked", async || world.chain.listings() > before + 2).await;
        assert!(world.engine.are_withdrawals_paused() && world.chain.transfers() == 1);
        assert_eq!(withdrawal(world).await.status, Status::Pending);
    };
    held(&world).await;
    world.chain.set_unresponsive(false);
    held(&world).await;
    let transfer = OutgoingTransfer {
        transaction: "left".into(),
        to: evm(7),
        amount: ALL,
        at: until,
        fingerprint: [3; 32],
        index: 0,
    };
    for at in [Timestamp(since.0 - 1), until, until.plus_ms(10)] {
        let transaction = format!("at {}", at.0);
        let left = OutgoingTransfer {
            at,
            transaction,
            ..transfer.clone()
        };
        world
            .chain
            .add_outgoing(if at == until { transfer.clone() } else { left });
    }
    world.clock.advance(60_001);
    held(&world).await;
    // A backup of this store is restored too: untracked transfers are not forgotten.
    let (since, until) = (until.plus_ms(2), until.plus_ms(2));
    let world = world.restored(restore_window(since, until)).await;
    world.clock.advance(2);
    held(&world).await;
    let unexplained = world.engine.untracked_transfers().await.expect("readable");
    let [one] = &unexplained[..] else {
        panic!("{unexplained:?}")
    };
    assert_eq!(
        (&one.transfer, one.has_account, &one.candidates),
        (&transfer, false, &vec![ID.to_string()])
    );

    let act = OperatorAction {
        operator: "ana".into(),
        role: Role::Operator,
        request_id: RequestId(7),
    };
    let book = async |world: &Harness, booking| {
        world
            .engine
            .attribute_transfer("left", (booking, None), (&act, "seen".into()))
            .await
    };
    assert_eq!(
        book(&world, Attribution::Account(evm(7))).await,
        Err(AttributionError::Mismatch),
        "the receiver has no account"
    );
    assert_eq!(book(&world, Attribution::Loss).await, Ok(Attribution::Loss));
    assert_eq!(book(&world, Attribution::Loss).await, Err(AttributionError::NotFound));
    world.wait_until_idle().await;
    assert!(matches!(withdrawal(&world).await.status, Status::CompleteSigned { .. }));
    assert_eq!((balance(&world).await, world.chain.transfers()), ((0, 0), 2));
    let world = world.crash().await;
    assert!(!world.engine.are_withdrawals_paused());
}
