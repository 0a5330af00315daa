//! A refund of a card's payment, and what is left on the card when it ends: together they are never more than was charged, in
//! whatever order they come.

use purser_actors::engine::{RefundError, RefundParams};
use purser_actors::id::{CardId, PaymentId, RequestId};
use purser_actors::kernel::Entity as _;
use purser_actors::ledger::LedgerAccount;
use purser_actors::money::Usdc;
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::CardAction;
use purser_actors::product::PurchasedProduct;

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

/// With the word that the holder may keep what is on the card.
async fn request_refund(world: &Harness, payment: PaymentId, atomic: u64) -> Result<(), RefundError> {
    let told = world
        .engine
        .request_refund(payment, refund_params(atomic, true), &act("ana"))
        .await;
    world.wait_until_idle().await;
    told.map(drop)
}

async fn balance(world: &Harness) -> u64 {
    let account = world.engine.account(&evm(1)).await.unwrap();
    account.map_or(0, |account| account.balance.atomic())
}

/// What the card says was credited, what the house bore in all, and that nothing is left in suspense or waits for a person.
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
async fn a_card_that_ends_after_a_refund_gives_what_the_refund_did_not() {
    // Aim: of 5.00 charged and 5.00 left, refunds of all, of a part and of next to nothing: the holder has 5.00 in all, the card
    // says what was credited of it, the house keeps as much as it gave, and no operator is needed.
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
async fn what_is_given_back_bit_by_bit_after_a_refund_is_shared_by_its_total() {
    // Aim: 4.00 of 5.00 refunded and all of it spent, then 0.60 and 2.00 in total given back: the holder gets 0.60 and 0.40, the
    // house the other 1.00.
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
async fn a_refund_of_a_card_that_has_ended_is_limited_by_what_was_credited() {
    // Aim: 1.20 of 5.00 spent, the rest credited at the end: a cent more than 1.20 is refused and named, 1.20 is given.
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
async fn a_refund_that_waited_while_its_card_ended_is_not_approved() {
    // Aim: asked for before the end, approved after what was left is credited: refused, nothing is given, and the card's holder
    // has all of it; rejected, it holds back nothing.
    let mut settings = fast();
    settings.approvals.max_per_action = Usdc::from_atomic(1);
    let world = Harness::with(settings).await;
    let (payment, card) = card_of(&world, 1).await;
    let four = Usdc::from_atomic(4_000_000);
    let told = world
        .engine
        .request_refund(payment, refund_params(4_000_000, true), &act("ana"))
        .await;
    let (id, _) = told.unwrap();
    close_card(&world, card).await;
    let told = world.engine.approve_refund(id, four, &act("ben")).await;
    assert_eq!(
        told.unwrap_err(),
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
async fn a_refund_and_an_end_at_the_same_time_give_the_charge_once() {
    // Aim: asked for at once, in either order, many times over: whichever is written down first, the holder has 5.00 of each card.
    let world = Harness::new().await;
    for n in 1..=12_u8 {
        let (payment, card) = card_of(&world, n).await;
        let refund = async {
            let told = world
                .engine
                .request_refund(payment, refund_params(CHARGED, true), &act("ana"))
                .await;
            told.map(drop)
        };
        let end = world.engine.request_prepaid_card_action(card, CardAction::Close, None);
        let (told, steered) = match n % 2 {
            0 => {
                let (told, steered) = tokio::join!(refund, end);
                (told, steered)
            }
            _ => {
                let (steered, told) = tokio::join!(end, refund);
                (told, steered)
            }
        };
        assert!(steered.unwrap());
        eventually("closed", async || {
            world.engine.card(&card).await.unwrap().unwrap().status() == "closed"
        })
        .await;
        let (credited, costs) = final_state(&world, card).await;
        let expected = if told.is_ok() { 0 } else { CHARGED };
        assert_eq!((credited, costs), (expected, 0), "{n}: {told:?}");
        assert_eq!(balance(&world).await, u64::from(n) * CHARGED, "{n}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_the_word_no_more_is_given_than_what_is_spent_and_what_comes_back_later_is_the_houses() {
    // Aim: 5.00 on the card: nothing is given. 4.00 spent: one unit more than 4.00 is refused, 4.00 are given, and asked for again
    // behind the card's end they are the same. Its holder gets the 1.00 that was never spent, the house the 4.00 that come back later.
    let world = Harness::new().await;
    let (payment, card) = card_of(&world, 1).await;
    let ask = async |amount| {
        let told = world
            .engine
            .request_refund(payment, refund_params(amount, false), &act("ana"))
            .await;
        told.map(|(_, refund)| refund.request.holder_keeps_product)
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
