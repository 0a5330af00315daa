//! Banking through the engine: money in, money out, a bank in every mood, and deaths in between.

use purser_actors::account::{BalancePayout, BankDebit, Rejection};
use purser_actors::bank_destination::{BankDestination, BankRecipient, DestinationType};
use purser_actors::banking::profile::{BankingProfile, CustomerType};
use purser_actors::banking::transfer::{Status, TransferRequest};
use purser_actors::engine::{GateHold, OperationError};
use purser_actors::id::{BankAccountId, BankDestinationId, BankRecipientId, BankTransferId, PayoutId, Wallet};
use purser_actors::kernel::job::Job;
use purser_actors::kernel::{Entity as _, table};
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::money::{Cents, Usdc};
use purser_actors::payout::{BankDetails, PayoutPlan, PayoutTarget};
use purser_actors::port::banking::AccountType;

use crate::gate::{assert_stays_held, set_frozen};
use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::IssuerBehavior;
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);
const ACCOUNT: BankAccountId = BankAccountId(3);
const TRANSFER: BankTransferId = BankTransferId(4);
const PAYOUT: PayoutId = PayoutId(5);
const TO: BankDestinationId = BankDestinationId(6);

/// A world in which the owner has 5.00 and an account of this kind.
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
async fn what_comes_in_at_the_bank_is_credited_once() {
    // Aim: told twice, the newest first, again under a new number and after a crash, each deposit is credited once; what the
    // bank owes us is exactly that.
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
async fn what_cannot_be_credited_holds_up_nothing_behind_it() {
    // Aim: the bank tells of more than any balance takes: what it tells behind that is credited, once, over a crash too.
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
async fn what_goes_to_the_bank_moves_once_whatever_it_answers() {
    // Aim: in every mood but no, over a crash, the bank moves it once and the balance pays it once.
    for moods in BEHAVIORS {
        let mut world = credited(AccountType::OffRamp).await;
        world.bank.set_behaviors(moods);
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
            "{moods:?}"
        );
        assert_eq!(balance(&world).await, 1_000_000);
        assert_eq!(
            world.ledger_balances()[&LedgerAccount::Provider(LedgerProvider::Banking)],
            -4_000_000
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_the_bank_refuses_is_credited_once() {
    // Aim: a definite no gives back what was taken, once; nothing is owed to anybody.
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
async fn what_the_bank_gives_back_is_credited_once() {
    // Aim: a transfer comes back days later, or before its yes has reached us, less what the bank keeps of it, told twice and
    // over a crash: it is credited once. What is no return of it credits nobody and holds up nothing.
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
        // Nor is a deposit into an account of the holder's own the balance's.
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
async fn what_comes_from_an_account_is_credited_once() {
    // Aim: in every mood but no it is credited once, and not before the bank has moved it; after a no there is nothing.
    for moods in BEHAVIORS {
        let mut world = credited(AccountType::OffRamp).await;
        world.bank.set_behaviors(moods);
        let drawn = world.engine.transfer_to_balance(TRANSFER, transfer_request(2_50), None);
        in_time("an answer", drawn).await.expect("it is taken on");
        world = world.crash().await;
        world.wait_until_idle().await;
        assert_eq!(
            (status(&world).await, world.bank.net_transferred_cents()),
            ("complete", -2_50),
            "{moods:?}"
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
async fn what_is_not_known_to_have_moved_waits_with_its_name() {
    // Aim: a bank that is broken for good is somebody's to look at; nothing is given back by itself.
    let world = credited(AccountType::OffRamp).await;
    world.bank.set_behaviors(&[IssuerBehavior::Broken]);
    let pay = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Transfer(TRANSFER, transfer_request(5_00)), None);
    in_time("an answer", pay).await.expect("it is taken on");
    let stuck = async || {
        let open = world.engine.open_jobs(10).await.unwrap();
        open.iter()
            .any(|effect| effect.job.name() == "move_bank_money" && effect.dead_lettered)
    };
    eventually("it is stuck", stuck).await;
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
    let told = world
        .engine
        .register_destination(TO, destination, vec![7; 40], None)
        .await;
    told.expect("a new destination");
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
async fn a_payout_from_the_balance_is_paid_once_or_credited_whole() {
    // Aim: the rail's moods of a paid payout, with the balance as its source: it arrives once, or all of it comes back; of ten
    // at once for the whole balance one is taken.
    for (moods, end, left) in [
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
        world.payouts.set_behaviors(moods);
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
async fn a_removed_destinations_number_outlives_its_payouts() {
    // Aim: removed while a payout is under way, it cannot be paid any more, its number stays until that payout has ended and
    // its time is over, and then it is gone.
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
        open.iter().any(|effect| effect.job.name() == "forget_number")
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
async fn a_profile_opens_an_application() {
    // Aim: both by one batch; an application of nobody verified is not submitted, whatever it has.
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
async fn case_77_money_for_the_bank_of_a_frozen_account_is_not_moved() {
    // Aim: taken from the balance and not moved when its account is frozen: the bank is asked for nothing, over a crash, no try is
    // used up, and it moves once when the account is thawed.
    let world = credited(AccountType::OffRamp).await;
    // The freeze is durable before the bank is asked, and behind the batch that takes the money.
    world.store.overwrite(table::frozen(&OWNER), &[]);
    let pay = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Transfer(TRANSFER, transfer_request(4_00)), None);
    in_time("an answer", pay).await.expect("it is taken on");
    let work = Job::ExecuteBankTransfer(TRANSFER);
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
