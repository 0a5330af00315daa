//! A settled payment that bought nothing is credited to the payer's balance once.

use std::collections::BTreeMap;

use purser_actors::entity::payment::{Outcome, Status};
use purser_actors::id::Network;
use purser_actors::ledger::{LedgerAccount, LedgerProvider};

use crate::support::harness::{Harness, bought_card, card_for, evm, session};
use crate::support::ports::{IssuerBehavior, PaymentBehavior};
use crate::support::{eventually, in_time};

const PRICE: i128 = 5_000_000;

async fn assert_credited(world: &Harness, times: u64) {
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    let owed = PRICE * i128::from(times);
    assert_eq!(i128::from(account.balance.atomic()), owed);
    assert_eq!(account.total_deposits, account.balance);
    assert_eq!(account.available(), account.balance);
    let books = BTreeMap::from([
        (LedgerAccount::Treasury(Network::Base), owed),
        (LedgerAccount::Customer(evm(1)), -owed),
    ]);
    assert_eq!(world.ledger_balances(), books, "balance and ledger agree");
    assert_eq!(world.event_count("balance.credited") as u64, times);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_09_declined_payment_that_settles_late_is_credited_once() {
    // Checks: the caller got a decline, so a settlement after it is credited.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Declined);
    let paid = world.pay(&request).await.unwrap();
    let Outcome::Declined(decline) = &paid.outcome else {
        panic!("{:?}", paid.outcome);
    };
    assert_eq!(decline.reason, "insufficient_funds");
    eventually("the chain is watched", async || world.chain.lookups() >= 2).await;
    let transaction = world.chain.settle(&request.authorization);
    world.wait_until_idle().await;
    assert_credited(&world, 1).await;
    assert!(world.cards().is_empty());
    let late = world.pay(&request).await.unwrap();
    let amount = request.authorization.value();
    assert_eq!(late.outcome, Outcome::Credited { amount, transaction });
    let world = world.crash().await;
    world.wait_until_idle().await;
    assert_credited(&world, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_payment_settles_when_presented_again() {
    // Checks: a decline is not final; once the wallet has funds, the same payment buys.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Declined);
    world.pay(&request).await.unwrap();
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Settles);
    bought_card(&world.pay(&request).await.unwrap());
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    assert_eq!(world.chain.submissions(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_retries_of_a_declined_payment_have_one_winner() {
    // Checks: the caller whose retry settles it wins once and gets the session; a replay wins nothing.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Declined);
    assert!(world.pay(&request).await.unwrap().won);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Settles);
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let (engine, mut request) = (world.engine.clone(), request.clone());
            request.session = session();
            tokio::spawn(async move { (request.session.id, engine.pay(request).await) })
        })
        .collect();
    let mut winners = Vec::new();
    for call in calls {
        let (own, paid) = in_time("a call", call).await.unwrap();
        let paid = paid.unwrap();
        let Outcome::Fulfilled { session, .. } = paid.outcome else {
            panic!("{:?}", paid.outcome);
        };
        winners.extend(paid.won.then_some(own));
        assert_eq!(paid.won, session == Some(own));
    }
    assert_eq!(winners.len(), 1, "one presentation wins");
    assert!(world.engine.session(&winners[0]).await.unwrap().is_some());
    assert!(world.engine.session(&request.session.id).await.unwrap().is_none());
    assert!(!world.pay(&request).await.unwrap().won);
    world.wait_until_idle().await;
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repeatedly_declined_payment_is_credited_once() {
    // Checks: each decline starts a watch, and all watches see the same transfer.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::Declined);
    for _ in 0..10 {
        let paid = world.pay(&request).await.unwrap();
        assert!(matches!(paid.outcome, Outcome::Declined(_)), "{:?}", paid.outcome);
    }
    world.chain.settle(&request.authorization);
    world.wait_until_idle().await;
    assert_credited(&world, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_card_is_credited_once() {
    // Checks: the whole charge is credited, the ledger has neither card nor fee, and the payment is unchanged.
    let world = Harness::new().await;
    world
        .issuer
        .set_behaviors(&[IssuerBehavior::Busy, IssuerBehavior::Declines]);
    let request = card_for(evm(1), 1);
    let paid = world.pay(&request).await.unwrap();
    world.wait_until_idle().await;
    assert_credited(&world, 1).await;
    assert_eq!(world.issuer.cards(), 0);
    let card = world.engine.card(&bought_card(&paid)).await.unwrap().unwrap();
    assert!(
        matches!(card.status, purser_actors::entity::card::Status::Failed { .. }),
        "{card:?}"
    );
    let payment = world.engine.payment(&paid.payment).await.unwrap().unwrap();
    assert!(matches!(payment.status, Status::Fulfilled { .. }), "{payment:?}");
    let world = world.crash().await;
    world.wait_until_idle().await;
    assert_credited(&world, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_23_balances_and_ledger_agree_for_every_behavior() {
    // Checks: for any mixture of chain behaviors of one wallet's payments, every amount is accounted for once.
    let world = Harness::new().await;
    let behaviors = [
        PaymentBehavior::Settles,
        PaymentBehavior::ResponseLost,
        PaymentBehavior::NotExecuted,
        PaymentBehavior::Declined,
        PaymentBehavior::Panics(1),
    ];
    let requests: Vec<_> = (0..40).map(|n| card_for(evm(1), n)).collect();
    world.issuer.set_behaviors(&[
        IssuerBehavior::Declines,
        IssuerBehavior::Busy,
        IssuerBehavior::Ready,
        IssuerBehavior::Declines,
        IssuerBehavior::Panics,
        IssuerBehavior::NotYet,
    ]);
    for (n, request) in requests.iter().enumerate() {
        world
            .chain
            .set_behavior(&request.authorization, behaviors[n % behaviors.len()]);
        world.pay(request).await.unwrap();
    }
    for request in &requests {
        world.chain.settle(&request.authorization);
    }
    world.wait_until_idle().await;
    let books = world.ledger_balances();
    assert_eq!(books[&LedgerAccount::Treasury(Network::Base)], 40 * PRICE);
    assert_eq!(books.values().sum::<i128>(), 0);
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    // Eight declined payments settled late, and the issuer declined two cards.
    assert_eq!(i128::from(account.balance.atomic()), 10 * PRICE);
    assert_eq!(books[&LedgerAccount::Customer(evm(1))], -10 * PRICE);
    assert_eq!(books[&LedgerAccount::Provider(LedgerProvider::CardIssuer)], -30 * PRICE);
    assert_eq!(world.issuer.cards(), 30);
}
