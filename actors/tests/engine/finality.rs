//! Payments that are seen before they are final: the product is created at once, and no transfer that depends on the
//! payment is sent before it is final.

use std::collections::BTreeSet;

use purser_actors::engine::JOB_NAMES;
use purser_actors::engine::{GateHold, OperationError};
use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::account;
use purser_actors::entity::account::Rejection;
use purser_actors::entity::payment::{Outcome, Status};
use purser_actors::entity::payout;
use purser_actors::entity::top_up;
use purser_actors::id::{JobId, Network, PaymentId, Wallet, WithdrawalId};
use purser_actors::kernel::{Entity as _, table};
use purser_actors::ledger::LedgerAccount;
use purser_actors::money::Usdc;

use crate::gate::{assert_stays_held, gate_hold};
use crate::gift_cards;
use crate::payouts::{OWN_DESTINATION, register, to_bank};
use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::IssuerBehavior;
use crate::top_ups;
use crate::withdrawals::{ALL, ID, OWNER, assert_complete, balance, withdraw};

/// A harness whose chain reports transfers as not final, and a payment of 5.00 there whose card was declined: its
/// credit is held.
async fn credited() -> (Harness, PaymentId) {
    let world = Harness::new().await;
    world.chain.set_unconfirmed(true);
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    let paid = world.pay(&card_for(OWNER, 1)).await.expect("it is paid");
    eventually("the credit is held", async || {
        world
            .engine
            .account(&OWNER)
            .await
            .is_ok_and(|account| account.is_some_and(|a| a.held == ALL))
    })
    .await;
    (world, paid.payment)
}

fn release(payment: PaymentId) -> account::Job {
    account::Job::ReleaseCredit {
        account: OWNER,
        payment,
        amount: ALL,
    }
}

async fn status(world: &Harness, payment: &PaymentId) -> Status {
    world.engine.payment(payment).await.unwrap().unwrap().status
}

async fn is_frozen(world: &Harness) -> bool {
    world.engine.account(&OWNER).await.unwrap().unwrap().frozen.is_some()
}

/// Reverses the payment finally, by a reorg.
async fn reverse_payment(world: &Harness, payment: &PaymentId) {
    world.chain.reorg(&card_for(OWNER, 1).authorization);
    world.chain.expire(&card_for(OWNER, 1).authorization);
    eventually("it is reversed", async || {
        matches!(status(world, payment).await, Status::Reversed { .. })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_credit_is_available_only_once_its_payment_is_final() {
    // Checks: the credit is in the balance and on the statement but not available, over a crash too. Once final, all of
    // it can be withdrawn once.
    let (world, payment) = credited().await;
    assert_stays_held(&world, &release(payment), GateHold::PaymentNotFinal).await;
    let world = world.crash().await;
    assert_stays_held(&world, &release(payment), GateHold::PaymentNotFinal).await;
    assert_eq!(balance(&world).await, (5_000_000, 5_000_000));
    let available = Usdc::ZERO;
    let refused = withdraw(&world, Usdc::from_atomic(1)).await;
    assert!(
        matches!(refused, Err(OperationError::Rejected(Rejection::Insufficient { available: a })) if a == available),
        "{refused:?}"
    );
    let lines = world.engine.statement(&OWNER, None, 10).await.unwrap().0;
    let change_names: Vec<_> = lines.iter().map(|(_, line)| line.change.name()).collect();
    assert_eq!(change_names, ["credited", "held_unfinal"]);
    world.chain.set_unconfirmed(false);
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, (5_000_000, 0));
    assert!(
        world
            .store
            .rows(&table::pending_finality(PaymentId::NONE)[..2])
            .is_empty()
    );
    withdraw(&world, ALL).await.expect("it is taken on");
    world.wait_until_idle().await;
    assert_complete(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_pay_cancel_withdraw_gains_nothing() {
    // Checks: a reorg drops the payment before it is final. While it may settle again, its credit is held; once it
    // can't, the credit is removed, over a crash too. There is no loss, and no account is frozen.
    let (world, payment) = credited().await;
    world.chain.reorg(&card_for(OWNER, 1).authorization);
    assert_stays_held(&world, &release(payment), GateHold::PaymentNotFinal).await;
    assert!(withdraw(&world, ALL).await.is_err(), "nothing is available");
    reverse_payment(&world, &payment).await;
    let world = world.crash().await;
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, (0, 0));
    assert!(!is_frozen(&world).await, "nothing has left");
    assert!(world.ledger_balances().is_empty(), "{:?}", world.ledger_balances());
    assert_eq!(
        world.chain.transfers(),
        0,
        "the payer has the money and the account has no credit"
    );
    for what in ["payment.reversed", "balance.reversed"] {
        assert_eq!(world.event_count(what), 1, "{what}");
    }
    assert!(withdraw(&world, Usdc::from_atomic(1)).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_payment_included_again_still_becomes_final() {
    // Checks: after a reorg and a second inclusion, the credit is available once final, and there is no loss.
    let (world, payment) = credited().await;
    world.chain.reorg(&card_for(OWNER, 1).authorization);
    assert_stays_held(&world, &release(payment), GateHold::PaymentNotFinal).await;
    world.chain.settle(&card_for(OWNER, 1).authorization);
    world.chain.set_unconfirmed(false);
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, (5_000_000, 0));
    assert!(matches!(status(&world, &payment).await, Status::Fulfilled { .. }));
    assert_eq!(world.ledger_balances().get(&LedgerAccount::Losses), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_payout_is_ordered_once_its_payment_is_final() {
    // Checks: a payout is sold at once and ordered at its rail once the payment is final. If the payment is reversed,
    // the payout was never ordered: it fails, and its charge is withheld because no one has paid it.
    for lands in [true, false] {
        let world = Harness::new().await;
        register(&world, OWNER, OWN_DESTINATION).await;
        world.chain.set_unconfirmed(true);
        let request = to_bank(1, OWN_DESTINATION);
        let paid = world.pay_until_known(&request).await;
        let Outcome::Fulfilled {
            product: PurchasedProduct::Payout(id),
            ..
        } = paid.outcome
        else {
            panic!("nothing was bought: {:?}", paid.outcome);
        };
        assert_stays_held(&world, &payout::Job::SendPayout(id), GateHold::PaymentNotFinal).await;
        let world = world.crash().await;
        assert_stays_held(&world, &payout::Job::SendPayout(id), GateHold::PaymentNotFinal).await;
        assert_eq!(world.payouts.calls().len(), 0, "nothing was ordered");
        let is = async |wanted: &str| {
            let read = world.engine.payout(&id).await.unwrap().unwrap();
            read.status() == wanted
        };
        if lands {
            world.chain.set_unconfirmed(false);
            eventually("it is ordered", async || !world.payouts.calls().is_empty()).await;
            // A payout in process is queried with the same order: repeated calls are one order while the key is one.
            let keys: BTreeSet<JobId> = world.payouts.calls().iter().map(|order| order.key).collect();
            assert_eq!(keys.len(), 1, "one order");
            assert_eq!(gate_hold(&world, &payout::Job::SendPayout(id)).await, None);
            continue;
        }
        reverse_payment(&world, &paid.payment).await;
        eventually("it has failed", async || is("failed").await).await;
        assert_eq!(world.payouts.calls().len(), 0);
        eventually("its credit is withheld", async || {
            let dead_lettered = world.engine.dead_letters().await.unwrap();
            dead_lettered
                .jobs
                .iter()
                .any(|effect| effect.job.name() == "credit_account")
        })
        .await;
        assert_eq!(balance(&world).await, (0, 0));
        assert!(!is_frozen(&world).await, "nothing has left");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_top_up_is_forwarded_once_its_payment_is_final() {
    // Checks: no treasury transfer is sent for it before; once final, it is forwarded once.
    let world = Harness::new().await;
    top_ups::link(&world, OWNER);
    world.chain.set_unconfirmed(true);
    let id = top_ups::buy(&world, &top_ups::top_up_for(OWNER, 1)).await;
    assert_stays_held(&world, &top_up::Job::SendTopUp(id), GateHold::PaymentNotFinal).await;
    assert_eq!(world.chain.transfers(), 1, "the payment alone");
    world.chain.set_unconfirmed(false);
    world.wait_until_idle().await;
    assert_eq!(world.chain.transfers(), 2);
    let top_up = world.engine.top_up(&id).await.unwrap().unwrap();
    assert_eq!(top_up.status(), "credited");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_product_of_a_reversed_payment_freezes_the_account() {
    // Checks: a card is issued at once. If its payment is finally reversed, the account is frozen and the loss posted.
    let world = Harness::new().await;
    world.chain.set_unconfirmed(true);
    let paid = world.pay(&card_for(OWNER, 1)).await.expect("it is paid");
    bought_card(&paid);
    eventually("the card is made", async || world.issuer.cards() == 1).await;
    assert!(world.engine.is_pending_finality(paid.payment).await.unwrap());
    reverse_payment(&world, &paid.payment).await;
    world.wait_until_idle().await;
    assert!(is_frozen(&world).await);
    assert_eq!(world.ledger_balances()[&LedgerAccount::Losses], 5_000_000);
    assert_eq!(
        world.ledger_balances().get(&LedgerAccount::Treasury(Network::Base)),
        None
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_gift_card_is_ordered_at_once_and_marked_unfinal() {
    // Checks: the catalog issues it before the payment is final, and a read of the code shows that the payment is not
    // final.
    let world = Harness::new().await;
    world.chain.set_unconfirmed(true);
    let paid = world.pay_until_known(&gift_cards::gift(1)).await;
    eventually("it is made", async || world.gift_cards.made() == 1).await;
    assert!(world.engine.is_pending_finality(paid.payment).await.unwrap());
    world.chain.set_unconfirmed(false);
    world.wait_until_idle().await;
    assert!(!world.engine.is_pending_finality(paid.payment).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn immediately_final_payment_waits_for_nothing() {
    // Checks: where the chain reports the transfer as final, no job or row exists for it, and a credit is available at
    // once.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay(&card_for(OWNER, 1)).await.expect("it is paid");
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, (5_000_000, 0));
    let figures = world.engine.stats().await.unwrap();
    for name in ["await_final", "release_credit"] {
        let index = JOB_NAMES.iter().position(|one| *one == name).expect("a kind of work");
        assert_eq!(figures.jobs[index].attempts.attempts, 0, "{name}");
    }
    let (to, id): (Wallet, WithdrawalId) = (evm(7), ID);
    let withdrawal = world.engine.withdraw(OWNER, (id, to, ALL), None).await;
    withdrawal.expect("it is taken on");
}
