//! Payments and transfers that the chain would decline: declined in preparation and never sent.

use purser_actors::engine::ClaimError;
use purser_actors::entity::payment::{self, Outcome};
use purser_actors::entity::top_up;
use purser_actors::entity::wallet_payment::{self, PaymentMethod};
use purser_actors::entity::withdrawal;
use purser_actors::id::{Network, Wallet};
use purser_actors::port::{Clock as _, ExternalText, OutgoingTransfer};

use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm, session};
use crate::support::ports::{TREASURY, outgoing};
use crate::support::settings::{cards_a_day, fast};
use crate::top_ups::{assert_credited, link, top_up_for};
use crate::wallet_payments::{opened, start_payment};
use crate::withdrawals::{assert_complete, balance, credited, restore_window, withdraw};
use crate::{top_ups, wallet_payments, withdrawals};

const OWNER: Wallet = evm(1);

/// The wallets that a [`Harness`] signs with.
const TREASURY_WALLET: Wallet = Wallet::Evm(TREASURY);
const MANAGED: Wallet = Wallet::Evm([8; 20]);

fn reason() -> ExternalText {
    "insufficient_funds".into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn payment_of_an_empty_wallet_is_declined_unsent_and_retryable() {
    // Checks: the caller gets the chain's reason, and nothing is sent or watched. The only card of the daily cap can
    // still be bought, over a crash too. The same payment buys once as soon as the wallet has funds.
    let mut settings = fast();
    settings.caps = cards_a_day(1, 2_000_000);
    let mut world = Harness::with(settings).await;
    let request = card_for(OWNER, 1);
    world.chain.drain(OWNER);
    for _ in 0..2 {
        let paid = world.pay(&request).await.unwrap();
        let Outcome::Declined(decline) = &paid.outcome else {
            panic!("{:?}", paid.outcome);
        };
        assert_eq!(decline.reason, reason());
        world.wait_until_idle().await;
        let id = world.engine.payment_id(&request.authorization);
        let known = world.engine.payment(&id).await.unwrap().unwrap();
        assert_eq!(known.status, payment::Status::DeclinedUnsent(decline.clone()));
        assert_eq!(
            (world.chain.submissions(), world.chain.lookups()),
            (0, 0),
            "nothing is sent or watched"
        );
        world = world.crash().await;
    }
    assert_eq!(world.event_count("payment.released"), 2);
    world.chain.fill();
    let mut request = request;
    request.session = session();
    let paid = world.pay(&request).await.unwrap();
    assert!(paid.won, "no other caller has the product");
    bought_card(&paid);
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    let next = world.pay(&card_for(OWNER, 2)).await.unwrap_err();
    assert_eq!(next, ClaimError::DailyCountCap { cap: 1 }, "it has used one share");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn withdrawal_that_the_chain_would_decline_is_released_unsent() {
    // Checks: it fails at once with the chain's reason, and the balance is unchanged.
    let world = credited().await;
    world.chain.drain(TREASURY_WALLET);
    let before = (world.chain.submissions(), world.chain.lookups());
    withdraw(&world, withdrawals::ALL).await.expect("it is taken on");
    world.wait_until_idle().await;
    let failed = withdrawals::withdrawal(&world).await.status;
    assert_eq!(failed, withdrawal::Status::Failed { reason: reason() });
    assert_eq!(balance(&world).await, (5_000_000, 0));
    assert_eq!((world.chain.submissions(), world.chain.lookups()), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_78_declined_preparation_credits_nothing_that_may_have_been_sent() {
    // Checks: the lost history has sent this transfer, and preparing it again is declined. That credits nothing; once
    // it can be prepared, the chain shows it, and it was sent once.
    let world = credited().await;
    let now = world.clock.now();
    let world = world.restored(restore_window(now, now.plus_ms(60_000))).await;
    let sent = outgoing(withdrawals::ID.0, evm(7), withdrawals::ALL);
    world.chain.drain(TREASURY_WALLET);
    world.chain.add_outgoing(OutgoingTransfer {
        transaction: world.chain.settle(&sent),
        to: evm(7),
        amount: withdrawals::ALL,
        at: now.plus_ms(1),
        fingerprint: sent.fingerprint(),
        index: 0,
    });
    withdraw(&world, withdrawals::ALL).await.expect("it is taken on");
    world.clock.advance(60_001);
    eventually("it is known what has left", async || {
        !world.engine.untracked_transfers().await.expect("readable").is_empty()
    })
    .await;
    let before = world.chain.listings();
    eventually("the chain is asked again", async || world.chain.listings() > before + 2).await;
    assert_eq!(
        withdrawals::withdrawal(&world).await.status,
        withdrawal::Status::Pending
    );
    assert_eq!(balance(&world).await, (5_000_000, 5_000_000));
    world.chain.fill();
    world.wait_until_idle().await;
    assert_complete(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wallet_payment_that_the_chain_would_decline_fails_unsent() {
    // Checks: it ends with the chain's reason, and its hold on the wallet is released.
    let world = opened(10, None).await;
    world.chain.drain(MANAGED);
    start_payment(&world, wallet_payments::ID, PaymentMethod::Transfer)
        .await
        .expect("it is reserved");
    world.wait_until_idle().await;
    let refused = wallet_payments::read(&world).await.status;
    assert_eq!(refused, wallet_payment::Status::Failed { reason: reason() });
    assert!(wallet_payments::wallet(&world).await.holds.is_empty());
    assert_eq!((world.chain.submissions(), world.chain.lookups()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn top_up_that_the_chain_would_decline_is_credited_unsent() {
    // Checks: on Base, where the treasury forwards it, the whole charge is credited and nothing is sent.
    let world = Harness::new().await;
    link(&world, OWNER);
    world.chain.drain(TREASURY_WALLET);
    let id = top_ups::buy(&world, &top_up_for(OWNER, 1)).await;
    assert_credited(&world, id, OWNER, top_up::DECLINED).await;
    let books = world.ledger_balances();
    let treasury = purser_actors::ledger::LedgerAccount::Treasury(Network::Base);
    assert_eq!(books.get(&treasury), Some(&5_000_000));
    assert_eq!(world.chain.submissions(), 1, "only the payment");
}
