//! Incoming transfers without a payment: read from a durable cursor, counted separately, and checked with the providers
//! first.

use std::sync::Arc;

use purser_actors::engine::{
    Attribution, AttributionError, AttributionWait, IncomingDecision, IncomingDecisionError, LostHistory, RestoreWindow,
};
use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::incoming::{Incoming, Status};
use purser_actors::entity::top_up::CardBalancePurchase;
use purser_actors::id::{DepositId, JobId, Network, RequestId, Wallet};
use purser_actors::kernel::Entity as _;
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::money::Usdc;
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::{ChainMovement, ErrorKind, OutgoingTransfer, Timestamp};
use purser_actors::reconciliation::EntryStatus;

use super::payouts::{buy as paid_out, to_app, verified};
use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::lists::FakeLists;
use crate::support::payouts::complete;
use crate::support::ports::IssuerBehavior;

/// A lost history from now on, for a minute.
fn lost(world: &Harness) -> LostHistory {
    use purser_actors::port::Clock as _;
    let since = world.clock.now();
    LostHistory {
        since,
        restored: since.plus_ms(30_000),
        until: since.plus_ms(60_000),
    }
}

fn incoming_movement(transaction: &str, index: u32, atomic: u64, at: Timestamp) -> ChainMovement {
    ChainMovement {
        transaction: transaction.to_owned(),
        index,
        incoming: true,
        counterparty: evm(7),
        amount: Usdc::from_atomic(atomic),
        at,
        fingerprint: [90 + u8::try_from(index).unwrap(); 32],
    }
}

async fn incoming(world: &Harness, transaction: &str, index: u32) -> Option<Incoming> {
    let id = DepositId::for_transfer(Network::Base, transaction, index);
    world.engine.incoming_transfer(&id).await.unwrap()
}

async fn wait_for_status(world: &Harness, transaction: &str, index: u32, status: &str) {
    eventually(status, async || {
        let found = incoming(world, transaction, index).await;
        found.is_some_and(|found| found.status() == status)
    })
    .await;
}

async fn balance(world: &Harness, n: u8) -> u64 {
    let account = world.engine.account(&evm(n)).await.unwrap();
    account.map_or(0, |account| account.balance.atomic())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_79_two_transfers_of_one_transaction_count_once_each() {
    // Checks: both are credited to a sender without an account, over power cuts after any batch. A third, from before
    // the backup, and a fourth, after the window, wait for an operator, whose decision applies once. A rail without an
    // answer is queried again before any credit.
    for after in 0..24 {
        let lists = Arc::new(FakeLists::default());
        let world = Harness::new().await;
        let window = lost(&world);
        lists.show(incoming_movement("a", 0, 1_000_000, window.since));
        lists.show(incoming_movement("a", 1, 2_000_000, window.since));
        lists.show(incoming_movement("b", 2, 4_000_000, Timestamp(window.since.0 - 1)));
        lists.show(incoming_movement("c", 3, 8_000_000, window.until.plus_ms(1)));
        world
            .payouts
            .set_find_errors(&[ErrorKind::Temporary, ErrorKind::Unknown]);
        let world = world.with_lost_history(window).reconciling(lists.reconciling()).await;
        world.clock.advance(60_001);
        world.store.hold_after(after, after % 2 == 0);
        eventually("a cut", async || {
            world.store.is_starving() || world.store.committed() >= after
        })
        .await;
        let world = world.crash().await;
        for (transaction, index, status) in [
            ("a", 0, "credited"),
            ("a", 1, "credited"),
            ("b", 2, "waiting"),
            ("c", 3, "waiting"),
        ] {
            wait_for_status(&world, transaction, index, status).await;
        }
        assert_eq!(balance(&world, 7).await, 3_000_000, "cut after {after}");
        let books: Vec<_> = world.ledger_balances().into_iter().collect();
        let held = [
            (LedgerAccount::Treasury(Network::Base), 3_000_000),
            (LedgerAccount::Customer(evm(7)), -3_000_000),
        ];
        assert_eq!(books, held, "cut after {after}");
        if after == 23 {
            decide_remaining(&world).await;
        }
    }
}

/// An operator decides the other two.
async fn decide_remaining(world: &Harness) {
    let act = OperatorAction {
        operator: "ana".into(),
        role: Role::Operator,
        request_id: RequestId(7),
    };
    let rule = async |transaction: &str, index, rule| {
        let id = DepositId::for_transfer(Network::Base, transaction, index);
        world.engine.decide_incoming(id, rule, (&act, "seen".into())).await
    };
    let (back, account) = (IncomingDecision::Return { keep_payout: false }, Some(evm(9)));
    let credit = IncomingDecision::Credit {
        account,
        keep_payout: false,
    };
    let kept = rule("b", 2, IncomingDecision::OperatorFunds).await.unwrap();
    assert_eq!(kept.status, Status::OperatorFunds);
    assert_eq!(
        rule("b", 2, back).await,
        Err(IncomingDecisionError::InvalidState("operator_funds"))
    );
    assert_eq!(rule("c", 3, credit).await, Err(IncomingDecisionError::AccountNotFound));
    for _ in 0..2 {
        rule("c", 3, back).await.unwrap();
    }
    wait_for_status(world, "c", 3, "returned").await;
    eventually("it has left", async || world.chain.transfers() == 1).await;
    eventually("the account knows", async || balance(world, 7).await == 3_000_000).await;
    assert_eq!(world.ledger_balances()[&LedgerAccount::OperatorFunds], -4_000_000);
    assert!(world.engine.incoming_transfers(None, 10).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_80_card_at_the_issuer_is_adopted_after_any_crash() {
    // Checks: a card was bought after the backup. Whichever batch of the adoption is the last before a power cut, there
    // is one payment, one card under its old id, one card at the issuer, and no credit.
    for after in 0..16 {
        let lists = Arc::new(FakeLists::default());
        let world = Harness::new().await;
        let (backup, window) = (world.store.backup(), lost(&world));
        let request = card_for(evm(1), 1);
        let paid = world.pay_until_known(&request).await;
        let card = bought_card(&paid);
        world.wait_until_idle().await;
        assert_eq!(card.0, paid.payment.product_id(), "its name follows from the payment");
        lists.add_order(card.0, EntryStatus::Completed, 500);
        let moved = ChainMovement {
            transaction: "paid".into(),
            index: 0,
            incoming: true,
            counterparty: evm(1),
            amount: request.authorization.value(),
            at: window.since,
            fingerprint: request.authorization.fingerprint(),
        };
        lists.show(moved);
        let world = world.with_lost_history(window).back_to(backup).await;
        assert!(world.cards().is_empty());
        let world = world.reconciling(lists.reconciling()).await;
        world.store.hold_after(after, true);
        eventually("a cut", async || {
            world.store.is_starving() || world.store.committed() >= after
        })
        .await;
        let world = world.crash().await;
        wait_for_status(&world, "paid", 0, "adopted").await;
        eventually("the card is usable", async || {
            world.cards().first().is_some_and(|(_, card)| card.details().is_some())
        })
        .await;
        let cards = world.cards();
        assert_eq!((cards.len(), cards[0].0, cards[0].1.owner), (1, card, evm(1)));
        assert_eq!(
            (world.issuer.cards(), world.chain.transfers()),
            (1, 1),
            "cut after {after}"
        );
        assert_eq!(balance(&world, 1).await, 0);
        let books: Vec<_> = world.ledger_balances().into_iter().collect();
        let sold = [
            (LedgerAccount::Treasury(Network::Base), 5_000_000),
            (LedgerAccount::Provider(LedgerProvider::CardIssuer), -5_000_000),
        ];
        assert_eq!(books, sold, "cut after {after}");
        let again = world.pay_until_known(&request).await;
        assert_eq!((bought_card(&again), again.won), (card, false));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_80_transfer_that_bought_a_payout_is_not_credited() {
    // Checks: a payout of a lost history, whose recipient is in no list, waits with the rail's report.
    let lists = Arc::new(FakeLists::default());
    let world = Harness::new().await;
    verified(&world, evm(1)).await;
    let (backup, window) = (world.store.backup(), lost(&world));
    let request = to_app(1, "@ada");
    world
        .payouts
        .set_behaviors(&[IssuerBehavior::Ready, IssuerBehavior::Ready]);
    let payout = paid_out(&world, &request).await;
    eventually("the rail has it", async || world.payouts.paid() == 1).await;
    world.payouts.add_known_order(JobId(payout.0), 2, complete());
    lists.show(ChainMovement {
        counterparty: evm(1),
        amount: request.authorization.value(),
        fingerprint: request.authorization.fingerprint(),
        ..incoming_movement("paid", 0, 0, window.since)
    });
    let world = world.with_lost_history(window).back_to(backup).await;
    let world = world.reconciling(lists.reconciling()).await;
    wait_for_status(&world, "paid", 0, "waiting").await;
    let shows = incoming(&world, "paid", 0).await.unwrap().provider_report.unwrap();
    assert!(shows.starts_with("payouts: "), "{shows}");
    assert_eq!((balance(&world, 1).await, world.payouts.paid()), (0, 1));
    // Presented again, it is the same order at the rail.
    let again = paid_out(&world, &request).await;
    assert_eq!(again, payout);
    wait_for_status(&world, "paid", 0, "claimed").await;
    assert_eq!(world.payouts.paid(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_payment_settled_after_the_backup_has_its_card() {
    // Checks: the backup has the payment as declined; in the lost history it was presented again, settled and bought a
    // card. After the restore the card is found at the issuer, and nothing is credited.
    use crate::support::ports::PaymentBehavior;
    let lists = Arc::new(FakeLists::default());
    let world = Harness::new().await.reconciling(lists.reconciling()).await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Declined);
    let result = world.pay_until_known(&request).await;
    let payment = world.engine.payment(&result.payment).await.unwrap().unwrap();
    assert_eq!(payment.status(), "declined");
    let (backup, window) = (world.store.backup(), lost(&world));
    world.chain.settle(&request.authorization);
    lists.add_order(result.payment.product_id(), EntryStatus::Completed, 500);
    let world = world.with_lost_history(window).back_to(backup).await;
    eventually("it has its card", async || {
        let payment = world.engine.payment(&result.payment).await.unwrap().unwrap();
        payment.status() == "fulfilled"
    })
    .await;
    let payment = world.engine.payment(&result.payment).await.unwrap().unwrap();
    let purser_actors::entity::payment::Status::Fulfilled { product, .. } = payment.status else {
        panic!("{payment:?}")
    };
    assert!(matches!(product, PurchasedProduct::Card(card) if card.0 == result.payment.product_id()));
    assert_eq!(balance(&world, 1).await, 0);
}

/// An operator attributes the burn: wrongly, rightly and again.
async fn attribute_burn(world: &Harness, plain: DepositId, doubtful: DepositId) {
    let act = OperatorAction {
        operator: "ana".into(),
        role: Role::Operator,
        request_id: RequestId(7),
    };
    let book = async |id| {
        let booked =
            world
                .engine
                .attribute_transfer("burned", (Attribution::Incoming(id), None), (&act, "seen".into()));
        booked.await
    };
    assert_eq!(book(plain).await, Err(AttributionError::Mismatch));
    assert_eq!(
        book(doubtful).await,
        Err(AttributionError::MayStillSettle(AttributionWait::Attestation)),
        "no attestation shows the recipient"
    );
    world.bridge.has_burned("burned", [0xdd; 20], 1_000_000);
    assert_eq!(
        book(doubtful).await,
        Err(AttributionError::Mismatch),
        "so little was not paid for"
    );
    world.bridge.has_burned("burned", [0xdd; 20], 22_000_000);
    assert_eq!(book(doubtful).await, Ok(Attribution::Incoming(doubtful)));
    assert_eq!(book(doubtful).await, Err(AttributionError::NotFound));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn incoming_transfer_waits_for_the_list_of_outgoing_transfers() {
    // Checks: a Solana payment in the lost history was for a top-up whose burn carries the bridge's fee. Without the
    // chain's list of outgoing transfers, no account is credited. Then the burn is listed as the top-up's and the
    // transfer waits, without a linked issuer account. An operator attributes both in one step, and the difference is
    // the bridge's fee. Another transfer of that history without an outgoing one is credited once none can follow; a
    // later transfer at once.
    let lists = Arc::new(FakeLists::default());
    let world = Harness::new().await;
    let window = lost(&world);
    let payer = Wallet::Solana([7; 32]);
    let paid = |transaction: &str, index, atomic| ChainMovement {
        counterparty: payer,
        ..incoming_movement(transaction, index, atomic, window.since)
    };
    lists.show(paid("paid", 0, 22_000_000));
    lists.show(paid("else", 1, 5_000_000));
    lists.show(ChainMovement {
        at: window.restored.plus_ms(1),
        ..paid("later", 2, 1_000_000)
    });
    world.chain.set_unresponsive(true);
    world.chain.add_outgoing(OutgoingTransfer {
        transaction: "burned".into(),
        to: Wallet::Solana([9; 32]),
        amount: Usdc::from_atomic(22_002_200),
        at: window.since.plus_ms(1),
        fingerprint: [3; 32],
        index: 0,
    });
    let restored = RestoreWindow {
        since: window.since,
        until: window.until,
        at: window.restored,
    };
    let world = world.with_lost_history(window).restored(restored).await;
    let world = world.reconciling(lists.reconciling()).await;
    let id = |transaction, index| DepositId::for_transfer(Network::Solana, transaction, index);
    let status = async |id| {
        let found = world.engine.incoming_transfer(&id).await;
        found.unwrap().map_or("-", |found| found.status())
    };
    let (doubtful, plain, later) = (id("paid", 0), id("else", 1), id("later", 2));
    for all in [doubtful, plain, later] {
        eventually("it is found", async || status(all).await != "-").await;
    }
    let before = world.chain.listings();
    eventually("the chain is asked", async || world.chain.listings() > before + 2).await;
    for all in [doubtful, plain, later] {
        assert_eq!(status(all).await, "found");
    }
    world.chain.set_unresponsive(false);
    eventually("one waits", async || status(doubtful).await == "waiting").await;
    eventually("one is credited", async || status(later).await == "credited").await;
    let before = world.chain.listings();
    eventually("the chain is asked", async || world.chain.listings() > before + 2).await;
    assert_eq!(status(plain).await, "found");
    world.clock.advance(60_001);
    eventually("the other is credited", async || status(plain).await == "credited").await;
    let left = world.engine.untracked_transfers().await.unwrap();
    assert_eq!((left.len(), &left[0].candidates), (1, &vec![doubtful.to_string()]));
    attribute_burn(&world, plain, doubtful).await;
    assert_eq!(status(doubtful).await, "forwarded");
    assert!(world.engine.untracked_transfers().await.unwrap().is_empty());
    let account = world.engine.account(&payer).await.unwrap().expect("it has a credit");
    assert_eq!(account.balance.atomic(), 6_000_000);
    assert_eq!(world.ledger_balances()[&LedgerAccount::OperatingCosts], 2_200);
    // The ledger has both.
    assert_eq!(
        world.ledger_balances()[&LedgerAccount::Treasury(Network::Solana)],
        6_000_000 - 2_200
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_top_up_sent_after_the_backup_is_not_credited() {
    // Checks: the backup has a top-up's payment as declined; in the lost history it was presented again, settled and
    // forwarded. After the restore the top-up waits for its burn, and nothing is credited.
    use crate::support::ports::PaymentBehavior;
    use purser_actors::engine::PaymentRequest;
    use purser_actors::entity::Purchase;
    use purser_actors::kernel::table;
    use purser_actors::money::Cents;
    let payer = Wallet::Solana([1; 32]);
    let world = Harness::new().await;
    world.store.overwrite(table::issuer_linked(&payer), &[0xdd; 20]);
    let request = PaymentRequest {
        purchase: Purchase::CardBalance(CardBalancePurchase {
            amount: Cents::new(500),
        }),
        ..card_for(payer, 1)
    };
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Declined);
    let result = world.pay_until_known(&request).await;
    let (backup, window) = (world.store.backup(), lost(&world));
    world.chain.settle(&request.authorization);
    world.chain.add_outgoing(OutgoingTransfer {
        transaction: "burned".into(),
        to: Wallet::Solana([9; 32]),
        amount: Usdc::from_atomic(5_000_500),
        at: window.since,
        fingerprint: [3; 32],
        index: 0,
    });
    let restored = RestoreWindow {
        since: window.since,
        until: window.until,
        at: window.restored,
    };
    let world = world
        .with_lost_history(window)
        .restored(restored)
        .await
        .back_to(backup)
        .await;
    eventually("it is bought", async || {
        let payment = world.engine.payment(&result.payment).await.unwrap().unwrap();
        payment.status() == "fulfilled"
    })
    .await;
    let left = world.engine.untracked_transfers().await.unwrap();
    assert_eq!(left[0].candidates.len(), 1, "{left:?}");
    assert!(left[0].candidates[0].starts_with("top_"), "{left:?}");
    let account = world.engine.account(&payer).await.unwrap().expect("it has paid");
    assert_eq!(account.balance.atomic(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfer_of_a_payment_in_progress_is_not_unknown_when_the_clock_moves() {
    // Checks: the chain shows the transfer of a payment before its settlement is answered, and the clock is moved by a day.
    // Nothing is recorded while the payment is in progress, nor once it has settled. A later transfer that no payment
    // claims is recorded. Without a grace period it is recorded at once, and becomes the payment's when that settles.
    use crate::support::ports::PaymentBehavior;
    for grace_ms in [600_000, 0] {
        let lists = Arc::new(FakeLists::default());
        let mut reconciling = lists.reconciling();
        reconciling.settings.grace_ms = grace_ms;
        let world = Harness::new().await.reconciling(reconciling).await;
        let request = card_for(evm(1), 1);
        world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
        let (engine, paid) = (world.engine.clone(), request.clone());
        let paying = tokio::spawn(async move { engine.pay(paid).await });
        eventually("it is at the chain", async || world.chain.at_gate() == 1).await;
        let at = purser_actors::port::Clock::now(&*world.clock);
        lists.show(ChainMovement {
            transaction: "early".to_owned(),
            index: 0,
            incoming: true,
            counterparty: evm(1),
            amount: request.authorization.value(),
            at,
            fingerprint: request.authorization.fingerprint(),
        });
        lists.show(incoming_movement("later", 1, 1_000_000, at));
        world.clock.advance(86_400_000);
        if grace_ms == 0 {
            wait_for_status(&world, "early", 0, "found").await;
        } else {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            assert!(
                incoming(&world, "early", 0).await.is_none(),
                "its payment is in progress"
            );
            assert!(
                incoming(&world, "later", 1).await.is_none(),
                "the cursor waits before it"
            );
        }
        world.chain.open_gate();
        let paid = crate::support::in_time("its end", paying).await.unwrap().unwrap();
        bought_card(&paid);
        wait_for_status(&world, "later", 1, "waiting").await;
        match grace_ms {
            0 => wait_for_status(&world, "early", 0, "claimed").await,
            _ => assert!(incoming(&world, "early", 0).await.is_none()),
        }
    }
}
