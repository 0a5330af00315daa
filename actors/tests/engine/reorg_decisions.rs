//! What operators decide about payments, beside what chains decide: one transfer is one payment, and what was taken back is not
//! given back.

use std::sync::Arc;

use purser_actors::engine::{JobOutcome, JobResolution, RefundError, RefundParams, ResolveError};
use purser_actors::id::RequestId;
use purser_actors::ledger::LedgerAccount;
use purser_actors::money::{Cents, Usdc};
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::payment::Status;
use purser_actors::port::{Authorization, CardAction};
use purser_actors::product::Purchase;
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
async fn a_transfer_stands_for_its_own_payment_alone() {
    // Aim: another payer's transfer with the same nonce and less money is no proof that a payment landed.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    let first = card_for(evm(1), 1);
    let (paid, moved) = pay_and_list(&world, &lists, &first).await;
    lists.add_order(bought_card(&paid).0, EntryStatus::Completed, 500);
    let world = assert_no_discrepancies(world, &lists).await;
    let mut second = card_for(evm(2), 1);
    if let Authorization::Evm(a) = &mut second.authorization {
        a.value = Usdc::from_atomic(500_000_000);
    }
    second.purchase = Purchase::UsaCard {
        amount: Cents::new(50_000),
    };
    second.worth = Cents::new(50_000);
    second.request = [9; 32];
    world
        .chain
        .set_behavior(&second.authorization, PaymentBehavior::NotExecuted);
    let paid2 = world.pay(&second).await.unwrap();
    let stuck = world.engine.dead_letters().await.unwrap();
    let doubt = &stuck.unknown_payments[0];
    let word = JobResolution {
        outcome: JobOutcome::Completed,
        reference: moved.transaction.clone(),
        evidence: "x".into(),
    };
    let told = world.engine.resolve(doubt.job.id, &word, &act("ana")).await;
    assert_eq!(told, Err(ResolveError::Contradicted(EntryStatus::NotSubmitted)));
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

/// Its holder may keep what was bought.
fn refund_params(amount: Usdc) -> RefundParams {
    RefundParams {
        amount,
        reason: "r".into(),
        holder_keeps_product: true,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_8_a_refund_of_what_was_taken_back_is_not_approved() {
    // Aim: asked for while the payment stood, approved after its chain took it back: refused, and nothing is given.
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
    let told = world.engine.approve_refund(id, five, &act("ben")).await;
    world.wait_until_idle().await;
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(
        told.unwrap_err(),
        RefundError::AmountTooLarge {
            refundable_amount: Usdc::ZERO
        }
    );
    assert_eq!(account.balance, Usdc::ZERO);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_8_what_was_taken_back_is_not_credited_when_its_product_fails() {
    // Aim: the card fails after its payment was reversed: the credit waits for a person, and the balance stays empty until one
    // gives it, once.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    let request = card_for(evm(1), 1);
    lists.set_fault(Some(crate::support::lists::ReadFault::NoResponse));
    let paid = world.pay(&request).await.unwrap();
    eventually("stuck", async || {
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
    let told = world.engine.credit_job(effect.id, ("x", true), &act("ana")).await;
    eventually("its credit waits", async || {
        let stuck = world.engine.dead_letters().await.unwrap();
        stuck.jobs.iter().any(|effect| effect.job.name() == "credit")
    })
    .await;
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert!(told.is_ok(), "{told:?}");
    assert_eq!(account.balance, Usdc::ZERO);
    let stuck = world.engine.dead_letters().await.unwrap().jobs.remove(0);
    assert!(stuck.last_error.unwrap().contains("was taken back by its chain"));
    let id = stuck.id;
    let give = async || world.engine.credit_job(id, ("x", false), &act("ben")).await;
    assert_eq!(give().await, Ok(()));
    assert_eq!(give().await, Err(ResolveError::NotFound));
    world.wait_until_idle().await;
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(account.balance, Usdc::from_atomic(5_000_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_8_what_was_left_on_the_card_of_a_reversed_payment_can_be_kept_by_the_house() {
    // Aim: a card whose payment was taken back is closed: its credit is withheld; an operator ends it without giving it, once and
    // in the audit log, and counted against no limit; what is no withheld credit cannot be kept; nothing stays in suspense.
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
        let stuck = world.engine.dead_letters().await.unwrap();
        stuck.jobs.iter().any(|effect| effect.job.name() == "credit")
    })
    .await;
    let stuck = world.engine.dead_letters().await.unwrap().jobs;
    let credit = stuck.iter().find(|effect| effect.job.name() == "credit").unwrap();
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
async fn what_is_no_withheld_credit_cannot_be_kept() {
    // Aim: work that is stuck for another reason is nobody's to keep.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    world.pay(&card_for(evm(1), 1)).await.unwrap();
    eventually("stuck", async || {
        world.engine.dead_letters().await.unwrap().jobs.len() == 1
    })
    .await;
    let effect = world.engine.dead_letters().await.unwrap().jobs.remove(0);
    assert!(!world.engine.is_retainable_credit(&effect).await.unwrap());
    let told = world.engine.retain_credit(effect.id, "x", &act("ana")).await;
    assert_eq!(told, Err(ResolveError::NotResolvable));
}
