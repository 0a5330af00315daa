//! After a restore, a transfer that the lost history may have signed is signed again only when that one can't settle
//! any more and the chain does not show it.

use purser_actors::engine::{GateHold, LostHistory, PaymentRequest, RestoreWindow};
use purser_actors::entity::account::{BalancePayout, BankDebit};
use purser_actors::entity::agent_wallet::WalletCaps;
use purser_actors::entity::banking::transfer;
use purser_actors::entity::banking::transfer::TransferRequest;
use purser_actors::entity::payment::Outcome;
use purser_actors::entity::payout;
use purser_actors::entity::payout::{PayoutPlan, PayoutTarget};
use purser_actors::entity::top_up;
use purser_actors::entity::top_up::CardBalancePurchase;
use purser_actors::entity::wallet_payment;
use purser_actors::entity::wallet_payment::{PaymentMethod, Status, WalletPayment, WalletPaymentOrder};
use purser_actors::entity::withdrawal;
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::{BankAccountId, BankTransferId, PayoutId, TopUpId, Wallet, WalletPaymentId, WithdrawalId};
use purser_actors::kernel::{Entity as _, table, to_json};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Clock as _;
use purser_actors::port::OutgoingTransfer;
use purser_actors::port::WalletAddresses;
use purser_actors::port::banking::AccountType;
use purser_actors::port::payouts::BankDetails;

use crate::gate::{assert_stays_held, gate_hold, set_frozen};
use crate::payouts::{OWN_DESTINATION, register};
use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::{IssuerBehavior, PaymentBehavior, outgoing};
use crate::support::{eventually, in_time};
use crate::wallet_payments::spend;

const OWNER: Wallet = evm(1);
const ONE: Usdc = Usdc::from_atomic(1_000_000);
const ALL: Usdc = Usdc::from_atomic(5_000_000);
const QUIET_MS: u64 = 960_000;

/// A restore that has just happened.
fn now(world: &Harness) -> RestoreWindow {
    let at = world.clock.now();
    RestoreWindow {
        since: at,
        until: at.plus_ms(QUIET_MS),
        at,
    }
}

/// Advances until no transfer of the lost history can settle.
fn advance_past_window(world: &Harness) {
    world.clock.advance(QUIET_MS + 1);
}

async fn credited() -> Harness {
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay(&card_for(OWNER, 1)).await.expect("it is paid");
    world.wait_until_idle().await;
    world
}

async fn opened() -> Harness {
    harness_with_wallet(None).await
}

/// A harness whose owner has an agent wallet with this daily cap.
async fn harness_with_wallet(per_day: Option<Cents>) -> Harness {
    let world = Harness::new().await;
    let limits = WalletCaps {
        per_call: Cents::new(10_00),
        per_day,
        approvals: false,
    };
    let addresses = WalletAddresses {
        base: [8; 20],
        solana: [8; 32],
    };
    let keys = (addresses, b"keys".to_vec());
    let made = world.engine.create_agent_wallet(OWNER, keys, limits, None).await;
    made.expect("it is made");
    world
}

async fn start_payment(world: &Harness, id: WalletPaymentId) {
    let order = WalletPaymentOrder {
        to: evm(5),
        amount: ONE,
        note: None,
        method: PaymentMethod::Transfer,
    };
    let asked = world
        .engine
        .start_wallet_payment(OWNER, spend(id, ALL, order), None, None);
    in_time("an answer", asked).await.expect("it is reserved");
}

async fn read(world: &Harness, id: WalletPaymentId) -> WalletPayment {
    let read = world.engine.wallet_payment(&id).await.expect("readable");
    read.expect("it exists")
}

/// Adds an outgoing transfer of the wallet to the chain.
fn show_sent(world: &Harness, transaction: &str) {
    show_sent_at(world, transaction, 0);
}

/// The same, at this index in its transaction.
fn show_sent_at(world: &Harness, transaction: &str, index: u32) {
    let transfer = OutgoingTransfer {
        transaction: transaction.into(),
        to: evm(5),
        amount: ONE,
        at: world.clock.now(),
        fingerprint: [3; 32],
        index,
    };
    world.chain.holdings.send(Wallet::Evm([8; 20]), transfer);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_78_wallet_payment_sent_by_the_lost_history_is_recognised() {
    // Checks: at the backup two wallet payments of one amount to one recipient were reserved, and one has been sent
    // since. Neither is signed before the window ends, even if the chain is silent after it. Then one is matched with
    // the chain's transfer and the other is signed. A third, started after the restore, is signed in any case.
    let (one, two, three) = (WalletPaymentId(1), WalletPaymentId(2), WalletPaymentId(3));
    let world = opened().await;
    set_frozen(&world, OWNER, true).await;
    start_payment(&world, one).await;
    start_payment(&world, two).await;
    let backup = world.store.backup();
    show_sent(&world, "sent by the lost history");
    let restored = now(&world);
    let world = world.restored(restored).await.back_to(backup).await;
    set_frozen(&world, OWNER, false).await;
    for id in [one, two] {
        assert_stays_held(&world, &wallet_payment::Job::SendWalletPayment(id), GateHold::Restored).await;
        assert_eq!(read(&world, id).await.status, Status::Pending);
    }
    assert!(world.sellers.signed().is_empty());
    world.chain.set_unresponsive(true);
    advance_past_window(&world);
    let asked = world.chain.holdings.sent_by_calls();
    eventually("the chain is asked", async || {
        world.chain.holdings.sent_by_calls() > asked + 3
    })
    .await;
    assert!(world.sellers.signed().is_empty(), "without an answer nothing is signed");
    world.chain.set_unresponsive(false);
    world.wait_until_idle().await;
    let mut settled = Vec::new();
    for id in [one, two] {
        settled.extend(read(&world, id).await.transaction().map(str::to_owned));
    }
    assert_eq!(settled.len(), 2, "{settled:?}");
    assert_eq!(settled.iter().filter(|by| *by == "sent by the lost history").count(), 1);
    assert_eq!((world.sellers.signed().len(), world.chain.transfers()), (1, 1));
    show_sent(&world, "another");
    world.clock.advance(1);
    start_payment(&world, three).await;
    world.wait_until_idle().await;
    assert_eq!(world.sellers.signed().len(), 2);
    let world = world.crash().await;
    assert_ne!(read(&world, three).await.transaction(), Some("another"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn daily_cap_spent_by_the_lost_history_stays_spent() {
    // Checks: of a cap of three, one payment was reserved at the backup and sent since, and two are reserved after the
    // restore. Then one settles that the lost history had signed: the first is recognised and counts once, and the
    // second is sent. The third exceeds the cap: it is not signed, and its reservation is released.
    let world = harness_with_wallet(Some(Cents::new(3_00))).await;
    set_frozen(&world, OWNER, true).await;
    start_payment(&world, WalletPaymentId(1)).await;
    let backup = world.store.backup();
    show_sent(&world, "the first");
    let restored = now(&world);
    let lost = LostHistory {
        since: restored.since,
        restored: restored.at,
        until: restored.until,
    };
    let world = world
        .with_lost_history(lost)
        .restored(restored)
        .await
        .back_to(backup)
        .await;
    set_frozen(&world, OWNER, false).await;
    world.clock.advance(1);
    start_payment(&world, WalletPaymentId(2)).await;
    start_payment(&world, WalletPaymentId(3)).await;
    show_sent(&world, "signed by the lost history");
    advance_past_window(&world);
    world.wait_until_idle().await;
    assert_eq!(read(&world, WalletPaymentId(1)).await.transaction(), Some("the first"));
    let second = read(&world, WalletPaymentId(2)).await;
    assert!(matches!(second.status, Status::Settled { .. }), "{second:?}");
    let third = read(&world, WalletPaymentId(3)).await;
    let Status::Failed { reason } = third.status else {
        panic!("{third:?}")
    };
    assert_eq!(
        (reason.to_string().as_str(), world.sellers.signed().len()),
        ("daily_cap", 1)
    );
    let wallet = world.engine.agent_wallet(&OWNER).await.expect("readable");
    assert!(wallet.expect("it exists").holds.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_78_two_wallet_payments_of_one_transaction_are_recognised() {
    // Checks: two payments of one amount to one recipient were reserved at the backup and sent by one transaction
    // since. Each matches one of its transfers and neither is signed; a third reserved one is signed, since no transfer
    // is left for it. Each shows the transaction without its index.
    let ids = [WalletPaymentId(1), WalletPaymentId(2), WalletPaymentId(3)];
    let world = opened().await;
    set_frozen(&world, OWNER, true).await;
    for id in ids {
        start_payment(&world, id).await;
    }
    let backup = world.store.backup();
    for index in [0, 4] {
        show_sent_at(&world, "batch", index);
    }
    let restored = now(&world);
    let world = world.restored(restored).await.back_to(backup).await;
    set_frozen(&world, OWNER, false).await;
    advance_past_window(&world);
    world.wait_until_idle().await;
    let mut settled = Vec::new();
    for id in ids {
        let spend = read(&world, id).await;
        settled.extend(spend.transaction().map(str::to_owned));
        let shown = to_json(&spend.view(&id));
        assert!(!shown.contains('#'), "{shown}");
    }
    settled.retain(|by| by.starts_with("batch"));
    settled.sort_unstable();
    assert_eq!(settled, ["batch", "batch#4"]);
    assert_eq!((world.sellers.signed().len(), world.chain.transfers()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_78_withdrawal_is_not_resigned_while_the_lost_one_can_settle() {
    // Checks: pending at the backup and sent since, it waits until every outgoing transfer is tracked and the window
    // has ended. A transfer on chain under its own nonce is only looked up.
    let id = WithdrawalId(77);
    let world = credited().await;
    world.store.hold_after(1, true);
    let withdrawn = world.engine.withdraw(OWNER, (id, evm(7), ALL), None);
    in_time("an answer", withdrawn).await.expect("it is taken on");
    let backup = world.store.backup();
    world.store.release();
    world.wait_until_idle().await;
    let restored = now(&world);
    let world = world.restored(restored).await.back_to(backup).await;
    let work = withdrawal::Job::SendWithdrawal(id);
    assert_stays_held(&world, &work, GateHold::Restored).await;
    let sent = outgoing(id.0, evm(7), ALL);
    assert_eq!((world.chain.submissions(), world.chain.transfers()), (2, 2));
    world.chain.add_outgoing(OutgoingTransfer {
        transaction: "left".into(),
        to: evm(7),
        amount: ALL,
        at: world.clock.now(),
        fingerprint: sent.fingerprint(),
        index: 0,
    });
    advance_past_window(&world);
    world.wait_until_idle().await;
    let withdrawal = world
        .engine
        .withdrawal(&id)
        .await
        .expect("readable")
        .expect("it exists");
    assert_eq!((withdrawal.status(), world.chain.transfers()), ("complete", 2));
    assert_eq!(gate_hold(&world, &work).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_78_burn_is_not_resigned_while_the_lost_one_can_settle() {
    // Checks: paid at the backup and not signed there; nothing is burned before the window ends.
    let payer = Wallet::Solana([1; 32]);
    let world = Harness::new().await;
    world.store.overwrite(table::issuer_linked(&payer), &[0xdd; 20]);
    let amount = Cents::new(500);
    let request = PaymentRequest {
        purchase: Purchase::CardBalance(CardBalancePurchase { amount }),
        ..card_for(payer, 1)
    };
    world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
    let (engine, paid) = (world.engine.clone(), request.clone());
    let paying = tokio::spawn(async move { engine.pay(paid).await });
    eventually("the payment is on its way", async || world.chain.at_gate() == 1).await;
    set_frozen(&world, payer, true).await;
    world.chain.open_gate();
    let paid = in_time("an answer", paying)
        .await
        .expect("no panic")
        .expect("it is paid");
    let Outcome::Fulfilled {
        product: PurchasedProduct::TopUp(id),
        ..
    } = paid.outcome
    else {
        panic!("nothing was bought")
    };
    let restored = now(&world);
    let world = world.restored(restored).await;
    set_frozen(&world, payer, false).await;
    assert_stays_held(&world, &top_up::Job::SendTopUp(id), GateHold::Restored).await;
    assert!(world.bridge.burns().is_empty());
    advance_past_window(&world);
    world.wait_until_idle().await;
    let top_up = async |id: TopUpId| world.engine.top_up(&id).await.expect("readable").expect("it exists");
    assert_eq!((top_up(id).await.status(), world.bridge.burns().len()), ("credited", 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_78_only_products_paid_from_a_restored_balance_wait() {
    // Checks: the lost history may have withdrawn a balance, so payouts and bank transfers from it wait until every
    // transfer is tracked. A payout with its own payment is ordered at once, under the lost history's key.
    const ACCOUNT: BankAccountId = BankAccountId(3);
    let (payout, transfer) = (PayoutId(5), BankTransferId(4));
    let world = credited().await;
    let opened = world
        .engine
        .open_bank_account(ACCOUNT, OWNER, "cus".into(), (AccountType::OffRamp, None), None);
    opened.await.expect("a new account");
    register(&world, OWNER, OWN_DESTINATION).await;
    world.wait_until_idle().await;
    let restored = now(&world);
    let world = world.restored(restored).await;
    world.payouts.set_behaviors(&[IssuerBehavior::Ready]);
    let wanted = TransferRequest {
        owner: OWNER,
        account: ACCOUNT,
        cents: Cents::new(1_00),
        amount: ONE,
        note: None,
    };
    let moved = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Transfer(transfer, wanted), None);
    moved.await.expect("the engine takes it on");
    let details = BankDetails {
        name: "Rent".into(),
        bank_name: "First Bank".into(),
        account_holder_name: "Ada Lovelace".into(),
        last4: "6789".into(),
        routing_number: "021000021".into(),
    };
    let plan = PayoutPlan {
        target: PayoutTarget::Bank(OWN_DESTINATION, details),
        terms: world.engine.bank_payment_terms(),
        quoted: None,
    };
    let bank = BalancePayout {
        id: payout,
        plan,
        amount: Cents::new(1_00),
        charged: ONE,
        cap: None,
    };
    let paid = world
        .engine
        .debit_for_bank(OWNER, BankDebit::Payout(Box::new(bank)), None);
    paid.await.expect("the engine takes it on");
    assert_stays_held(&world, &payout::Job::SendPayout(payout), GateHold::Restored).await;
    assert_stays_held(
        &world,
        &transfer::Job::ExecuteBankTransfer(transfer),
        GateHold::Restored,
    )
    .await;
    assert!(world.payouts.calls().is_empty() && world.bank.net_transferred_cents() == 0);
    advance_past_window(&world);
    let ended = async || {
        let payout = world
            .engine
            .payout(&payout)
            .await
            .expect("readable")
            .expect("it exists");
        let transfer = world.engine.bank_transfer(&transfer).await.expect("readable");
        (payout.status(), transfer.expect("it exists").status()) == ("complete", "complete")
    };
    eventually("both go on", ended).await;
    assert_eq!((world.payouts.paid(), world.bank.net_transferred_cents()), (1, 1_00));
}
