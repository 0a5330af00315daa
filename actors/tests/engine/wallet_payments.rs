//! Agent wallets through the engine: caps, every server behavior, and crashes.

use purser_actors::engine::{GateHold, OperationError, SpendNotApproved};
use purser_actors::entity::agent_wallet::{AgentWallet, Rejection, WalletCaps, WalletSpend};
use purser_actors::entity::spend_approval::SpendAgent;
use purser_actors::entity::wallet_payment;
use purser_actors::entity::wallet_payment::{
    HTTP_RECORD_RETENTION_MS, HttpRecordPart, PaymentMethod, Status, WalletPayment, WalletPaymentOrder,
};
use purser_actors::id::{Wallet, WalletPaymentId};
use purser_actors::kernel::table;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Authorization, CallFailure, WalletAddresses};

use crate::gate::{assert_stays_held, set_frozen};
use crate::support::harness::{Harness, evm};
use crate::support::sellers::SellerBehavior;
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);
pub(crate) const ID: WalletPaymentId = WalletPaymentId(77);
const SEND_PAYMENT: wallet_payment::Job = wallet_payment::Job::SendWalletPayment(ID);
const ONE: Usdc = Usdc::from_atomic(1_000_000);
const PLENTY: Usdc = Usdc::from_atomic(1_000_000_000);

/// A harness whose owner has an agent wallet with these caps, in whole dollars.
pub(crate) async fn opened(per_call: u64, per_day: Option<u64>) -> Harness {
    let world = Harness::new().await;
    let limits = WalletCaps {
        per_call: Cents::new(per_call * 100),
        per_day: per_day.map(|cap| Cents::new(cap * 100)),
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

fn order(amount: Usdc, way: PaymentMethod) -> WalletPaymentOrder {
    WalletPaymentOrder {
        to: evm(5),
        amount,
        note: None,
        method: way,
    }
}

/// A spend of an agent whose wallet signed in.
pub(crate) fn spend(payment: WalletPaymentId, chain_balance: Usdc, order: WalletPaymentOrder) -> WalletSpend {
    let call = match order.method {
        PaymentMethod::Transfer => Vec::new(),
        PaymentMethod::PaidCall { .. } => b"call".to_vec(),
    };
    WalletSpend {
        payment,
        order,
        call,
        chain_balance,
        known_lines: None,
        agent: SpendAgent::default(),
        call_digest: [0; 32],
        purchase: None,
    }
}

fn paid_call() -> PaymentMethod {
    PaymentMethod::PaidCall {
        host: "shop.example.com:443".into(),
    }
}

fn own_call() -> PaymentMethod {
    let host = PaymentMethod::OWN.to_owned();
    PaymentMethod::PaidCall { host }
}

pub(crate) async fn start_payment(
    world: &Harness,
    id: WalletPaymentId,
    way: PaymentMethod,
) -> Result<(), OperationError<Rejection, SpendNotApproved>> {
    let asked = world
        .engine
        .start_wallet_payment(OWNER, spend(id, PLENTY, order(ONE, way)), None, None);
    in_time("an answer", asked).await
}

pub(crate) async fn read(world: &Harness) -> WalletPayment {
    let read = world.engine.wallet_payment(&ID).await.expect("readable");
    read.expect("it exists")
}

pub(crate) async fn wallet(world: &Harness) -> AgentWallet {
    let read = world.engine.agent_wallet(&OWNER).await.expect("readable");
    read.expect("it exists")
}

/// Asserts one settlement, a response, and no remaining hold.
async fn assert_settled(world: &Harness) {
    let spent = read(world).await;
    assert!(matches!(spent.status, Status::Settled { .. }), "{spent:?}");
    let sent: Vec<Authorization> = world.sellers.signed();
    let landed = sent.iter().filter(|one| world.chain.has(one)).count();
    assert_eq!((landed, world.chain.transfers()), (1, 1), "one payment");
    assert!(wallet(world).await.holds.is_empty());
    assert_eq!(world.event_count("wallet_payment.settled"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfer_and_paid_call_settle() {
    // Checks: pending, signed, sent and settled, each announced once; the response is stored with the wallet payment.
    for way in [PaymentMethod::Transfer, paid_call()] {
        let world = opened(10, None).await;
        start_payment(&world, ID, way.clone()).await.expect("it is reserved");
        world.wait_until_idle().await;
        assert_settled(&world).await;
        let counts = ["pending", "signed", "sent"].map(|state| world.event_count(&format!("wallet_payment.{state}")));
        let answer = world
            .engine
            .http_record(ID, HttpRecordPart::Response)
            .await
            .expect("readable");
        match way {
            PaymentMethod::Transfer => assert_eq!((counts, answer), ([1, 1, 0], Vec::new())),
            PaymentMethod::PaidCall { .. } => assert_eq!((counts, answer), ([1, 1, 1], b"answer".to_vec())),
        }
        assert_eq!(world.sellers.signed().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn http_record_is_kept_for_thirty_days() {
    // Checks: until then the response is stored, over a restart too; then a timer deletes it, and the wallet payment
    // stays.
    let world = opened(10, None).await;
    start_payment(&world, ID, paid_call()).await.expect("it is reserved");
    world.wait_until_idle().await;
    let said = world.store.rows(&[table::HTTP_RECORD]).len();
    assert!(said >= 3, "call, payment and answer: {said}");
    world.clock.advance(HTTP_RECORD_RETENTION_MS - 60_000);
    let world = world.crash().await;
    world.wait_until_idle().await;
    assert_eq!(world.store.rows(&[table::HTTP_RECORD]).len(), said);
    world.clock.advance(60_000);
    eventually("it is forgotten", async || {
        world.store.rows(&[table::HTTP_RECORD]).is_empty()
    })
    .await;
    world.wait_until_idle().await;
    assert_eq!(world.store.rows(&[table::TIMER]), []);
    assert_settled(&world).await;
    let answer = world
        .engine
        .http_record(ID, HttpRecordPart::Response)
        .await
        .expect("readable");
    assert!(answer.is_empty() && read(&world).await.response().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wallet_caps_hold_under_a_hundred_concurrent_payments() {
    // Checks: of a hundred concurrent payments exactly as many are reserved as the daily cap permits. A payment that is
    // never sent releases its part; a sent one does not.
    let world = opened(10, Some(30)).await;
    world.sellers.set_behaviors(&[SellerBehavior::Declined]);
    let calls: Vec<_> = (0..100)
        .map(|n| {
            let engine = world.engine.clone();
            let asked = spend(WalletPaymentId(1_000 + n), PLENTY, order(ONE, paid_call()));
            tokio::spawn(async move { engine.start_wallet_payment(OWNER, asked, None, None).await })
        })
        .collect();
    let mut reserved = 0;
    for call in calls {
        match in_time("an answer", call).await.expect("it does not panic") {
            Ok(()) => reserved += 1,
            Err(OperationError::Rejected(Rejection::DailyCap { cap, left })) => {
                assert_eq!((cap, left), (Cents::new(3_000), Usdc::ZERO));
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(reserved, 30);
    assert_eq!(
        wallet(&world).await.held(evm(1).network()),
        Usdc::from_atomic(30_000_000)
    );
    eventually("every payment is signed", async || world.sellers.signed().len() == 30).await;
    let signed = world.sellers.signed();
    signed[..10].iter().for_each(|one| world.chain.expire(one));
    signed[10..].iter().for_each(|one| drop(world.chain.settle(one)));
    world.wait_until_idle().await;
    let after = wallet(&world).await;
    assert!(after.holds.is_empty());
    for n in 0..11 {
        let result = start_payment(&world, WalletPaymentId(5_000 + n), PaymentMethod::Transfer).await;
        assert_eq!(result.is_ok(), n < 10, "ten of thirty were released");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wallet_payment_above_a_cap_or_the_balance_is_rejected() {
    // Checks: above the cap per call, above the balance less holds, and an amount of zero; nothing is signed.
    let world = opened(2, None).await;
    let ask = |amount, holds| {
        let asked = order(Usdc::from_atomic(amount), PaymentMethod::Transfer);
        world
            .engine
            .start_wallet_payment(OWNER, spend(ID, Usdc::from_atomic(holds), asked), None, None)
    };
    let refusal = async |amount, holds| match ask(amount, holds).await {
        Err(OperationError::Rejected(why)) => why,
        other => panic!("{other:?}"),
    };
    let cap = Cents::new(200);
    assert_eq!(refusal(2_000_001, 9_000_000).await, Rejection::PerCallCap { cap });
    let none = |available| Rejection::Insufficient {
        available: Usdc::from_atomic(available),
    };
    assert_eq!(refusal(2_000_000, 1_999_999).await, none(1_999_999));
    assert_eq!(refusal(0, 5).await, none(5));
    assert!(world.sellers.signed().is_empty());
    assert!(world.engine.wallet_payment(&ID).await.expect("readable").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wallet_payment_ends_by_the_chain_not_the_server_response() {
    // Checks: an error response after the payment was accepted is settled. A rejection stays on hold until the payment
    // settles or can't any more. A silent server is retried with the same payment until the last attempt.
    for (served, lands, failure) in [
        (SellerBehavior::ErrorResponse, true, Some(CallFailure::HttpError)),
        (SellerBehavior::ResponseLost, true, Some(CallFailure::FetchFailed)),
        (SellerBehavior::Declined, true, Some(CallFailure::Unsettled)),
        (SellerBehavior::Declined, false, Some(CallFailure::Unsettled)),
        (SellerBehavior::Unreachable, false, Some(CallFailure::FetchFailed)),
    ] {
        let mut world = opened(10, Some(1)).await;
        world.sellers.set_behaviors(&[served]);
        start_payment(&world, ID, paid_call()).await.expect("it is reserved");
        let result = in_time("what became of the call", world.engine.await_wallet_payment(ID))
            .await
            .expect("it has an outcome");
        assert_eq!(
            result.response().and_then(|answer| answer.failure),
            failure,
            "{served:?}"
        );
        if matches!(served, SellerBehavior::Declined | SellerBehavior::Unreachable) {
            // For any time, and over a crash: it could still settle.
            world = world.crash().await;
            let seen = world.chain.lookups();
            eventually("the chain is read again", async || world.chain.lookups() > seen + 2).await;
            assert!(matches!(read(&world).await.status, Status::Sent(..)));
            assert_eq!(wallet(&world).await.holds.len(), 1);
            let [signed] = &world.sellers.signed()[..] else {
                panic!("signed once")
            };
            if lands {
                world.chain.settle(signed);
            } else {
                world.chain.expire(signed);
            }
        }
        world.wait_until_idle().await;
        assert_eq!(world.sellers.signed().len(), 1, "{served:?}");
        assert!(wallet(&world).await.holds.is_empty());
        let again = start_payment(&world, WalletPaymentId(78), PaymentMethod::Transfer).await;
        if lands {
            assert_settled(&world).await;
            assert!(again.is_err(), "the day is used up");
        } else {
            assert!(matches!(read(&world).await.status, Status::Unsettled { .. }));
            assert_eq!(world.event_count("wallet_payment.unsettled"), 1);
            again.expect("its hold was released");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn payment_rejected_by_our_own_service_is_released_at_once() {
    // Checks: a rejection by our own service, which claimed nothing, releases the hold before the payment expires. A
    // rejection of a second attempt does not, because the first may still be claimed.
    let world = opened(10, Some(1)).await;
    world.sellers.set_behaviors(&[SellerBehavior::Declined]);
    start_payment(&world, ID, own_call()).await.expect("it is reserved");
    world.wait_until_idle().await;
    let result = read(&world).await;
    assert!(matches!(result.status, Status::Unsettled { .. }), "{result:?}");
    assert_eq!(
        result.response().and_then(|answer| answer.failure),
        Some(CallFailure::Unsettled)
    );
    assert!(wallet(&world).await.holds.is_empty());
    start_payment(&world, WalletPaymentId(78), PaymentMethod::Transfer)
        .await
        .expect("its hold was released");

    let world = opened(10, Some(1)).await;
    world
        .sellers
        .set_behaviors(&[SellerBehavior::Unreachable, SellerBehavior::Declined]);
    start_payment(&world, ID, own_call()).await.expect("it is reserved");
    eventually("the call was answered", async || {
        matches!(read(&world).await.status, Status::Sent(..))
    })
    .await;
    assert_eq!(wallet(&world).await.holds.len(), 1, "the chain is waited for");
    world.sellers.signed().iter().for_each(|one| world.chain.expire(one));
    world.wait_until_idle().await;
    assert!(wallet(&world).await.holds.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn silent_server_is_retried_with_the_same_payment() {
    // Checks: two responses are lost and the third arrives: three calls, one payment, and a stored response.
    let world = opened(10, None).await;
    world.sellers.set_behaviors(&[
        SellerBehavior::ResponseLost,
        SellerBehavior::Unreachable,
        SellerBehavior::Success,
    ]);
    start_payment(&world, ID, paid_call()).await.expect("it is reserved");
    world.wait_until_idle().await;
    assert_settled(&world).await;
    assert_eq!((world.sellers.calls(), world.sellers.signed().len()), (2, 1));
    assert_eq!(
        read(&world).await.response().map(|answer| answer.http_status),
        Some(200)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_77_frozen_agent_wallet_signs_nothing_until_unfrozen() {
    // Checks: a transfer and a call on hold at the freeze are not signed, over a crash; after the unfreeze each is paid
    // once. A server that has the signature and has not responded is not called again during the freeze.
    for way in [PaymentMethod::Transfer, paid_call()] {
        let world = opened(10, None).await;
        set_frozen(&world, OWNER, true).await;
        start_payment(&world, ID, way.clone())
            .await
            .expect("the wallet does not know");
        assert_stays_held(&world, &SEND_PAYMENT, GateHold::AccountFrozen).await;
        let world = world.crash().await;
        assert_stays_held(&world, &SEND_PAYMENT, GateHold::AccountFrozen).await;
        assert_eq!(read(&world).await.status, Status::Pending);
        assert!(world.sellers.signed().is_empty() && wallet(&world).await.holds.len() == 1);
        set_frozen(&world, OWNER, false).await;
        world.wait_until_idle().await;
        assert_settled(&world).await;
    }
    let world = opened(10, None).await;
    world.sellers.set_behaviors(&[SellerBehavior::Unreachable]);
    start_payment(&world, ID, paid_call()).await.expect("it is reserved");
    eventually("it is signed", async || !world.sellers.signed().is_empty()).await;
    set_frozen(&world, OWNER, true).await;
    world.sellers.set_behaviors(&[SellerBehavior::Success]);
    let lookups = world.chain.lookups();
    eventually("the chain is read", async || world.chain.lookups() > lookups + 3).await;
    let calls = world.sellers.calls();
    let lookups = world.chain.lookups();
    eventually("the chain is read", async || world.chain.lookups() > lookups + 3).await;
    assert_eq!(world.sellers.calls(), calls, "no seller is called");
}

/// Cuts the power after each batch of a wallet payment, restarts, and waits for the end.
async fn assert_one_payment_after_crash(way: PaymentMethod, served: &[SellerBehavior], last_is_answered: bool) {
    let mut cuts = 0;
    for after in 0.. {
        assert!(after < 40, "it never gets through");
        let world = opened(10, None).await;
        world.sellers.set_behaviors(served);
        let from = world.store.committed();
        world.store.hold_after(after, last_is_answered);
        let asked = tokio::spawn({
            let (engine, way) = (world.engine.clone(), way.clone());
            async move {
                engine
                    .start_wallet_payment(OWNER, spend(ID, PLENTY, order(ONE, way)), None, None)
                    .await
            }
        });
        let mut through = false;
        eventually("the cut or the end", async || {
            let done = asked.is_finished() && world.event_count("wallet_payment.settled") == 1;
            through = done && world.engine.open_jobs(1).await.is_ok_and(|open| open.is_empty());
            through || world.store.is_starving() || (!last_is_answered && world.store.committed() >= after + from)
        })
        .await;
        let world = world.crash().await;
        asked.abort();
        // A caller without a response asks again, with the same id, as an idempotency key would.
        if world.engine.wallet_payment(&ID).await.expect("readable").is_none() {
            start_payment(&world, ID, way.clone()).await.expect("it is reserved");
        }
        world.wait_until_idle().await;
        assert_settled(&world).await;
        if through {
            break;
        }
        cuts += 1;
    }
    assert!(
        cuts >= 4,
        "reserved, signed, settled and ended are batches of their own: {cuts}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn crash_at_any_batch_pays_once() {
    // Checks: transfers and paid calls, with and without the last batch's response, and with lost server responses. One
    // payment settles, and only durable bytes were ever sent.
    for last_is_answered in [true, false] {
        assert_one_payment_after_crash(PaymentMethod::Transfer, &[], last_is_answered).await;
        assert_one_payment_after_crash(paid_call(), &[SellerBehavior::Success], last_is_answered).await;
        assert_one_payment_after_crash(
            paid_call(),
            &[SellerBehavior::ResponseLost, SellerBehavior::Success],
            last_is_answered,
        )
        .await;
    }
}
