//! Banking through the engine: incoming and outgoing transfers, every bank behavior, and crashes in between.

use purser_actors::engine::{GateHold, OperationError};
use purser_actors::entity::account::{BalancePayout, BankDebit, Rejection};
use purser_actors::entity::bank_destination::{BankDestination, BankRecipient, DestinationType};
use purser_actors::entity::banking::profile::{BankingProfile, CustomerType};
use purser_actors::entity::banking::transfer;
use purser_actors::entity::banking::transfer::{Status, TransferRequest};
use purser_actors::entity::payout::{PayoutPlan, PayoutTarget};
use purser_actors::id::{BankAccountId, BankDestinationId, BankRecipientId, BankTransferId, PayoutId, Wallet};
use purser_actors::kernel::{Entity as _, table};
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::banking::AccountType;
use purser_actors::port::payouts::BankDetails;

use crate::gate::{assert_stays_held, set_frozen};
use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::IssuerBehavior;
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);
const ACCOUNT: BankAccountId = BankAccountId(3);
const TRANSFER: BankTransferId = BankTransferId(4);
const PAYOUT: PayoutId = PayoutId(5);
const TO: BankDestinationId = BankDestinationId(6);

/// A harness whose account owner has 5.00 and an account of this type.
async fn credited(ramp: AccountType) -> Harness {
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay(&card_for(OWNER, 1)).await.expect("it is paid");
    let opened = world
        .engine
        .open_bank_account(ACCOUNT, OWNER, "cus".into(), (ramp, None), None);
    opened.await.expect("a new account");
    world.wait_until_idle().await;
    let account = world.engine.bank_account(&ACCOUNT).await.unwrap().unwrap();
    assert_eq!(account.status(), "open");
    world
}

async fn balance(world: &Harness) -> u64 {
    let account = world.engine.account(&OWNER).await.unwrap().unwrap();
    assert_eq!(account.held, Usdc::ZERO);
    account.balance.atomic()
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

async fn status(world: &Harness) -> &'static str {
    world.engine.bank_transfer(&TRANSFER).await.unwrap().unwrap().status()
}

const BEHAVIORS: [&[IssuerBehavior]; 6] = [
    &[],
    &[IssuerBehavior::NotYet, IssuerBehavior::NotYet],
    &[IssuerBehavior::Busy, IssuerBehavior::ResponseLost],
    &[IssuerBehavior::ResponseLost, IssuerBehavior::NotYet],
    &[IssuerBehavior::Panics],
    &[
        IssuerBehavior::Busy,
        IssuerBehavior::Panics,
        IssuerBehavior::ResponseLost,
    ],
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn incoming_bank_transfer_is_credited_once() {
    // Checks: each deposit is credited once, when reported twice, newest first, under a new number and after a crash.
    // The ledger then equals what the bank owes us.
    let mut world = credited(AccountType::OnRamp).await;
    for n in 0..20 {
        world
            .bank
            .add_deposit(&format!("wire {}", n % 10), ACCOUNT, 1_00 + n % 10);
        if n % 7 == 3 {
            world = world.crash().await;
        }
    }
    let all = 10 * 1_00 + 45;
    let want = 5_000_000 + all * 10_000;
    eventually("all of it is credited", async || balance(&world).await >= want).await;
    world = world.crash().await;
    world.bank.add_deposit("wire 3", ACCOUNT, 1_03);
    world.bank.add_deposit("the last", ACCOUNT, 7);
    let want = want + 70_000;
    eventually("the last is credited", async || balance(&world).await >= want).await;
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, want);
    let owed = world.ledger_balances()[&LedgerAccount::Provider(LedgerProvider::Banking)];
    assert_eq!(owed, i128::from(want - 5_000_000));
    assert_eq!(world.event_count("bank_transfer.complete"), 11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn uncreditable_deposit_delays_no_later_one() {
    // Checks: the bank reports a deposit above the largest balance; a later one is credited once, over a crash too.
    let world = credited(AccountType::OnRamp).await;
    world.bank.add_deposit("beyond all amounts", ACCOUNT, u64::MAX);
    world.bank.add_deposit("behind it", ACCOUNT, 1_00);
    let want = 5_000_000 + 1_000_000;
    eventually("it is credited", async || balance(&world).await >= want).await;
    let world = world.crash().await;
    world.bank.add_deposit("the last", ACCOUNT, 7);
    eventually("the last is credited", async || balance(&world).await >= want + 70_000).await;
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, want + 70_000);
    assert_eq!(world.event_count("bank_transfer.complete"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn outgoing_bank_transfer_executes_once() {
    // Checks: for every behavior but a decline, and over a crash, the bank executes it once and the balance pays once.
    for behaviors in BEHAVIORS {
        let mut world = credited(AccountType::OffRamp).await;
        world.bank.set_behaviors(behaviors);
        let pay = world
            .engine
            .debit_for_bank(OWNER, BankDebit::Transfer(TRANSFER, transfer_request(4_00)), None);
        in_time("an answer", pay).await.expect("it is taken on");
        assert_eq!(balance(&world).await, 1_000_000);
        world = world.crash().await;
        world.wait_until_idle().await;
        assert_eq!(
            (status(&world).await, world.bank.net_transferred_cents()),
            ("complete", 4_00),
            "{behaviors:?}"
        );
        assert_eq!(balance(&world).await, 1_000_000);
        assert_eq!(
            world.ledger_balances()[&LedgerAccount::Provider(LedgerProvider::Banking)],
            -4_000_000
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_bank_transfer_is_credited_once() {
    // Checks: a decline credits the debited amount once, and nothing is owed.
    let mut world = credited(AccountType::OffRamp).await;
    world
        .bank
        .set_behaviors(&[IssuerBehavior::Busy, IssuerBehavior::Declines]);
    let pay = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Transfer(TRANSFER, transfer_request(5_00)), None);
    in_time("an answer", pay).await.expect("it is taken on");
    world.wait_until_idle().await;
    world = world.crash().await;
    world.wait_until_idle().await;
    assert_eq!(
        (status(&world).await, world.bank.net_transferred_cents()),
        ("failed", 0)
    );
    assert_eq!(balance(&world).await, 5_000_000);
    assert_eq!(
        world
            .ledger_balances()
            .get(&LedgerAccount::Provider(LedgerProvider::Banking)),
        None
    );
    assert_eq!(world.event_count("bank_transfer.failed"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bank_return_is_credited_once() {
    // Checks: a return is credited once, less the bank's fee. It may come days later, before the execution is known,
    // twice, and over a crash. A return that matches no transfer credits no account and delays nothing.
    for early in [false, true] {
        let mut world = credited(AccountType::OffRamp).await;
        if early {
            world
                .bank
                .set_behaviors(&[IssuerBehavior::NotYet, IssuerBehavior::NotYet, IssuerBehavior::NotYet]);
        }
        let pay = world
            .engine
            .debit_for_bank(OWNER, BankDebit::Transfer(TRANSFER, transfer_request(4_00)), None);
        in_time("an answer", pay).await.expect("it is taken on");
        if !early {
            world.wait_until_idle().await;
            assert_eq!(status(&world).await, "complete");
        }
        world.bank.add_return(TRANSFER, "too much", ACCOUNT, 4_01);
        world.bank.add_return(BankTransferId(99), "a stranger's", ACCOUNT, 1_00);
        world.bank.add_return(TRANSFER, "ach", ACCOUNT, 3_99);
        eventually("it came back", async || status(&world).await == "returned").await;
        world = world.crash().await;
        world.bank.add_return(TRANSFER, "ach", ACCOUNT, 3_99);
        world.bank.add_return(TRANSFER, "once more", ACCOUNT, 1);
        world.bank.add_deposit("wire", ACCOUNT, 7);
        eventually("the last word is heard", async || world.bank.is_fully_read()).await;
        world.wait_until_idle().await;
        // A deposit into a customer's own bank account does not change the balance.
        assert_eq!(balance(&world).await, 1_000_000 + 3_990_000, "early: {early}");
        assert_eq!(
            world.ledger_balances()[&LedgerAccount::Provider(LedgerProvider::Banking)],
            -10_000
        );
        assert_eq!(world.event_count("bank_transfer.complete"), 1);
        assert_eq!(world.event_count("bank_transfer.returned"), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfer_from_a_bank_account_is_credited_once() {
    // Checks: for every behavior but a decline it is credited once, and only after the bank has executed it; after a
    // decline, nothing.
    for behaviors in BEHAVIORS {
        let mut world = credited(AccountType::OffRamp).await;
        world.bank.set_behaviors(behaviors);
        let drawn = world.engine.transfer_to_balance(TRANSFER, transfer_request(2_50), None);
        in_time("an answer", drawn).await.expect("it is taken on");
        world = world.crash().await;
        world.wait_until_idle().await;
        assert_eq!(
            (status(&world).await, world.bank.net_transferred_cents()),
            ("complete", -2_50),
            "{behaviors:?}"
        );
        assert_eq!(balance(&world).await, 7_500_000);
    }
    let world = credited(AccountType::OffRamp).await;
    world.bank.set_behaviors(&[IssuerBehavior::Declines]);
    let drawn = world.engine.transfer_to_balance(TRANSFER, transfer_request(2_50), None);
    in_time("an answer", drawn).await.expect("it is taken on");
    world.wait_until_idle().await;
    assert_eq!((status(&world).await, balance(&world).await), ("failed", 5_000_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bank_transfer_with_unknown_outcome_is_dead_lettered() {
    // Checks: a permanent bank failure is dead-lettered for an operator; no credit is automatic.
    let world = credited(AccountType::OffRamp).await;
    world.bank.set_behaviors(&[IssuerBehavior::Broken]);
    let pay = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Transfer(TRANSFER, transfer_request(5_00)), None);
    in_time("an answer", pay).await.expect("it is taken on");
    let is_dead_lettered = async || {
        let open = world.engine.open_jobs(10).await.unwrap();
        open.iter()
            .any(|effect| effect.job.name() == "execute_bank_transfer" && effect.dead_lettered)
    };
    eventually("it is dead-lettered", is_dead_lettered).await;
    let kept = world.engine.bank_transfer(&TRANSFER).await.unwrap().unwrap();
    assert!(matches!(kept.status, Status::Pending(_)));
    assert_eq!(balance(&world).await, 0);
}

async fn register(world: &Harness) -> BankDetails {
    let details = BankDetails {
        name: "Rent".into(),
        bank_name: "First Bank".into(),
        account_holder_name: "Ada Lovelace".into(),
        last4: "6789".into(),
        routing_number: "021000021".into(),
    };
    let destination = BankDestination {
        owner: OWNER,
        recipient: BankRecipient {
            id: BankRecipientId(1),
            name: "Ada Lovelace".into(),
            address: String::new(),
        },
        scheme: DestinationType::FiatUs,
        details: details.clone(),
        created_at: Default::default(),
        active: true,
    };
    let result = world
        .engine
        .register_destination(TO, destination, vec![7; 40], None)
        .await;
    result.expect("a new destination");
    details
}

async fn pay(world: &Harness, id: PayoutId, details: BankDetails, cents: u64) -> Result<(), OperationError<Rejection>> {
    let payout = BalancePayout {
        id,
        plan: PayoutPlan {
            target: PayoutTarget::Bank(TO, details),
            terms: world.engine.bank_payment_terms(),
            quoted: None,
        },
        amount: Cents::new(cents),
        charged: Usdc::from_cents(Cents::new(cents + 50)).unwrap(),
        cap: None,
    };
    let paid = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Payout(Box::new(payout)), None);
    in_time("an answer", paid).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn payout_from_the_balance_is_paid_or_credited_once() {
    // Checks: with the balance as its source, a payout arrives once or the whole amount is credited, for every rail
    // behavior. Of ten concurrent payouts of the whole balance, one is accepted.
    for (behaviors, end, left) in [
        (
            &[IssuerBehavior::Busy, IssuerBehavior::Panics, IssuerBehavior::Ready][..],
            "complete",
            500_000,
        ),
        (
            &[IssuerBehavior::ResponseLost, IssuerBehavior::Declines],
            "failed",
            5_000_000,
        ),
    ] {
        let mut world = credited(AccountType::OnRamp).await;
        let details = register(&world).await;
        world.payouts.set_behaviors(behaviors);
        pay(&world, PAYOUT, details.clone(), 4_00)
            .await
            .expect("it is taken on");
        let short = pay(&world, PayoutId(9), details, 4_00).await;
        assert!(
            matches!(short, Err(OperationError::Rejected(Rejection::Insufficient { .. }))),
            "{short:?}"
        );
        world = world.crash().await;
        let status = async || world.engine.payout(&PAYOUT).await.unwrap().unwrap().status();
        eventually("it ends", async || status().await == end).await;
        eventually("its credit", async || balance(&world).await == left).await;
        let owed = world
            .ledger_balances()
            .get(&LedgerAccount::Provider(LedgerProvider::Bank))
            .copied();
        assert_eq!(owed, (end == "complete").then_some(-4_000_000));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn number_of_a_removed_destination_outlives_its_payouts() {
    // Checks: a destination removed during a payout accepts no other. Its number stays until that payout and its return
    // window have ended, and is then deleted.
    let world = credited(AccountType::OnRamp).await;
    let details = register(&world).await;
    pay(&world, PAYOUT, details.clone(), 1_00)
        .await
        .expect("it is taken on");
    eventually("it was asked", async || !world.payouts.calls().is_empty()).await;
    world.engine.remove_destination(TO, None).await.unwrap();
    assert!(
        pay(&world, PayoutId(9), details, 1_00).await.is_err(),
        "it is off the list"
    );
    let kept = || {
        !world
            .store
            .rows(&purser_actors::kernel::table::vault(purser_actors::id::CardId(TO.0)))
            .is_empty()
    };
    world.clock.advance(31 * 24 * 3_600_000);
    let open = async || {
        let open = world.engine.open_jobs(50).await.unwrap();
        open.iter().any(|effect| effect.job.name() == "shred_account_number")
    };
    eventually("its time is over", open).await;
    assert!(kept(), "a payout still needs it");
    world.payouts.set_behaviors(&[IssuerBehavior::Ready]);
    let status = async || world.engine.payout(&PAYOUT).await.unwrap().unwrap().status();
    eventually("it is paid", async || status().await == "complete").await;
    assert_eq!(world.payouts.paid(), 1);
    world.clock.advance(2 * 3_600_000);
    let world = world.crash().await;
    let gone = || {
        world
            .store
            .rows(&purser_actors::kernel::table::vault(purser_actors::id::CardId(TO.0)))
            .is_empty()
    };
    eventually("its number is gone", async || gone()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn profile_opens_an_application() {
    // Checks: one batch creates both; the application of an unverified owner is never submitted.
    let world = Harness::new().await;
    let profile = BankingProfile {
        owner: OWNER,
        customer_type: CustomerType::Business("Engines".into()),
        first_name: "Ada".into(),
        last_name: "Lovelace".into(),
        email: "ada@example.com".into(),
        country: "US".parse().unwrap(),
        created_at: Default::default(),
    };
    world
        .engine
        .create_banking_profile(OWNER, profile.clone(), None)
        .await
        .unwrap();
    let again = world.engine.create_banking_profile(OWNER, profile, None).await;
    assert!(matches!(again, Err(OperationError::Rejected(_))));
    let world = world.crash().await;
    let application = world.engine.banking_application(&OWNER).await.unwrap().unwrap();
    assert_eq!((application.status(), application.business), ("incomplete", true));
    assert!(application.missing().contains(&"formation_document"));
    let submitted = world.engine.submit_banking_application(OWNER, None).await;
    assert!(matches!(submitted, Err(OperationError::Rejected(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_77_bank_transfer_of_a_frozen_account_is_not_sent() {
    // Checks: the balance is debited, but while the account is frozen the bank gets no request, over a crash, and no
    // attempt is counted. After the unfreeze it is executed once.
    let world = credited(AccountType::OffRamp).await;
    // The freeze is durable before the request to the bank and after the debit.
    world.store.overwrite(table::frozen(&OWNER), &[]);
    let pay = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Transfer(TRANSFER, transfer_request(4_00)), None);
    in_time("an answer", pay).await.expect("it is taken on");
    let work = transfer::Job::ExecuteBankTransfer(TRANSFER);
    assert_stays_held(&world, &work, GateHold::AccountFrozen).await;
    set_frozen(&world, OWNER, true).await;
    let world = world.crash().await;
    assert_stays_held(&world, &work, GateHold::AccountFrozen).await;
    assert_eq!(
        (status(&world).await, world.bank.net_transferred_cents()),
        ("pending", 0)
    );
    assert_eq!(balance(&world).await, 1_000_000);
    set_frozen(&world, OWNER, false).await;
    world.wait_until_idle().await;
    assert_eq!(
        (status(&world).await, world.bank.net_transferred_cents()),
        ("complete", 4_00)
    );
    assert_eq!(balance(&world).await, 1_000_000);
}
