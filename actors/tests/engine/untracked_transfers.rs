//! Untracked outgoing transfers: each has a name, and an operator attributes those that belong to no customer.

use std::sync::Arc;

use purser_actors::engine::{ApprovalError, Attribution, AttributionError, RestoreWindow};
use purser_actors::id::{Network, RequestId, WithdrawalId};
use purser_actors::ledger::{LedgerAccount, LedgerProvider, Outlay};
use purser_actors::money::Usdc;
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::{ChainMovement, Clock as _, OutgoingTransfer, Timestamp};

use crate::reconciliation::{kinds, pay_and_list, wait_for_discrepancies, wait_for_full_run};
use crate::support::harness::{Harness, card_for, evm};
use crate::support::lists::FakeLists;
use crate::support::ports::IssuerBehavior;
use crate::support::settings::fast;
use crate::support::{eventually, in_time};

const FIVE: Usdc = Usdc::from_atomic(5_000_000);

fn act(by: &str) -> OperatorAction {
    OperatorAction {
        operator: by.into(),
        role: Role::Operator,
        request_id: RequestId(7),
    }
}

async fn attribute(world: &Harness, name: &str, booking: Attribution) -> Result<Attribution, AttributionError> {
    world
        .engine
        .attribute_transfer(name, (booking, None), (&act("ana"), "seen".into()))
        .await
}

/// An outgoing treasury transfer that this engine did not send.
fn outgoing_movement(transaction: &str, index: u32, to: u8) -> ChainMovement {
    ChainMovement {
        transaction: transaction.to_owned(),
        index,
        incoming: false,
        counterparty: evm(to),
        amount: FIVE,
        at: Timestamp(0),
        fingerprint: ChainMovement::plain_fingerprint(transaction, index),
    }
}

fn ambiguous_names(found: Result<Attribution, AttributionError>) -> Vec<String> {
    match found {
        Err(AttributionError::Ambiguous(names)) => names.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_transfers_of_one_transaction_are_attributed_separately() {
    // Checks: after a restore, one transaction has three outgoing transfers, two of them identical. The hash alone is
    // rejected with their names. One is the pending withdrawal, one bought gas, the last is a loss. Each is attributed
    // once, also the second of the identical ones, and only then transfers resume.
    let (owner, id) = (evm(1), WithdrawalId(77));
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay(&card_for(owner, 1)).await.expect("it is paid");
    world.wait_until_idle().await;
    let at = world.clock.now();
    let restored = RestoreWindow {
        since: at,
        until: at,
        at,
    };
    for (index, to) in [(0, 7), (2, 7), (5, 8)] {
        let left = OutgoingTransfer::from_movement(&outgoing_movement("batch", index, to)).unwrap();
        world.chain.add_outgoing(OutgoingTransfer { at, ..left });
    }
    let world = world.restored(restored).await;
    let asked = world.engine.withdraw(owner, (id, evm(7), FIVE), None);
    in_time("an answer", asked).await.expect("the engine takes it on");
    world.clock.advance(1);
    eventually("it is compared", async || {
        world.engine.untracked_transfers().await.unwrap().len() == 3
    })
    .await;
    let of_all = ["batch#0", "batch#2", "batch#5"];
    assert_eq!(
        ambiguous_names(attribute(&world, "batch", Attribution::Loss).await),
        of_all
    );
    assert_eq!(
        attribute(&world, "batch#1", Attribution::Loss).await,
        Err(AttributionError::NotFound)
    );
    let gas = Attribution::Outlay(Outlay::NetworkFees);
    assert_eq!(attribute(&world, "batch#0", gas).await, Ok(gas));
    assert_eq!(attribute(&world, "batch#0", gas).await, Err(AttributionError::NotFound));
    assert_eq!(
        ambiguous_names(attribute(&world, "batch", Attribution::Loss).await),
        of_all[1..]
    );
    assert!(world.engine.are_withdrawals_paused());
    let its = Attribution::Withdrawal(id);
    assert_eq!(attribute(&world, "batch#5", its).await, Err(AttributionError::Mismatch));
    assert_eq!(attribute(&world, "batch#2", its).await, Ok(its));
    assert!(world.engine.are_withdrawals_paused());
    assert_eq!(
        attribute(&world, "batch#5", Attribution::Loss).await,
        Ok(Attribution::Loss)
    );
    eventually("nothing is held", async || !world.engine.are_withdrawals_paused()).await;
    world.wait_until_idle().await;
    let withdrawal = world.engine.withdrawal(&id).await.unwrap().unwrap();
    assert_eq!(withdrawal.transaction(), Some("batch#2"));
    assert_eq!(world.chain.transfers(), 1, "only the payment");
    let books: Vec<_> = world.ledger_balances().into_iter().collect();
    let left = [
        (LedgerAccount::Treasury(Network::Base), -10_000_000),
        (LedgerAccount::OperatingCosts, 5_000_000),
        (LedgerAccount::NetworkFees, 5_000_000),
    ];
    assert_eq!(books, left);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfer_of_no_customer_can_be_attributed_at_any_time() {
    // Checks: without a restore, reconciliation finds payments to a provider, operator funds and gas, three of them in
    // one transaction. Each is attributed, and no discrepancy is left, over a crash too; a second attribution is
    // rejected.
    let lists = Arc::new(FakeLists::default());
    let world = Harness::new().await.reconciling(lists.reconciling()).await;
    for (transaction, index) in [("batch", 0), ("batch", 4), ("batch", 5), ("alone", 1)] {
        lists.show(outgoing_movement(transaction, index, 7));
    }
    wait_for_discrepancies(&world, &["unmatched_transfer"; 4]).await;
    assert_eq!(
        ambiguous_names(attribute(&world, "batch", Attribution::Loss).await),
        ["batch#0", "batch#4", "batch#5"]
    );
    let word = Attribution::Outlay;
    for (name, booking) in [
        ("batch#0", word(Outlay::Provider(LedgerProvider::GiftCards))),
        ("batch#4", word(Outlay::OperatorFunds)),
        ("batch#5", word(Outlay::NetworkFees)),
        ("alone", word(Outlay::Provider(LedgerProvider::GiftCards))),
    ] {
        assert_eq!(attribute(&world, name, booking).await, Ok(booking));
        assert_eq!(
            attribute(&world, name, Attribution::Loss).await,
            Err(AttributionError::NotFound)
        );
    }
    assert_eq!(
        attribute(&world, "nowhere", Attribution::Loss).await,
        Err(AttributionError::NotFound)
    );
    wait_for_discrepancies(&world, &[]).await;
    wait_for_full_run(&world).await;
    assert_eq!(kinds(&world).await, [""; 0]);
    let books: Vec<_> = world.ledger_balances().into_iter().collect();
    let left = [
        (LedgerAccount::Treasury(Network::Base), -20_000_000),
        (LedgerAccount::Provider(LedgerProvider::GiftCards), 10_000_000),
        (LedgerAccount::OperatorFunds, 5_000_000),
        (LedgerAccount::NetworkFees, 5_000_000),
    ];
    assert_eq!(books, left);
    let world = world.crash().await;
    wait_for_full_run(&world).await;
    assert_eq!(kinds(&world).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn attribution_above_the_limit_needs_two_operators() {
    // Checks: above the limit nothing is attributed until another operator approves exactly this transfer; the
    // requester can't.
    let lists = Arc::new(FakeLists::default());
    let mut settings = fast();
    settings.approvals.max_per_action = Usdc::from_atomic(4_999_999);
    let world = Harness::with(settings).await.reconciling(lists.reconciling()).await;
    for index in [0, 1] {
        lists.show(outgoing_movement("batch", index, 7));
    }
    let taken_out = Attribution::Outlay(Outlay::OperatorFunds);
    let Err(AttributionError::ApprovalPending(id)) = attribute(&world, "batch#0", taken_out).await else {
        panic!("one operator is not enough")
    };
    assert!(world.ledger_balances().is_empty());
    let own = world.engine.approve(id, FIVE, &act("ana")).await;
    assert!(matches!(own, Err(ApprovalError::SelfApproval)), "{own:?}");
    let approved = world.engine.approve(id, FIVE, &act("ben")).await.unwrap();
    assert_eq!(
        (approved.action.kind().name(), approved.action.subject()),
        ("book_outlay", "batch#0".into())
    );
    assert_eq!(world.ledger_balances()[&LedgerAccount::OperatorFunds], 5_000_000);
    wait_for_discrepancies(&world, &["unmatched_transfer"]).await;
    let again = attribute(&world, "batch#0", taken_out).await;
    assert_eq!(again, Err(AttributionError::NotFound));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_payments_of_a_reversed_transaction_are_two_discrepancies() {
    // Checks: two payments settled in one transaction and there is no discrepancy. After a reorg each is listed on its
    // own, over a crash. One is included again, and the other stays listed.
    let lists = Arc::new(FakeLists::default());
    let world = Harness::new().await.reconciling(lists.reconciling()).await;
    let (one, two) = (card_for(evm(1), 1), card_for(evm(2), 2));
    // The second has the transaction of the first.
    let transaction = world.chain.settle(&one.authorization);
    world.chain.settle_in(&two.authorization, &transaction);
    let (first, moved) = pay_and_list(&world, &lists, &one).await;
    let (second, beside) = pay_and_list(&world, &lists, &two).await;
    lists.hide(&moved.key());
    let shown = [
        ChainMovement { index: 1, ..moved },
        ChainMovement { index: 4, ..beside },
    ];
    for (paid, moved) in [(&first, &shown[0]), (&second, &shown[1])] {
        assert_eq!(moved.transaction, transaction);
        lists.add_order(
            crate::support::harness::bought_card(paid).0,
            purser_actors::reconciliation::EntryStatus::Completed,
            500,
        );
        lists.show(moved.clone());
    }
    lists.set_fault(None);
    wait_for_full_run(&world).await;
    assert_eq!(kinds(&world).await, [""; 0]);
    for moved in &shown {
        lists.hide(&moved.key());
    }
    wait_for_discrepancies(&world, &["missing_deposit"; 2]).await;
    let open = world.engine.discrepancies(None, 10).await.unwrap();
    let mut subjects: Vec<_> = open
        .iter()
        .filter_map(|(_, open)| open.details.subject.clone())
        .collect();
    subjects.sort_unstable();
    let mut paid = [first.payment.to_string(), second.payment.to_string()];
    paid.sort_unstable();
    assert_eq!(subjects, paid);
    let world = world.crash().await;
    lists.show(shown[1].clone());
    wait_for_discrepancies(&world, &["missing_deposit"]).await;
    let open = world.engine.discrepancies(None, 10).await.unwrap();
    assert_eq!(open[0].1.details.subject, Some(first.payment.to_string()));
    lists.show(shown[0].clone());
    wait_for_discrepancies(&world, &[]).await;
}
