//! Several payments of one wallet at once.

use futures_util::future::join_all;
use purser::settlement::chain::{Acceptance, ContractWallets as _};
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, OutgoingTransferRequest, Preparation, Settlement as _, SubmitResult};
use purser_chains::evm::Address;
use purser_chains::evm::node::BlockTag;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::base::harness::{Harness, VALUE, hex, key, payer, treasury, until};
use crate::base::proxy::Proxy;

const INSUFFICIENT_FUNDS: &str = "insufficient_funds";
const LATE: u64 = u32::MAX as u64;

impl Harness {
    /// The nth payment of 1 USDC by payer 0.
    fn of_first(&self, nonce: u8) -> Authorization {
        self.signed("payer 0", treasury(), VALUE, LATE, nonce)
    }

    /// Why a payment is declined before its claim.
    async fn checked(&self, payment: &Authorization) -> Option<String> {
        let decline = self.port().precheck(payment).await;
        decline.map(|decline| decline.reason.to_string())
    }

    async fn prepared(&self, payment: &Authorization) -> Option<String> {
        match self.prepare(payment).await {
            Preparation::Ready(_) => None,
            Preparation::Declined(decline) => Some(decline.reason.to_string()),
        }
    }

    /// Checked, prepared and submitted, until its transaction is in the pool.
    async fn submit_in_flight(&self, payment: &Authorization, in_pool: usize) -> JoinHandle<SubmitResult> {
        assert_eq!(self.checked(payment).await, None);
        assert_eq!(self.prepared(payment).await, None);
        let submitted = self.submit(payment);
        self.in_pool(in_pool).await;
        submitted
    }

    /// Sets the balance in a block that the follower has read.
    async fn holds(&self, of: Address, value: u64) {
        self.send_usdc(of, value).await;
        self.anvil.mine(1).await;
        self.read().await;
    }
}

// Checks: a wallet with money for one payment presents six at once. One is accepted, and the others are declined before
// their claims and when prepared. Another is declined at each stage of the first: checked, prepared, pending, pending
// after a restart, on chain. With new money another is accepted.
#[tokio::test]
async fn case_88_only_one_payment_is_accepted_when_funds_suffice_for_one() {
    let Some(mut w) = Harness::start(1).await else { return };
    let payments: Vec<Authorization> = (1..=6).map(|nonce| w.of_first(nonce)).collect();
    let answers = join_all(payments.iter().map(|payment| w.checked(payment))).await;
    let taken: Vec<usize> = (0..payments.len()).filter(|n| answers[*n].is_none()).collect();
    let &[taken] = taken.as_slice() else {
        panic!("{answers:?}")
    };
    assert!(
        answers.iter().flatten().all(|reason| reason == INSUFFICIENT_FUNDS),
        "{answers:?}"
    );
    let first = &payments[taken];
    assert_eq!(w.checked(first).await, None, "its own place");

    // The only payment of its check, so that only pending payments can exceed the balance.
    let declined = async |w: &Harness, nonce: u8| {
        let other = w.of_first(nonce);
        assert_eq!(w.checked(&other).await.as_deref(), Some(INSUFFICIENT_FUNDS), "{nonce}");
        assert_eq!(
            w.checked(&other).await.as_deref(),
            Some(INSUFFICIENT_FUNDS),
            "{nonce}: again"
        );
        assert_eq!(w.prepared(&other).await.as_deref(), Some(INSUFFICIENT_FUNDS), "{nonce}");
    };
    declined(&w, 11).await;
    assert_eq!(w.prepared(first).await, None);
    declined(&w, 12).await;
    drop(w.submit(first));
    w.in_pool(1).await;
    declined(&w, 13).await;
    assert_eq!(w.prepared(first).await, None, "never against itself");
    w.kill().await;
    w.open().await;
    declined(&w, 14).await;
    assert!(matches!(w.mined(w.submit(first)).await, SubmitResult::Settled { .. }));
    declined(&w, 15).await;
    w.holds(payer(0), VALUE).await;
    let again = w.of_first(16);
    let submitted = w.submit_in_flight(&again, 1).await;
    assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    assert_eq!(w.balance(treasury()).await, 2 * VALUE);
    assert_eq!(
        w.port()
            .counters()
            .gas_lost_gwei
            .load(std::sync::atomic::Ordering::Relaxed),
        0
    );
}

// Checks: a payment on chain is not deducted twice. A wallet with money for three has three accepted while their rows
// still exist, also right after a block that the port has not read. A fourth is declined.
#[tokio::test]
async fn settled_payment_is_not_deducted_twice() {
    let Some(w) = Harness::start(1).await else { return };
    w.holds(payer(0), 3 * VALUE).await;
    let mut submitted = vec![
        w.submit_in_flight(&w.of_first(1), 1).await,
        w.submit_in_flight(&w.of_first(2), 2).await,
    ];
    w.anvil.mine(1).await;
    submitted.push(w.submit_in_flight(&w.of_first(3), 1).await);
    assert!(w.rows(b'n').await >= 3, "none is forgotten yet");
    assert_eq!(w.checked(&w.of_first(4)).await.as_deref(), Some(INSUFFICIENT_FUNDS));
    for submitted in submitted {
        assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    }
    assert_eq!(w.balance(treasury()).await, 3 * VALUE);
}

// Checks: balance is released by a payment that fails on chain, by an expired authorization, and by a payment that was
// checked or prepared but not submitted.
#[tokio::test]
async fn payment_that_ends_unsettled_releases_its_amount() {
    let Some(w) = Harness::start(1).await else { return };
    let fails = w.submit_in_flight(&w.of_first(1), 1).await;
    assert_eq!(w.checked(&w.of_first(2)).await.as_deref(), Some(INSUFFICIENT_FUNDS));
    w.send_usdc(payer(0), 0).await;
    assert!(matches!(w.mined(fails).await, SubmitResult::Declined(_)));
    w.holds(payer(0), VALUE).await;
    let second = w.of_first(3);
    until("the amount of a failed payment is released", async || {
        w.checked(&second).await.is_none().then_some(())
    })
    .await;

    // Checked, and never prepared.
    let third = w.of_first(4);
    assert_eq!(w.checked(&third).await.as_deref(), Some(INSUFFICIENT_FUNDS));
    until("the amount of a checked payment is released", async || {
        w.checked(&third).await.is_none().then_some(())
    })
    .await;

    let latest = w.node.header(BlockTag::Latest).await.unwrap().unwrap();
    let end = latest.timestamp + 100;
    let short_lived = w.signed("payer 0", treasury(), VALUE, end, 5);
    until("the amount of a checked payment is released", async || {
        w.checked(&short_lived).await.is_none().then_some(())
    })
    .await;
    let expires = w.submit_in_flight(&short_lived, 1).await;
    let last = w.of_first(6);
    assert_eq!(w.checked(&last).await.as_deref(), Some(INSUFFICIENT_FUNDS));
    w.anvil.control("anvil_dropAllTransactions", json!([])).await;
    w.anvil.control("evm_setNextBlockTimestamp", json!([hex(end)])).await;
    w.anvil.mine(1).await;
    w.read().await;
    until("the amount of an expired payment is released", async || {
        w.checked(&last).await.is_none().then_some(())
    })
    .await;
    assert_eq!(w.prepared(&last).await, None);
    let last = w.submit(&last);
    assert!(matches!(w.mined(last).await, SubmitResult::Settled { .. }));
    assert!(matches!(w.mined(expires).await, SubmitResult::Declined(_)));
    assert_eq!(w.balance(treasury()).await, VALUE);
}

// Checks: pending payments of a contract wallet count against its balance. Its signatures stay valid.
#[tokio::test]
async fn payments_of_a_contract_wallet_count_together() {
    let Some(w) = Harness::start(1).await else { return };
    let contracts = include_str!("../../../src/chains/tests/anvil/contracts.json");
    let contracts: Value = serde_json::from_str(contracts).unwrap();
    let code = &contracts["runtime"]["SmartWallet"];
    w.anvil.control("anvil_setCode", json!([hex(payer(0)), code])).await;
    let owner = format!("{:#x}", key("owner").address().into_word());
    let params = json!([hex(payer(0)), "0x0", owner]);
    w.anvil.control("anvil_setStorageAt", params).await;
    w.holds(payer(0), 2 * VALUE).await;
    let by_owner = |nonce: u8| w.signed_for("owner", payer(0), treasury(), VALUE, LATE, nonce);
    let accepted = async |payment: &Authorization| {
        let Authorization::Evm(signed) = payment else { panic!() };
        assert_eq!(w.port().accepts(signed).await.unwrap(), Acceptance::Accepted);
    };
    let payments = [by_owner(1), by_owner(2), by_owner(3)];
    let mut submitted = Vec::new();
    for (payment, in_pool) in payments[..2].iter().zip(1..) {
        accepted(payment).await;
        submitted.push(w.submit_in_flight(payment, in_pool).await);
    }
    accepted(&payments[2]).await;
    assert_eq!(w.checked(&payments[2]).await.as_deref(), Some(INSUFFICIENT_FUNDS));
    assert_eq!(w.prepared(&payments[2]).await.as_deref(), Some(INSUFFICIENT_FUNDS));
    for submitted in submitted {
        assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    }
    assert_eq!(w.balance(treasury()).await, 2 * VALUE);
}

// Checks: an agent wallet's payments to others count against its payments to us. Treasury transfers are not limited
// here, because the ledger checks them.
#[tokio::test]
async fn agent_wallet_payments_count_together_but_treasury_transfers_do_not() {
    let Some(w) = Harness::start(1).await else { return };
    w.port().track_wallets([payer(0)]);
    let other_payment = w.signed("payer 0", payer(1), VALUE, LATE, 1);
    let submitted = w.submit_in_flight(&other_payment, 1).await;
    let ours = w.of_first(2);
    assert_eq!(w.checked(&ours).await.as_deref(), Some(INSUFFICIENT_FUNDS));
    assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    assert_eq!(w.balance(payer(1)).await, VALUE);

    w.holds(treasury(), VALUE).await;
    for key in 1..=2 {
        let transfer = OutgoingTransferRequest {
            key,
            to: Wallet::Evm(payer(2).into_array()),
            amount: Usdc::from_atomic(VALUE),
        };
        let signed = w.port().sign(&transfer).await.unwrap();
        assert_eq!(w.prepared(&signed).await, None, "{key}");
    }
}

// Checks: an endpoint that executes no code without a contract returns no balances. Payments are then checked by
// simulation alone, and one that exceeds the balance together with another is declined when the chain shows it.
#[tokio::test]
async fn without_balances_a_simulation_alone_decides() {
    let Some(mut w) = Harness::closed(1).await else { return };
    let proxy = Proxy::start(&w.anvil.url).await;
    proxy.falsify(|request, result| match request["params"][0].get("to") {
        None if request["method"] == "eth_call" => Some(Value::from("0x")),
        _ => Some(result),
    });
    w.urls = vec![proxy.url.clone()];
    w.open().await;
    let submitted = w.submit_in_flight(&w.of_first(1), 1).await;
    let second = w.of_first(2);
    assert_eq!(w.checked(&second).await, None);
    assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    until("the chain shows it", async || {
        (w.checked(&w.of_first(3)).await.as_deref() == Some(INSUFFICIENT_FUNDS)).then_some(())
    })
    .await;
    assert!(matches!(w.mined(w.submit(&second)).await, SubmitResult::Declined(_)));
    assert_eq!(w.balance(treasury()).await, VALUE);
}
