//! Payments that are seen before they are final: what they bought is made, and nothing that rests on one leaves before it is final.

use std::collections::BTreeSet;

use purser_actors::account::Rejection;
use purser_actors::engine::{GateHold, OperationError};
use purser_actors::id::{JobId, Network, PaymentId, Wallet, WithdrawalId};
use purser_actors::kernel::job::Job;
use purser_actors::kernel::{Entity as _, table};
use purser_actors::ledger::LedgerAccount;
use purser_actors::money::Usdc;
use purser_actors::payment::{Outcome, Status};
use purser_actors::product::PurchasedProduct;

use crate::gate::{assert_stays_held, gate_hold};
use crate::gift_cards;
use crate::payouts::{OWN_DESTINATION, register, to_bank};
use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::IssuerBehavior;
use crate::top_ups;
use crate::withdrawals::{ALL, ID, OWNER, assert_complete, balance, withdraw};

/// A world whose chain shows what lands as only seen, and a payment there whose card was refused: 5.00, held.
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

fn release(payment: PaymentId) -> Job {
    Job::ReleaseCredit {
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

/// The chain has taken it back for good.
async fn reverse_payment(world: &Harness, payment: &PaymentId) {
    world.chain.reorg(&card_for(OWNER, 1).authorization);
    world.chain.expire(&card_for(OWNER, 1).authorization);
    eventually("it is reversed", async || {
        matches!(status(world, payment).await, Status::Reversed { .. })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_a_credit_leaves_only_once_its_payment_is_final() {
    // Aim: the credit stands in the balance and on the statement, none of it is available, and it waits by name, over a crash too;
    // final, all of it leaves once.
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
    let told: Vec<_> = lines.iter().map(|(_, line)| line.change.name()).collect();
    assert_eq!(told, ["credited", "held_unfinal"]);
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
async fn case_83_pay_cancel_withdraw_leaves_nothing_to_take() {
    // Aim: a reorganisation takes the payment back before it is final. As long as it may land again its credit waits; once it never
    // can, the credit is not there any more, over a crash too: nobody has lost anything, and nobody is frozen for it.
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
        "the payer has it back, and nobody has anything of it"
    );
    for what in ["payment.reversed", "balance.reversed"] {
        assert_eq!(world.event_count(what), 1, "{what}");
    }
    assert!(withdraw(&world, Usdc::from_atomic(1)).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_a_payment_that_lands_again_is_final_all_the_same() {
    // Aim: taken back and landed again, its credit is the holder's once it is final, and nothing is a loss.
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
async fn case_83_a_payout_is_ordered_once_its_payment_is_final() {
    // Aim: sold at once and not ordered at its rail before; final, it is ordered once. Gone, it was never ordered: it has failed, and
    // what it cost is withheld, since nobody has paid it.
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
        assert_stays_held(&world, &Job::SendPayout(id), GateHold::PaymentNotFinal).await;
        let world = world.crash().await;
        assert_stays_held(&world, &Job::SendPayout(id), GateHold::PaymentNotFinal).await;
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
            assert_eq!(gate_hold(&world, &Job::SendPayout(id)).await, None);
            continue;
        }
        reverse_payment(&world, &paid.payment).await;
        eventually("it has failed", async || is("failed").await).await;
        assert_eq!(world.payouts.calls().len(), 0);
        eventually("its credit is withheld", async || {
            let stuck = world.engine.dead_letters().await.unwrap();
            stuck.jobs.iter().any(|effect| effect.job.name() == "credit")
        })
        .await;
        assert_eq!(balance(&world).await, (0, 0));
        assert!(!is_frozen(&world).await, "nothing has left");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_a_top_up_is_sent_on_once_its_payment_is_final() {
    // Aim: nothing leaves the treasury for it before; final, it goes on once.
    let world = Harness::new().await;
    top_ups::link(&world, OWNER);
    world.chain.set_unconfirmed(true);
    let id = top_ups::buy(&world, &top_ups::top_up_for(OWNER, 1)).await;
    assert_stays_held(&world, &Job::SendTopUp(id), GateHold::PaymentNotFinal).await;
    assert_eq!(world.chain.transfers(), 1, "the payment alone");
    world.chain.set_unconfirmed(false);
    world.wait_until_idle().await;
    assert_eq!(world.chain.transfers(), 2);
    let top_up = world.engine.top_up(&id).await.unwrap().unwrap();
    assert_eq!(top_up.status(), "credited");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_83_what_was_made_before_the_payment_was_final_freezes_its_account() {
    // Aim: a card is made at once, as before; if its payment is gone for good the account is frozen and the loss booked.
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
async fn case_83_a_gift_card_is_ordered_at_once_and_known_to_be_unfinal() {
    // Aim: the catalog makes it before the payment is final, and whoever would show its code is told that it is not.
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
async fn what_is_final_at_once_waits_for_nothing() {
    // Aim: where the chain says final, no work and no row is there for it, and a credit is available at once.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay(&card_for(OWNER, 1)).await.expect("it is paid");
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, (5_000_000, 0));
    let figures = world.engine.stats().await.unwrap();
    for name in ["await_final", "release_credit"] {
        let index = Job::NAMES.iter().position(|one| *one == name).expect("a kind of work");
        assert_eq!(figures.jobs[index].attempts.attempts, 0, "{name}");
    }
    let (to, id): (Wallet, WithdrawalId) = (evm(7), ID);
    let told = world.engine.withdraw(OWNER, (id, to, ALL), None).await;
    told.expect("it is taken on");
}
