//! Operator decisions about payments beside the chain's: one transfer is one payment, and a reversed payment is not
//! credited.

use std::sync::Arc;

use purser_actors::engine::{JobOutcome, JobResolution, RefundError, RefundParams, ResolveError};
use purser_actors::entity::Purchase;
use purser_actors::entity::card::CardPurchase;
use purser_actors::entity::payment::Status;
use purser_actors::id::RequestId;
use purser_actors::ledger::LedgerAccount;
use purser_actors::money::{Cents, Usdc};
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::{Authorization, CardAction};
use purser_actors::reconciliation::EntryStatus;

use crate::reconciliation::pay_and_list;
use crate::reconciliation_lists::assert_no_discrepancies;
use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::lists::FakeLists;
use crate::support::ports::{IssuerBehavior, PaymentBehavior};
use crate::support::settings::fast;

fn act(by: &str) -> OperatorAction {
    OperatorAction {
        operator: by.into(),
        role: Role::Administrator,
        request_id: RequestId(7),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfer_settles_only_its_own_payment() {
    // Checks: another payer's transfer with the same nonce and less money does not prove that a payment settled.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    let first = card_for(evm(1), 1);
    let (paid, moved) = pay_and_list(&world, &lists, &first).await;
    lists.add_order(bought_card(&paid).0, EntryStatus::Completed, 500);
    let world = assert_no_discrepancies(world, &lists).await;
    let mut second = card_for(evm(2), 1);
    if let Authorization::Evm(a) = &mut second.authorization {
        a.value = Usdc::from_atomic(500_000_000);
    }
    second.purchase = Purchase::UsaCard(CardPurchase {
        amount: Cents::new(50_000),
    });
    second.worth = Cents::new(50_000);
    second.request = [9; 32];
    world
        .chain
        .set_behavior(&second.authorization, PaymentBehavior::NotExecuted);
    let paid2 = world.pay(&second).await.unwrap();
    let dead_lettered = world.engine.dead_letters().await.unwrap();
    let doubt = &dead_lettered.unknown_payments[0];
    let word = JobResolution {
        outcome: JobOutcome::Completed,
        reference: moved.transaction.clone(),
        evidence: "x".into(),
    };
    let result = world.engine.resolve(doubt.job.id, &word, &act("ana")).await;
    assert_eq!(result, Err(ResolveError::Contradicted(EntryStatus::NotSubmitted)));
    let status = world.engine.payment(&paid2.payment).await.unwrap().unwrap().status;
    assert!(matches!(status, Status::Unknown(_)), "{status:?}");
}

async fn wait_until_reversed(world: &Harness, paid: purser_actors::id::PaymentId) {
    eventually("reversed", async || {
        matches!(
            world.engine.payment(&paid).await.unwrap().unwrap().status,
            Status::Reversed { .. }
        )
    })
    .await;
}

/// A refund with which the owner keeps the product.
fn refund_params(amount: Usdc) -> RefundParams {
    RefundParams {
        amount,
        reason: "r".into(),
        holder_keeps_product: true,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_8_refund_of_a_reversed_payment_is_not_approved() {
    // Checks: requested while the payment was valid and approved after its reversal: rejected, and nothing is refunded.
    let mut settings = fast();
    settings.approvals.max_per_action = Usdc::from_atomic(1);
    let (world, lists) = (Harness::with(settings).await, Arc::new(FakeLists::default()));
    let request = card_for(evm(1), 1);
    let (paid, moved) = pay_and_list(&world, &lists, &request).await;
    lists.add_order(bought_card(&paid).0, EntryStatus::Completed, 500);
    let world = assert_no_discrepancies(world, &lists).await;
    let five = Usdc::from_atomic(5_000_000);
    let (id, _) = world
        .engine
        .request_refund(paid.payment, refund_params(five), &act("ana"))
        .await
        .unwrap();
    world.chain.reorg(&request.authorization);
    lists.hide(&moved.transaction);
    world.chain.expire(&request.authorization);
    wait_until_reversed(&world, paid.payment).await;
    let result = world.engine.approve_refund(id, five, &act("ben")).await;
    world.wait_until_idle().await;
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(
        result.unwrap_err(),
        RefundError::AmountTooLarge {
            refundable_amount: Usdc::ZERO
        }
    );
    assert_eq!(account.balance, Usdc::ZERO);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_8_reversed_payment_is_not_credited_when_its_product_fails() {
    // Checks: the card fails after its payment was reversed. The credit waits for an operator, and the balance stays
    // empty until one credits it once.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    let request = card_for(evm(1), 1);
    lists.set_fault(Some(crate::support::lists::ReadFault::NoResponse));
    let paid = world.pay(&request).await.unwrap();
    eventually("dead-lettered", async || {
        world.engine.dead_letters().await.unwrap().jobs.len() == 1
    })
    .await;
    let effect = world.engine.dead_letters().await.unwrap().jobs.remove(0);
    lists.add_order(bought_card(&paid).0, EntryStatus::Pending, 500);
    lists.set_fault(None);
    let world = world.reconciling(lists.reconciling()).await;
    world.chain.reorg(&request.authorization);
    world.chain.expire(&request.authorization);
    wait_until_reversed(&world, paid.payment).await;
    lists.add_order(bought_card(&paid).0, EntryStatus::Declined, 500);
    let result = world.engine.credit_job(effect.id, ("x", true), &act("ana")).await;
    eventually("its credit waits", async || {
        let dead_lettered = world.engine.dead_letters().await.unwrap();
        dead_lettered
            .jobs
            .iter()
            .any(|effect| effect.job.name() == "credit_account")
    })
    .await;
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(account.balance, Usdc::ZERO);
    let dead_lettered = world.engine.dead_letters().await.unwrap().jobs.remove(0);
    assert!(dead_lettered.last_error.unwrap().contains("was reversed by the chain"));
    let id = dead_lettered.id;
    let give = async || world.engine.credit_job(id, ("x", false), &act("ben")).await;
    assert_eq!(give().await, Ok(()));
    assert_eq!(give().await, Err(ResolveError::NotFound));
    world.wait_until_idle().await;
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(account.balance, Usdc::from_atomic(5_000_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_8_withheld_credit_of_a_reversed_payment_can_be_retained() {
    // Checks: a card whose payment was reversed is closed and its credit withheld. An operator retains it once, in the
    // audit log and outside any limit. No other credit can be retained, and suspense is empty.
    let mut settings = fast();
    settings.approvals.max_per_action = Usdc::from_atomic(1);
    let (world, lists) = (Harness::with(settings).await, Arc::new(FakeLists::default()));
    let request = card_for(evm(1), 1);
    let (paid, moved) = pay_and_list(&world, &lists, &request).await;
    let card = bought_card(&paid);
    lists.add_order(card.0, EntryStatus::Completed, 500);
    let world = assert_no_discrepancies(world, &lists).await;
    world.chain.reorg(&request.authorization);
    lists.hide(&moved.transaction);
    world.chain.expire(&request.authorization);
    wait_until_reversed(&world, paid.payment).await;
    world.issuer.set_behaviors(&[IssuerBehavior::Ready]);
    assert!(
        world
            .engine
            .request_prepaid_card_action(card, CardAction::Close, None)
            .await
            .unwrap()
    );
    eventually("its credit waits", async || {
        let dead_lettered = world.engine.dead_letters().await.unwrap();
        dead_lettered
            .jobs
            .iter()
            .any(|effect| effect.job.name() == "credit_account")
    })
    .await;
    let dead_lettered = world.engine.dead_letters().await.unwrap().jobs;
    let credit = dead_lettered
        .iter()
        .find(|effect| effect.job.name() == "credit_account")
        .unwrap();
    assert!(world.engine.is_retainable_credit(credit).await.unwrap());
    let keep = async || world.engine.retain_credit(credit.id, "Ticket 8", &act("ana")).await;
    assert_eq!(keep().await, Ok(()));
    assert_eq!(keep().await, Err(ResolveError::NotFound));
    world.wait_until_idle().await;
    let books = world.ledger_balances();
    assert_eq!(books.get(&LedgerAccount::Suspense).copied().unwrap_or(0), 0);
    assert_eq!(books.get(&LedgerAccount::OperatingCosts), Some(&-5_000_000));
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(account.balance, Usdc::ZERO);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_a_withheld_credit_can_be_retained() {
    // Checks: a job that is dead-lettered for another reason can't be retained.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    world.pay(&card_for(evm(1), 1)).await.unwrap();
    eventually("dead-lettered", async || {
        world.engine.dead_letters().await.unwrap().jobs.len() == 1
    })
    .await;
    let effect = world.engine.dead_letters().await.unwrap().jobs.remove(0);
    assert!(!world.engine.is_retainable_credit(&effect).await.unwrap());
    let result = world.engine.retain_credit(effect.id, "x", &act("ana")).await;
    assert_eq!(result, Err(ResolveError::NotResolvable));
}
