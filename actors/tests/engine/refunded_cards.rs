//! A refund of a card's payment and the remainder of the card: together never more than the charge, in any order.

use purser_actors::engine::{RefundError, RefundParams};
use purser_actors::entity::PurchasedProduct;
use purser_actors::id::{CardId, PaymentId, RequestId};
use purser_actors::kernel::Entity as _;
use purser_actors::ledger::LedgerAccount;
use purser_actors::money::Usdc;
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::CardAction;

use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::settings::fast;

const CHARGED: u64 = 5_000_000;

fn act(by: &str) -> OperatorAction {
    OperatorAction {
        operator: by.into(),
        role: Role::Administrator,
        request_id: RequestId(7),
    }
}

async fn card_of(world: &Harness, nonce: u8) -> (PaymentId, CardId) {
    let paid = world.pay(&card_for(evm(1), nonce)).await.unwrap();
    let card = bought_card(&paid);
    eventually("ready", async || {
        world.engine.card(&card).await.unwrap().unwrap().status() == "ready"
    })
    .await;
    (paid.payment, card)
}

async fn close_card(world: &Harness, card: CardId) {
    assert!(
        world
            .engine
            .request_prepaid_card_action(card, CardAction::Close, None)
            .await
            .unwrap()
    );
    eventually("closed", async || {
        world.engine.card(&card).await.unwrap().unwrap().status() == "closed"
    })
    .await;
    world.wait_until_idle().await;
}

fn refund_params(amount: u64, holder_keeps_product: bool) -> RefundParams {
    RefundParams {
        amount: Usdc::from_atomic(amount),
        reason: "r".to_owned(),
        holder_keeps_product,
    }
}

/// Requests a refund with which the owner keeps the card's balance.
async fn request_refund(world: &Harness, payment: PaymentId, atomic: u64) -> Result<(), RefundError> {
    let result = world
        .engine
        .request_refund(payment, refund_params(atomic, true), &act("ana"))
        .await;
    world.wait_until_idle().await;
    result.map(drop)
}

async fn balance(world: &Harness) -> u64 {
    let account = world.engine.account(&evm(1)).await.unwrap();
    account.map_or(0, |account| account.balance.atomic())
}

/// What the card reports as credited, and the operating costs; asserts that suspense is empty and nothing is
/// dead-lettered.
async fn final_state(world: &Harness, card: CardId) -> (u64, i128) {
    world.wait_until_idle().await;
    let books = world.ledger_balances();
    assert_eq!(books.get(&LedgerAccount::Suspense).copied().unwrap_or(0), 0);
    assert_eq!(world.engine.dead_letters().await.unwrap().jobs.len(), 0);
    let seen = world.engine.card(&card).await.unwrap().unwrap();
    let costs = books.get(&LedgerAccount::OperatingCosts).copied().unwrap_or(0);
    (seen.credited().atomic(), costs)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closed_card_credits_what_its_refund_did_not() {
    // Checks: with 5.00 charged and 5.00 left, after a full, a partial and a tiny refund, the owner has 5.00 in total.
    // The card shows its credited part, the service keeps the refunded part, and no operator is needed.
    for refunded in [CHARGED, 4_000_000, 1_000_000, 1] {
        let world = Harness::new().await;
        let (payment, card) = card_of(&world, 1).await;
        request_refund(&world, payment, refunded).await.unwrap();
        close_card(&world, card).await;
        let world = world.crash().await;
        assert_eq!(final_state(&world, card).await, (CHARGED - refunded, 0), "{refunded}");
        assert_eq!(balance(&world).await, CHARGED, "{refunded}");
        assert!(matches!(
            world
                .engine
                .request_refund(payment, refund_params(2, true), &act("ana"))
                .await,
            Err(RefundError::InvalidState(_) | RefundError::AmountTooLarge { .. })
        ));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn releases_after_a_refund_are_shared_by_their_total() {
    // Checks: 4.00 of 5.00 are refunded and all is spent; then totals of 0.60 and 2.00 are released. The owner gets
    // 0.60 and 0.40, the service the other 1.00.
    let world = Harness::new().await;
    let (payment, card) = card_of(&world, 1).await;
    request_refund(&world, payment, 4_000_000).await.unwrap();
    world.issuer.charge(card, 5_00);
    eventually("the charge is heard", async || world.event_count("card.charged") == 1).await;
    close_card(&world, card).await;
    assert_eq!(final_state(&world, card).await, (0, 4_000_000));
    for (cents, credited, costs) in [(60, 600_000, 4_000_000), (2_00, 1_000_000, 3_000_000)] {
        world.issuer.set_released(card, cents);
        eventually("it is heard", async || {
            world
                .engine
                .card(&card)
                .await
                .unwrap()
                .unwrap()
                .lifecycle
                .released
                .get()
                == cents
        })
        .await;
        assert_eq!(final_state(&world, card).await, (credited, costs), "{cents}");
        assert_eq!(balance(&world).await, 4_000_000 + credited);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refund_of_an_ended_card_is_limited_by_its_credits() {
    // Checks: 1.20 of 5.00 is spent and the rest credited at the end. A cent more than 1.20 is rejected with the limit;
    // 1.20 is refunded.
    let world = Harness::new().await;
    let (payment, card) = card_of(&world, 1).await;
    world.issuer.charge(card, 1_20);
    eventually("the charge is heard", async || world.event_count("card.charged") == 1).await;
    close_card(&world, card).await;
    assert_eq!(final_state(&world, card).await, (3_800_000, 0));
    let refundable_amount = Usdc::from_atomic(1_200_000);
    assert_eq!(
        request_refund(&world, payment, 1_210_000).await,
        Err(RefundError::AmountTooLarge { refundable_amount })
    );
    assert_eq!(request_refund(&world, payment, 1_200_000).await, Ok(()));
    assert_eq!(final_state(&world, card).await, (3_800_000, 1_200_000));
    assert_eq!(balance(&world).await, CHARGED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pending_refund_is_not_approved_after_its_card_ended() {
    // Checks: requested before the card's end and approved after its remainder was credited: rejected, nothing is
    // refunded, and the owner has the whole remainder. Once rejected, it withholds nothing.
    let mut settings = fast();
    settings.approvals.max_per_action = Usdc::from_atomic(1);
    let world = Harness::with(settings).await;
    let (payment, card) = card_of(&world, 1).await;
    let four = Usdc::from_atomic(4_000_000);
    let result = world
        .engine
        .request_refund(payment, refund_params(4_000_000, true), &act("ana"))
        .await;
    let (id, _) = result.unwrap();
    close_card(&world, card).await;
    let result = world.engine.approve_refund(id, four, &act("ben")).await;
    assert_eq!(
        result.unwrap_err(),
        RefundError::AmountTooLarge {
            refundable_amount: Usdc::ZERO
        }
    );
    world
        .engine
        .reject_refund(id, "credited".into(), &act("ben"))
        .await
        .unwrap();
    assert_eq!(final_state(&world, card).await, (CHARGED, 0));
    assert_eq!(balance(&world).await, CHARGED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_refund_and_close_give_the_charge_once() {
    // Checks: requested concurrently, in either order, many times; whichever is stored first, the owner has 5.00 of
    // each card.
    let world = Harness::new().await;
    for n in 1..=12_u8 {
        let (payment, card) = card_of(&world, n).await;
        let refund = async {
            let result = world
                .engine
                .request_refund(payment, refund_params(CHARGED, true), &act("ana"))
                .await;
            result.map(drop)
        };
        let end = world.engine.request_prepaid_card_action(card, CardAction::Close, None);
        let (result, closed) = match n % 2 {
            0 => {
                let (result, closed) = tokio::join!(refund, end);
                (result, closed)
            }
            _ => {
                let (closed, result) = tokio::join!(end, refund);
                (result, closed)
            }
        };
        assert!(closed.unwrap());
        eventually("closed", async || {
            world.engine.card(&card).await.unwrap().unwrap().status() == "closed"
        })
        .await;
        let (credited, costs) = final_state(&world, card).await;
        let expected = if result.is_ok() { 0 } else { CHARGED };
        assert_eq!((credited, costs), (expected, 0), "{n}: {result:?}");
        assert_eq!(balance(&world).await, u64::from(n) * CHARGED, "{n}: {result:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refund_of_a_kept_card_is_limited_to_its_spending() {
    // Checks: with 5.00 on the card, nothing is refunded. With 4.00 spent, one unit above 4.00 is rejected and 4.00 are
    // refunded; a repeated request after the card's end is the same refund. The owner gets the unspent 1.00, the
    // service the 4.00 released later.
    let world = Harness::new().await;
    let (payment, card) = card_of(&world, 1).await;
    let ask = async |amount| {
        let result = world
            .engine
            .request_refund(payment, refund_params(amount, false), &act("ana"))
            .await;
        result.map(|(_, refund)| refund.request.holder_keeps_product)
    };
    let kept = |usable, refundable| {
        Err(RefundError::ProductStillUsable {
            usable: Usdc::from_atomic(usable),
            refundable: Usdc::from_atomic(refundable),
            product: PurchasedProduct::Card(card),
        })
    };
    assert_eq!(ask(1).await, kept(CHARGED, 0));
    world.issuer.charge(card, 4_00);
    eventually("the charge is heard", async || world.event_count("card.charged") == 1).await;
    assert_eq!(ask(4_000_001).await, kept(1_000_000, 4_000_000));
    assert_eq!(ask(4_000_000).await, Ok(false));
    close_card(&world, card).await;
    assert_eq!(ask(4_000_000).await, Ok(false), "the same again");
    assert_eq!(final_state(&world, card).await, (1_000_000, 4_000_000));
    world.issuer.set_released(card, 5_00);
    eventually("it is heard", async || {
        world
            .engine
            .card(&card)
            .await
            .unwrap()
            .unwrap()
            .lifecycle
            .released
            .get()
            == 5_00
    })
    .await;
    assert_eq!(final_state(&world, card).await, (1_000_000, 0));
    assert_eq!(balance(&world).await, CHARGED);
}
