//! Lists of bank, card program and bridge compared with the ledger; a hanging list or an unreadable row hides no other
//! entry.

use std::sync::Arc;

use purser_actors::engine::{PaymentRequest, ProviderReport, Reconciler, ReconciliationCursor, ResolveError};
use purser_actors::entity::account::BankDebit;
use purser_actors::entity::banking::transfer::TransferRequest;
use purser_actors::entity::payment::Outcome;
use purser_actors::entity::top_up::{CardBalancePurchase, LegKind};
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::{BankAccountId, BankTransferId, CardId, JobId, RequestId, TopUpId, Wallet, WithdrawalId};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::money::{Cents, Usdc};
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::banking::AccountType;
use purser_actors::port::{ChainMovement, ProviderEntry, Timestamp};
use purser_actors::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

use crate::reconciliation::{kinds, pay_and_list, wait_for_discrepancies, wait_for_full_run};
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::lists::{FakeLists, dollars, entry};
use crate::support::ports::IssuerBehavior;
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);
const ACCOUNT: BankAccountId = BankAccountId(3);
const TRANSFER: BankTransferId = BankTransferId(4);
const DEPOSIT_ADDRESS: [u8; 20] = [0xdd; 20];

/// A harness whose owner has 5.00 and a bank account; every provider's list agrees.
async fn harness_with_bank_account(ramp: AccountType) -> (Harness, Arc<FakeLists>) {
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    pay_and_list(&world, &lists, &card_for(OWNER, 1)).await;
    let opened = world
        .engine
        .open_bank_account(ACCOUNT, OWNER, "cus".into(), (ramp, None), None);
    opened.await.expect("a new account");
    world.wait_until_idle().await;
    (world, lists)
}

/// Runs the reconciliation and expects no discrepancy.
pub(crate) async fn assert_no_discrepancies(world: Harness, lists: &Arc<FakeLists>) -> Harness {
    lists.set_fault(None);
    let world = world.reconciling(lists.reconciling()).await;
    wait_for_full_run(&world).await;
    assert_eq!(kinds(&world).await, [""; 0]);
    world
}

/// An entry that is missing, doubled or has another amount or status is a discrepancy of that kind until it is
/// corrected; `double` is the name of the unexpected entry.
pub(crate) async fn assert_each_discrepancy(
    world: &Harness,
    lists: &FakeLists,
    source: ReconciliationSource,
    right: ProviderEntry,
    double: &str,
) {
    let subject = async || {
        let open = world.engine.discrepancies(None, 10).await.unwrap();
        let [(_, one)] = &open[..] else { panic!("{open:?}") };
        assert_eq!(one.details.source, source);
        one.details.subject.clone()
    };
    lists.take(source, &right.name);
    wait_for_discrepancies(world, &["missing_at_provider"]).await;
    let ours = subject().await;
    assert!(ours.is_some());
    lists.put(source, right.clone());
    wait_for_discrepancies(world, &[]).await;
    let more = match right.amount {
        EntryAmount::Usdc(amount) => EntryAmount::Usdc(Usdc::from_atomic(amount.atomic() + 1)),
        EntryAmount::Cents(amount, currency) => EntryAmount::Cents(Cents::new(amount.get() + 1), currency),
    };
    let changed = ProviderEntry {
        amount: more,
        ..right.clone()
    };
    lists.put(source, changed);
    wait_for_discrepancies(world, &["amount_mismatch"]).await;
    assert_eq!(subject().await, ours);
    let refused = ProviderEntry {
        status: EntryStatus::Declined,
        ..right.clone()
    };
    lists.put(source, refused);
    wait_for_discrepancies(world, &["status_mismatch"]).await;
    lists.put(source, right.clone());
    wait_for_discrepancies(world, &[]).await;
    let twice = entry(double, right.status, right.amount);
    lists.put(source, twice);
    wait_for_discrepancies(world, &["unexpected_at_provider"]).await;
    assert_eq!(subject().await, None);
    lists.take(source, double);
    wait_for_discrepancies(world, &[]).await;
}

fn transfer_request(cents: u64) -> TransferRequest {
    TransferRequest {
        owner: OWNER,
        account: ACCOUNT,
        cents: Cents::new(cents),
        amount: Usdc::from_cents(Cents::new(cents)).unwrap(),
        note: None,
    }
}

async fn to_the_bank(world: &Harness, transfer: BankTransferId, cents: u64) {
    let pay = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Transfer(transfer, transfer_request(cents)), None);
    in_time("an answer", pay).await.expect("it is taken on");
    world.wait_until_idle().await;
}

async fn balance(world: &Harness) -> u64 {
    let account = world.engine.account(&OWNER).await.unwrap().unwrap();
    account.balance.atomic()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wrong_bank_transfer_is_a_discrepancy() {
    // Checks: a transfer that the bank lost, executed twice, or executed with another amount; one in each direction.
    let (world, lists) = harness_with_bank_account(AccountType::OffRamp).await;
    to_the_bank(&world, TRANSFER, 4_00).await;
    let drawn = world
        .engine
        .transfer_to_balance(BankTransferId(5), transfer_request(1_50), None);
    in_time("an answer", drawn).await.expect("it is taken on");
    world.wait_until_idle().await;
    for (key, cents) in [(TRANSFER.0, 4_00), (5, 1_50)] {
        lists.put(
            ReconciliationSource::BankTransfers,
            entry(JobId(key), EntryStatus::Completed, dollars(cents)),
        );
    }
    let world = assert_no_discrepancies(world, &lists).await;
    for (key, cents) in [(TRANSFER.0, 4_00), (5, 1_50)] {
        let right = entry(JobId(key), EntryStatus::Completed, dollars(cents));
        assert_each_discrepancy(
            &world,
            &lists,
            ReconciliationSource::BankTransfers,
            right,
            &JobId(99).to_string(),
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wrong_bank_deposit_is_a_discrepancy() {
    // Checks: a deposit that we credited and the bank does not list, one that the bank lists and we did not credit, and
    // one with another amount.
    let (world, lists) = harness_with_bank_account(AccountType::OnRamp).await;
    world.bank.add_deposit("wire 1", ACCOUNT, 1_00);
    eventually("it is credited", async || balance(&world).await == 6_000_000).await;
    world.wait_until_idle().await;
    let right = entry("wire 1", EntryStatus::Completed, dollars(1_00));
    lists.put(ReconciliationSource::BankDeposits, right.clone());
    let world = assert_no_discrepancies(world, &lists).await;
    assert_each_discrepancy(&world, &lists, ReconciliationSource::BankDeposits, right, "wire 2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn return_that_cannot_be_credited_is_reported() {
    // Checks: a return that is too large, of an unknown transfer, or repeated is a discrepancy under the bank's id; a
    // credited one is not. A deposit into an account that credits no balance is one too.
    let (world, lists) = harness_with_bank_account(AccountType::OffRamp).await;
    to_the_bank(&world, TRANSFER, 4_00).await;
    lists.put(
        ReconciliationSource::BankTransfers,
        entry(JobId(TRANSFER.0), EntryStatus::Completed, dollars(4_00)),
    );
    let back = |transfer: BankTransferId, name: &str, cents| {
        world.bank.add_return(transfer, name, ACCOUNT, cents);
        lists.put_returned(transfer, entry(name, EntryStatus::Completed, dollars(cents)));
    };
    back(TRANSFER, "too much", 4_01);
    back(BankTransferId(98), "a stranger's", 1_00);
    back(TRANSFER, "ach", 3_99);
    back(TRANSFER, "once more", 1);
    world.bank.add_deposit("wire", ACCOUNT, 7);
    lists.put(
        ReconciliationSource::BankDeposits,
        entry("wire", EntryStatus::Completed, dollars(7)),
    );
    eventually("all of it is heard", async || world.bank.is_fully_read()).await;
    world.wait_until_idle().await;
    lists.set_fault(None);
    let world = world.reconciling(lists.reconciling()).await;
    wait_for_discrepancies(&world, &["unexpected_at_provider"; 4]).await;
    let open = world.engine.discrepancies(None, 10).await.unwrap();
    let mut named: Vec<_> = open.iter().map(|(_, open)| open.details.key.as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, ["a stranger's", "once more", "too much", "wire"]);
    assert_eq!(balance(&world).await, 1_000_000 + 3_990_000);
    let right = entry("ach", EntryStatus::Completed, dollars(3_98));
    lists.put_returned(TRANSFER, right);
    let five = ["amount_mismatch"].into_iter().chain(["unexpected_at_provider"; 4]);
    wait_for_discrepancies(&world, &five.collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bank_transfer_after_a_backup_is_credited_once_or_reported() {
    // Checks: an older store is restored. Later deposits are reported again and credited once; later outgoing transfers
    // are back on the balance and are discrepancies.
    let (world, lists) = harness_with_bank_account(AccountType::OffRamp).await;
    let on_ramp = BankAccountId(9);
    let opened = world
        .engine
        .open_bank_account(on_ramp, OWNER, "cus".into(), (AccountType::OnRamp, None), None);
    opened.await.expect("a new account");
    world.wait_until_idle().await;
    let backup = world.store.backup();
    to_the_bank(&world, TRANSFER, 4_00).await;
    world.bank.add_deposit("wire", on_ramp, 2_00);
    eventually("it is credited", async || balance(&world).await == 3_000_000).await;
    world.wait_until_idle().await;
    lists.put(
        ReconciliationSource::BankTransfers,
        entry(JobId(TRANSFER.0), EntryStatus::Completed, dollars(4_00)),
    );
    lists.put(
        ReconciliationSource::BankDeposits,
        entry("wire", EntryStatus::Completed, dollars(2_00)),
    );

    let world = world.back_to(backup).await;
    eventually("it is credited again", async || balance(&world).await == 7_000_000).await;
    lists.set_fault(None);
    let world = world.reconciling(lists.reconciling()).await;
    wait_for_discrepancies(&world, &["unexpected_at_provider"]).await;
    wait_for_full_run(&world).await;
    let open = world.engine.discrepancies(None, 10).await.unwrap();
    assert_eq!(open[0].1.details.key, JobId(TRANSFER.0).to_string());
    assert_eq!(balance(&world).await, 7_000_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wrong_entry_of_the_card_program_is_a_discrepancy() {
    // Checks: a card, its remainder and an unpaid hold that are missing, doubled, or of another amount or status.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    world.store.overwrite(table::issuer_linked(&OWNER), &DEPOSIT_ADDRESS);
    world.reloadable_cards.load(DEPOSIT_ADDRESS, 10_00);
    let card = CardId(7);
    let ordered = (card, OWNER, DEPOSIT_ADDRESS);
    let created = world
        .engine
        .create_reloadable(ordered, (Cents::new(6_00), true), None, None);
    in_time("an answer", created).await.expect("it is taken on");
    world.wait_until_idle().await;
    assert!(world.reloadable_cards.charge(card, 1_00));
    let left = async || {
        world
            .engine
            .reloadable(&card)
            .await
            .unwrap()
            .unwrap()
            .activity
            .available
    };
    eventually("it is heard", async || left().await == Cents::new(5_00)).await;
    let withdrawal = (WithdrawalId(8), OWNER, DEPOSIT_ADDRESS);
    let asked = world
        .engine
        .withdraw_card_balance(withdrawal, (evm(7), Cents::new(3_00)), None);
    in_time("an answer", asked).await.expect("it is taken on");
    world.wait_until_idle().await;
    let (opened, held, rest) = (
        entry(JobId(7), EntryStatus::Completed, dollars(6_00)),
        entry(JobId(8), EntryStatus::Held, dollars(3_00)),
        entry(JobId(7), EntryStatus::Completed, dollars(5_00)),
    );
    for (source, entry) in [
        (ReconciliationSource::ReloadableCards, &opened),
        (ReconciliationSource::ReloadableCards, &held),
        (ReconciliationSource::CardBalances, &rest),
    ] {
        lists.put(source, entry.clone());
    }
    let world = assert_no_discrepancies(world, &lists).await;
    let double = JobId(99).to_string();
    assert_each_discrepancy(&world, &lists, ReconciliationSource::ReloadableCards, opened, &double).await;
    assert_each_discrepancy(
        &world,
        &lists,
        ReconciliationSource::ReloadableCards,
        held.clone(),
        &double,
    )
    .await;
    assert_each_discrepancy(&world, &lists, ReconciliationSource::CardBalances, rest, &double).await;
    // An outgoing transfer without an order here.
    let paid = ProviderEntry {
        status: EntryStatus::Completed,
        ..held
    };
    lists.put(ReconciliationSource::ReloadableCards, paid);
    wait_for_discrepancies(&world, &["status_mismatch"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wrong_bridge_transfer_is_a_discrepancy() {
    // Checks: a bridge transfer that is missing, doubled, of another amount, or not minted.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    let payer = Wallet::Solana([1; 32]);
    world.store.overwrite(table::issuer_linked(&payer), &DEPOSIT_ADDRESS);
    let request = PaymentRequest {
        purchase: Purchase::CardBalance(CardBalancePurchase {
            amount: Cents::new(500),
        }),
        ..card_for(payer, 1)
    };
    let (paid, _) = pay_and_list(&world, &lists, &request).await;
    let Outcome::Fulfilled {
        product: PurchasedProduct::TopUp(id),
        ..
    } = paid.outcome
    else {
        panic!("{paid:?}");
    };
    let burn = burned(&world, &lists, id).await;
    let arrives = EntryAmount::Usdc(Usdc::from_atomic(5_000_000));
    let right = entry(&burn, EntryStatus::Completed, arrives);
    lists.put(ReconciliationSource::Bridge, right.clone());
    let world = assert_no_discrepancies(world, &lists).await;
    assert_each_discrepancy(&world, &lists, ReconciliationSource::Bridge, right, "another burn").await;
    lists.put(ReconciliationSource::Bridge, entry(&burn, EntryStatus::Held, arrives));
    wait_for_discrepancies(&world, &["status_mismatch"]).await;
}

/// The burn of a delivered top-up, which is in the chain's list from now on.
async fn burned(world: &Harness, lists: &FakeLists, id: TopUpId) -> String {
    let top_up = world.engine.top_up(&id).await.unwrap().unwrap();
    let burn = top_up.transaction(LegKind::Burn).expect("it was burned").to_owned();
    lists.show(ChainMovement {
        transaction: burn.clone(),
        index: 0,
        incoming: false,
        counterparty: Wallet::Solana([9; 32]),
        amount: top_up.outgoing_amount,
        at: Timestamp(0),
        fingerprint: [0; 32],
    });
    burn
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hanging_list_delays_each_step_once_and_hides_no_other() {
    // Checks: three unanswered bank queries cost one timeout, not three, and a card missing at the issuer is still
    // found.
    let (world, lists) = harness_with_bank_account(AccountType::OffRamp).await;
    for n in 10..13 {
        to_the_bank(&world, BankTransferId(n), 1_00).await;
    }
    let (paid, _) = pay_and_list(&world, &lists, &card_for(OWNER, 2)).await;
    lists.set_fault(None);
    let mut reconciling = lists.reconciling();
    (reconciling.settings.page, reconciling.settings.timeout_ms) = (1_000, 20);
    let mut reconciler = Reconciler::new(world.store.clone(), world.clock.clone(), reconciling)
        .await
        .unwrap();
    let mut all = Vec::new();
    let mut walk = ReconciliationCursor::default();
    while !walk.is_complete() {
        all.extend(reconciler.step(&mut walk).await);
    }
    assert_eq!((all.len(), walk.skipped), (4, false), "{all:?}");
    lists.set_hanging(Some(ReconciliationSource::BankTransfers));
    let (mut walk, mut found) = (ReconciliationCursor::default(), Vec::new());
    found.extend(reconciler.step(&mut walk).await);
    assert!(walk.is_complete() && walk.skipped, "{walk:?}");
    let subjects: Vec<_> = found.iter().map(|found| found.subject.clone()).collect();
    assert_eq!(subjects, [Some(bought_card(&paid).to_string())]);
    let mut again = 0;
    for one in &all {
        again += usize::from(reconciler.recheck(one).await.is_ok());
    }
    assert_eq!((again, lists.unanswered()), (1, 1), "the others are not asked again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unreadable_row_hides_no_other_row() {
    // Checks: a card's row is corrupt. The next card, missing at the issuer, is still found, and the run does not count
    // as complete.
    let (world, lists) = (Harness::new().await, Arc::new(FakeLists::default()));
    let (paid, _) = pay_and_list(&world, &lists, &card_for(OWNER, 1)).await;
    lists.set_fault(None);
    world
        .store
        .overwrite(table::entity(EntityKind::Card, &0_u128.to_be_bytes()), b"rubbish");
    lists.add_order(0, EntryStatus::Completed, 500);
    let mut reconciler = Reconciler::new(world.store.clone(), world.clock.clone(), lists.reconciling())
        .await
        .unwrap();
    let (mut walk, mut found) = (ReconciliationCursor::default(), Vec::new());
    while !walk.is_complete() {
        found.extend(reconciler.step(&mut walk).await);
    }
    let subjects: Vec<_> = found.iter().map(|found| found.subject.clone()).collect();
    assert_eq!(subjects, [Some(bought_card(&paid).to_string())]);
    assert!(walk.skipped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn executed_bank_transfer_cannot_be_credited_by_an_operator() {
    // Checks: the bank's response was lost and its list has the transfer; the list overrides an operator's credit.
    let (world, lists) = harness_with_bank_account(AccountType::OffRamp).await;
    lists.set_fault(None);
    let world = world.reconciling(lists.reconciling()).await;
    world
        .bank
        .set_behaviors(&[IssuerBehavior::ResponseLost, IssuerBehavior::Broken]);
    let pay = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Transfer(TRANSFER, transfer_request(4_00)), None);
    in_time("an answer", pay).await.expect("it is taken on");
    eventually("dead-lettered", async || {
        world.engine.dead_letters().await.unwrap().jobs.len() == 1
    })
    .await;
    let effect = world.engine.dead_letters().await.unwrap().jobs.remove(0);
    lists.put(
        ReconciliationSource::BankTransfers,
        entry(JobId(TRANSFER.0), EntryStatus::Completed, dollars(4_00)),
    );
    let says = world.engine.query_provider(&effect).await;
    let act = OperatorAction {
        operator: "ana".into(),
        role: Role::Operator,
        request_id: RequestId(7),
    };
    let result = world.engine.credit_job(effect.id, ("x", true), &act).await;
    assert_eq!(says.unwrap(), ProviderReport::Status(EntryStatus::Completed));
    assert_eq!(result, Err(ResolveError::Contradicted(EntryStatus::Completed)));
    assert_eq!(
        (world.bank.net_transferred_cents(), balance(&world).await),
        (400, 1_000_000)
    );
}
