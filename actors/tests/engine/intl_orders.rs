//! International orders: owner and operators concurrently, leases, overdue orders, and the end of a card.

use std::sync::Arc;

use purser_actors::engine::{OperationError, RestoreWindow};
use purser_actors::entity::intl_order::{
    BillingAddress, EnteredCard, IntlCardDetails, IntlOrder, OVERDUE_AFTER_MS, Rejection,
};
use purser_actors::id::{CardId, Network, RequestId};
use purser_actors::kernel::{Entity, table};
use purser_actors::lease::LeaseError;
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::Clock;

use crate::support::harness::{Harness, bought_card, evm, intl_card_for};
use crate::support::{eventually, together};

const PAID: i128 = 103_800_000;
const LEASE_MS: u64 = 1_800_000;

fn act(by: &str) -> OperatorAction {
    OperatorAction {
        operator: by.into(),
        role: Role::Operator,
        request_id: RequestId(7),
    }
}

fn entered_card(id: CardId) -> EnteredCard {
    EnteredCard {
        details: IntlCardDetails {
            last4: "4242".into(),
            exp_month: 12,
            exp_year: 2099,
            billing: BillingAddress::default(),
        },
        number: b"number".to_vec(),
        cvv: [b"cvv of ".as_slice(), &id.0.to_be_bytes()].concat(),
    }
}

async fn order(world: &Harness, nonce: u8) -> CardId {
    bought_card(&world.pay(&intl_card_for(evm(1), nonce)).await.unwrap())
}

async fn read(world: &Harness, id: CardId) -> IntlOrder {
    world.engine.intl_order(&id).await.unwrap().unwrap()
}

/// Claims and fulfils; returns whether it succeeded.
async fn fulfil(world: &Harness, id: CardId, by: &str) -> bool {
    fulfil_with(world, id, by, entered_card(id)).await
}

async fn fulfil_with(world: &Harness, id: CardId, by: &str, card: EnteredCard) -> bool {
    match world.engine.claim_intl(id, act(by), LEASE_MS).await {
        Err(OperationError::Rejected(_)) => false,
        claimed => {
            let lease = claimed.unwrap().number;
            world.engine.fulfil_intl(id, act(by), lease, card).await.unwrap();
            true
        }
    }
}

async fn cancel(world: &Harness, id: CardId) -> bool {
    match world.engine.cancel_intl(id, None).await {
        Err(OperationError::Rejected(Rejection::InvalidState(_))) => false,
        result => result.map(|()| true).unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_29_concurrent_cancel_and_fulfil_give_card_or_money() {
    // Checks: of sixty orders, each cancelled and fulfilled concurrently, every one ends with either the card or the
    // money. The ledger agrees, over a crash too.
    let world = Arc::new(Harness::new().await);
    let (mut made, mut back) = (0, 0);
    for nonce in 0..60 {
        let id = order(&world, nonce).await;
        // Alternately one and the other starts first.
        let (one, other) = (world.clone(), world.clone());
        let fulfils = tokio::spawn(async move { fulfil(&one, id, "ana").await });
        if nonce % 3 == 0 {
            tokio::task::yield_now().await;
        }
        let cancels = tokio::spawn(async move { cancel(&other, id).await });
        let (fulfilled, cancelled) = (fulfils.await.unwrap(), cancels.await.unwrap());
        assert!(
            fulfilled != cancelled,
            "{id}: fulfilled {fulfilled}, cancelled {cancelled}"
        );
        made += i128::from(fulfilled);
        back += i128::from(cancelled);
        let status = if fulfilled { "ready" } else { "cancelled" };
        assert_eq!(read(&world, id).await.status(), status);
    }
    world.wait_until_idle().await;
    let world = Arc::into_inner(world).unwrap().crash().await;
    world.wait_until_idle().await;
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(i128::from(account.balance.atomic()), back * PAID);
    let books = world.ledger_balances();
    assert_eq!(books[&LedgerAccount::Treasury(Network::Base)], 60 * PAID);
    assert_eq!(
        books.get(&LedgerAccount::Customer(evm(1))).copied().unwrap_or(0),
        -back * PAID
    );
    let fulfilment = books
        .get(&LedgerAccount::Provider(LedgerProvider::IntlFulfilment))
        .copied()
        .unwrap_or(0);
    assert_eq!(fulfilment, -made * 100_000_000);
    assert_eq!(
        books.get(&LedgerAccount::FeeRevenue).copied().unwrap_or(0),
        -made * 3_800_000
    );
    assert_eq!(world.store.rows(&[table::INTL_ORDER_QUEUE]).len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_30_fifty_concurrent_cancellations_credit_once() {
    // Checks: one caller succeeds, the others are rejected, and the charge is credited once, fee included.
    let world = Harness::new().await;
    let id = order(&world, 1).await;
    let at_once = together(50, |_| {
        let engine = world.engine.clone();
        async move { engine.cancel_intl(id, None).await }
    });
    assert_eq!(at_once.await.iter().filter(|result| result.is_ok()).count(), 1);
    world.wait_until_idle().await;
    let world = world.crash().await;
    assert!(!cancel(&world, id).await);
    world.wait_until_idle().await;
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(i128::from(account.balance.atomic()), PAID);
    assert_eq!(world.event_count("intl_order.cancelled"), 1);
    assert_eq!(world.event_count("balance.credited"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn expired_lease_keeps_the_order_claimed_with_a_stale_number() {
    // Checks: after the lease has expired no operator holds the order, and its owner can't cancel. The next claim has a
    // higher number, and only that one fulfils; only a release permits a cancellation again. Includes a crash during
    // the lease.
    let world = Harness::new().await;
    let id = order(&world, 1).await;
    let first = world.engine.claim_intl(id, act("ana"), LEASE_MS).await.unwrap();
    let held = world.engine.claim_intl(id, act("ben"), LEASE_MS).await.unwrap_err();
    assert!(
        matches!(held, OperationError::Rejected(Rejection::Lease(LeaseError::HeldByOther(holder))) if holder.by == "ana")
    );
    let world = world.crash().await;
    world.clock.advance(LEASE_MS + 1);
    eventually("the lease ends", async || {
        read(&world, id).await.lease_holder().is_none()
    })
    .await;
    assert_eq!(read(&world, id).await.status(), "claimed");
    assert!(!cancel(&world, id).await, "the card may be on its way");
    let old = world
        .engine
        .fulfil_intl(id, act("ana"), first.number, entered_card(id))
        .await;
    assert!(
        matches!(
            old,
            Err(OperationError::Rejected(Rejection::Lease(LeaseError::Stale(1))))
        ),
        "{old:?}"
    );
    let second = world.engine.claim_intl(id, act("ben"), LEASE_MS).await.unwrap();
    assert_eq!(second.number, 2);
    let old = world
        .engine
        .fulfil_intl(id, act("ana"), first.number, entered_card(id))
        .await;
    assert!(
        matches!(
            old,
            Err(OperationError::Rejected(Rejection::Lease(LeaseError::Stale(2))))
        ),
        "{old:?}"
    );
    world.engine.release_intl(id, act("ben"), 2).await.unwrap();
    assert!(cancel(&world, id).await, "released, it is the holder's again");
    world.clock.advance(LEASE_MS + 1);
    let left = async || world.store.rows(&[table::TIMER]).len();
    eventually("the second lease's timer ends without a word", async || {
        left().await == 1
    })
    .await;
    world.wait_until_idle().await;
    assert_eq!(read(&world, id).await.status(), "cancelled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn order_overdue_after_a_day_is_listed_first() {
    // Checks: one event and a flag, but no other status. The queue lists overdue orders first, then the oldest; an
    // order that was decided before is neither overdue nor in the queue.
    let world = Harness::new().await;
    let (early, done) = (order(&world, 1).await, order(&world, 2).await);
    assert!(fulfil(&world, done, "ana").await);
    world.clock.advance(OVERDUE_AFTER_MS / 2);
    let late = order(&world, 3).await;
    let queue = async || {
        let (orders, more) = world.engine.intl_queue(None, 10).await.unwrap();
        assert!(!more);
        orders.iter().map(|q| (q.id, q.order.overdue)).collect::<Vec<_>>()
    };
    assert_eq!(queue().await, [(early, false), (late, false)]);
    world
        .engine
        .claim_intl(early, act("ana"), OVERDUE_AFTER_MS)
        .await
        .unwrap();
    world.clock.advance(OVERDUE_AFTER_MS / 2);
    eventually("it is overdue", async || {
        queue().await == [(early, true), (late, false)]
    })
    .await;
    assert_eq!(read(&world, early).await.status(), "claimed");
    world.wait_until_idle().await;
    assert_eq!(world.event_count("intl_order.overdue"), 1);
    let page = world.engine.intl_queue(Some(early), 10).await.unwrap();
    assert_eq!(page.0.iter().map(|q| q.id).collect::<Vec<_>>(), [late]);
    let page = world.engine.intl_queue(None, 1).await.unwrap();
    assert!(page.1 && page.0[0].id == early);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn card_end_destroys_the_key_of_its_cvv() {
    // Checks: after the printed month, over a crash, the card expires once and the key of its CVV is destroyed. The
    // CVV's record is deleted, the number's stays, and no job is left.
    let world = Harness::new().await;
    let (id, other) = (order(&world, 1).await, order(&world, 2).await);
    // The harness starts in November 2026.
    let mut printed = entered_card(id);
    (printed.details.exp_month, printed.details.exp_year) = (5, 2027);
    assert!(fulfil_with(&world, id, "ana", printed).await);
    world.engine.reveal_intl(id).await.unwrap();
    world.clock.advance(100 * 86_400_000);
    assert!(fulfil(&world, other, "ana").await);
    world.clock.advance(95 * 86_400_000);
    let world = world.crash().await;
    eventually("it expires", async || read(&world, id).await.status() == "expired").await;
    eventually("its CVV is forgotten", async || {
        !world
            .store
            .rows(&[table::CVV])
            .iter()
            .any(|(k, _)| *k == table::cvv(id))
    })
    .await;
    world.wait_until_idle().await;
    assert_eq!(world.shredder.all(), [entered_card(id).cvv]);
    assert_eq!(
        world.engine.sealed_cvv(other).await.unwrap(),
        Some(entered_card(other).cvv)
    );
    assert!(world.engine.sealed(id).await.unwrap().is_some());
    let shown = world.engine.reveal_intl(id).await;
    assert!(
        matches!(shown, Err(OperationError::Rejected(Rejection::InvalidState("expired")))),
        "{shown:?}"
    );
    assert!(world.clock.now() > read(&world, other).await.created_at);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn order_from_a_lost_history_is_cancelled_only_after_review() {
    // Checks: an order of the backup, and one whose payment may have bought another order in the lost history, are not
    // cancelled before an operator has released them after the restore, not even when overdue. A later order is
    // cancelled at once.
    let world = Harness::new().await;
    let old = order(&world, 1).await;
    let lease = world.engine.claim_intl(old, act("ana"), LEASE_MS).await.unwrap().number;
    world.engine.release_intl(old, act("ana"), lease).await.unwrap();
    let now = world.clock.now();
    let restored = RestoreWindow {
        since: now,
        until: now.plus_ms(60_000),
        at: now.plus_ms(1),
    };
    world.clock.advance(30_000);
    let world = world.restored(restored).await;
    let soon = order(&world, 2).await;
    world.clock.advance(OVERDUE_AFTER_MS);
    eventually("overdue", async || read(&world, soon).await.overdue).await;
    let late = order(&world, 3).await;
    world.engine.cancel_intl(late, None).await.unwrap();
    for id in [old, soon] {
        let refused = world.engine.cancel_intl(id, None).await.unwrap_err();
        assert!(
            matches!(refused, OperationError::Rejected(Rejection::InDoubt)),
            "{refused:?}"
        );
        let lease = world.engine.claim_intl(id, act("ana"), LEASE_MS).await.unwrap().number;
        assert!(
            world
                .engine
                .may_be_made_manually(&read(&world, id).await)
                .await
                .unwrap()
        );
        world.engine.release_intl(id, act("ana"), lease).await.unwrap();
        assert!(
            !world
                .engine
                .may_be_made_manually(&read(&world, id).await)
                .await
                .unwrap()
        );
        world.engine.cancel_intl(id, None).await.unwrap();
    }
    let account = async || world.engine.account(&evm(1)).await.unwrap();
    eventually("three credits", async || {
        account()
            .await
            .is_some_and(|account| i128::from(account.balance.atomic()) == 3 * PAID)
    })
    .await;
}
