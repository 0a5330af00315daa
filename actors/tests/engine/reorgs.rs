//! A reorg that reverses a payment after it has bought something.

use std::sync::Arc;

use purser_actors::entity::payment::{Outcome, Status};
use purser_actors::id::{Network, PaymentId, Wallet};
use purser_actors::ledger::LedgerAccount;
use purser_actors::reconciliation::EntryStatus;

use crate::reconciliation::{kinds, pay_and_list, wait_for_discrepancies, wait_for_full_run};
use crate::reconciliation_lists::assert_no_discrepancies;
use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::lists::FakeLists;

const OWNER: Wallet = evm(1);

async fn status(world: &Harness, payment: &PaymentId) -> Status {
    world.engine.payment(payment).await.unwrap().unwrap().status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_8_final_reversal_freezes_the_account_and_is_a_loss() {
    // Checks: while it may settle again nothing is posted, over a crash. Once it can't, the account is frozen, the loss
    // is posted and the discrepancy resolved, once, over a crash too.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    let request = card_for(OWNER, 1);
    let (paid, moved) = pay_and_list(&world, &lists, &request).await;
    lists.add_order(bought_card(&paid).0, EntryStatus::Completed, 500);
    let mut world = assert_no_discrepancies(world, &lists).await;
    world.chain.reorg(&request.authorization);
    lists.hide(&moved.transaction);
    wait_for_discrepancies(&world, &["missing_deposit"]).await;
    let before = world.chain.lookups();
    eventually("the chain is asked", async || world.chain.lookups() > before + 1).await;
    world = world.crash().await;
    assert!(matches!(status(&world, &paid.payment).await, Status::Fulfilled { .. }));
    assert_eq!(world.ledger_balances().get(&LedgerAccount::Losses), None);
    let account = world.engine.account(&OWNER).await.unwrap().unwrap();
    assert_eq!(account.frozen, None);

    world.chain.expire(&request.authorization);
    eventually("it is reversed", async || {
        matches!(status(&world, &paid.payment).await, Status::Reversed { .. })
    })
    .await;
    wait_for_discrepancies(&world, &[]).await;
    world = world.crash().await;
    wait_for_full_run(&world).await;
    assert_eq!(kinds(&world).await, [""; 0]);
    let books = world.ledger_balances();
    assert_eq!(books[&LedgerAccount::Losses], 5_000_000);
    assert_eq!(books.get(&LedgerAccount::Treasury(Network::Base)), None);
    let account = world.engine.account(&OWNER).await.unwrap().unwrap();
    assert!(account.frozen.is_some());
    for what in ["payment.reversed", "account.frozen", "discrepancy.resolved"] {
        assert_eq!(world.event_count(what), 1, "{what}");
    }
    // The product has no owner any more: sent again, the payment buys nothing.
    let again = world.pay(&request).await;
    assert!(
        !matches!(&again, Ok(paid) if matches!(paid.outcome, Outcome::Fulfilled { .. })),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_8_payment_included_again_is_no_loss() {
    // Checks: after a reorg and a second inclusion, the discrepancy opens and resolves, and no account is frozen.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    let request = card_for(OWNER, 1);
    let (paid, moved) = pay_and_list(&world, &lists, &request).await;
    lists.add_order(bought_card(&paid).0, EntryStatus::Completed, 500);
    let world = assert_no_discrepancies(world, &lists).await;
    world.chain.reorg(&request.authorization);
    lists.hide(&moved.transaction);
    wait_for_discrepancies(&world, &["missing_deposit"]).await;
    world.chain.settle(&request.authorization);
    lists.show(moved);
    wait_for_discrepancies(&world, &[]).await;
    world.wait_until_idle().await;
    assert!(matches!(status(&world, &paid.payment).await, Status::Fulfilled { .. }));
    let account = world.engine.account(&OWNER).await.unwrap().unwrap();
    assert_eq!(
        (account.frozen, world.ledger_balances().get(&LedgerAccount::Losses)),
        (None, None)
    );
}
