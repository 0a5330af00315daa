//! Gift cards through the whole engine: stock before settlement, one order under one key, credit after a decline.

use purser_actors::engine::{ClaimError, PaymentRequest};
use purser_actors::entity::gift_card::GiftCardPurchase;
use purser_actors::entity::payment::Outcome;
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::CardId;
use purser_actors::kernel::Entity;
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Authorization, ErrorKind, GiftCardOffer};
use purser_actors::product::Precondition;
use purser_actors::quote::QuoteFacts;

use crate::support::eventually;
use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::{IssuerBehavior, PaymentBehavior, error};

/// A quote of 5.10 for 5.00.
fn quote_facts() -> QuoteFacts {
    QuoteFacts {
        fee_rate: "0.02".into(),
        min_fee: "0".into(),
        exchange: None,
    }
}

/// A gift card of 5.00 for 5.10.
pub(crate) fn gift(nonce: u8) -> PaymentRequest {
    let mut request = card_for(evm(1), nonce);
    if let Authorization::Evm(signed) = &mut request.authorization {
        signed.value = Usdc::from_atomic(5_100_000);
    }
    PaymentRequest {
        purchase: Purchase::GiftCard(GiftCardPurchase {
            amount: Cents::new(500),
            currency: "USD".parse().unwrap(),
            product: "coffee-us".into(),
            country: "US".parse().unwrap(),
        }),
        quoted: Some(Box::new(quote_facts())),
        ..request
    }
}

async fn buy(world: &Harness, request: &PaymentRequest) -> CardId {
    match world.pay_until_known(request).await.outcome {
        Outcome::Fulfilled {
            product: PurchasedProduct::GiftCard(id),
            ..
        } => id,
        other => panic!("no gift card was bought: {other:?}"),
    }
}

async fn is(world: &Harness, id: CardId, status: &str) -> bool {
    world.engine.gift_card(&id).await.unwrap().unwrap().status() == status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn catalog_issues_one_gift_card_per_key_unless_it_declines() {
    // Checks: busy, slow and panicking catalogs issue one gift card each, and every order of one card has the same key.
    let world = Harness::new().await;
    let behaviors = [
        IssuerBehavior::Busy,
        IssuerBehavior::NotYet,
        IssuerBehavior::Panics,
        IssuerBehavior::Ready,
    ];
    for (n, behavior) in behaviors.iter().enumerate() {
        world.gift_cards.set_behaviors(&[*behavior]);
        let id = buy(&world, &gift(n as u8)).await;
        eventually("it is completed", async || is(&world, id, "completed").await).await;
        let sealed = world.engine.sealed(id).await.unwrap();
        assert_eq!(sealed, Some(id.0.to_be_bytes().to_vec()));
    }
    world.wait_until_idle().await;
    assert_eq!(world.gift_cards.made(), behaviors.len());
    for call in world.gift_cards.calls() {
        let keys = world.gift_cards.calls().into_iter().filter(|c| c.card == call.card);
        assert!(keys.into_iter().all(|c| c == call), "one card, one key, one content");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_gift_card_is_credited_once() {
    // Checks: the whole charge is credited, nothing is owed to the catalog, and a restart changes nothing.
    let world = Harness::new().await;
    world
        .gift_cards
        .set_behaviors(&[IssuerBehavior::Busy, IssuerBehavior::Declines]);
    let request = gift(1);
    let id = buy(&world, &request).await;
    eventually("it has failed", async || is(&world, id, "failed").await).await;
    world.wait_until_idle().await;
    let world = world.crash().await;
    world.wait_until_idle().await;
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(account.balance, request.authorization.value());
    let books = world.ledger_balances();
    assert_eq!(
        books
            .get(&LedgerAccount::Provider(LedgerProvider::GiftCards))
            .copied()
            .unwrap_or(0),
        0
    );
    assert_eq!(books.get(&LedgerAccount::FeeRevenue).copied().unwrap_or(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn out_of_stock_gift_card_is_rejected_before_settlement() {
    // Checks: if it is sold out, or the catalog does not answer, nothing is claimed and nothing sent.
    let world = Harness::new().await;
    let missing = ClaimError::PreconditionFailed(Precondition::InStock);
    for (n, (offer, expected)) in [
        (Ok(GiftCardOffer::Unavailable), missing),
        (Err(error(ErrorKind::Temporary, "offer")), ClaimError::Unavailable),
    ]
    .into_iter()
    .enumerate()
    {
        world.gift_cards.set_offers([offer]);
        let request = gift(n as u8);
        assert_eq!(world.pay(&request).await.unwrap_err(), expected);
        let id = world.engine.payment_id(&request.authorization);
        assert!(world.engine.payment(&id).await.unwrap().is_none(), "nothing is claimed");
    }
    assert_eq!(world.chain.submissions(), 0);
    let id = buy(&world, &gift(0)).await;
    eventually("the same payment buys it later", async || {
        is(&world, id, "completed").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_22_rate_change_after_the_quote_does_not_affect_it() {
    // Checks: the order uses the catalog's current rate, the payment the quoted one; both are stored with the order.
    let world = Harness::new().await;
    let fee_rate = String::from("0.045");
    world.gift_cards.set_offers([Ok(GiftCardOffer::Available {
        fee_rate: fee_rate.clone(),
    })]);
    let id = buy(&world, &gift(1)).await;
    let gift = world.engine.gift_card(&id).await.unwrap().unwrap();
    assert_eq!((gift.order.fee_rate, *gift.order.quoted), (fee_rate, quote_facts()));
    assert_eq!(gift.charge.fee().to_string(), "0.1", "what comes on top is ours");
    world.wait_until_idle().await;
    let owed = world
        .ledger_balances()
        .get(&LedgerAccount::Provider(LedgerProvider::GiftCards))
        .copied();
    assert_eq!(owed, Some(-5_000_000), "the catalog is owed what the card is worth");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_payment_is_checked_again_when_presented_again() {
    // Checks: a product that sold out since the first attempt is rejected before settlement, and bought once it is in
    // stock.
    let world = Harness::new().await;
    let request = gift(1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Declined);
    let declined = world.pay(&request).await.unwrap();
    assert!(matches!(declined.outcome, Outcome::Declined(_)), "{declined:?}");
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Settles);
    let sent = world.chain.submissions();
    world.gift_cards.set_offers([Ok(GiftCardOffer::Unavailable)]);
    let missing = ClaimError::PreconditionFailed(Precondition::InStock);
    assert_eq!(world.pay(&request).await.unwrap_err(), missing);
    assert_eq!(world.chain.submissions(), sent, "nothing was sent");
    buy(&world, &request).await;
}
