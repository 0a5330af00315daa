//! Calls that a payment costs at a provider, which counts each call of a batch.

use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use purser_actors::port::{Authorization, Preparation, Settlement as _};
use purser_chains::evm::U256;
use purser_chains::evm::node::{BalanceAt, BlockTag, CallRequest, PayerState};
use purser_chains::evm::usdc;
use serde_json::{Value, json};

use crate::base::harness::{Harness, VALUE, hex, payer};
use crate::base::proxy::Proxy;

/// The calls that name one of these payers, by their method.
type Counted = Arc<Mutex<Vec<String>>>;

/// A world whose only endpoint counts the calls that name a payer.
async fn counting(payers: usize) -> Option<(Harness, Counted)> {
    let mut w = Harness::closed(payers).await?;
    let (proxy, counted) = (Proxy::start(&w.anvil.url).await, Counted::default());
    w.urls = vec![proxy.url.clone()];
    let calls = counted.clone();
    let names: Vec<String> = (0..payers).map(|n| format!("{:x}", payer(n))).collect();
    proxy.falsify(move |request, result| {
        let text = request["params"].to_string().to_lowercase();
        if names.iter().any(|name| text.contains(name)) {
            calls.lock().push(request["method"].as_str().unwrap().to_owned());
        }
        Some(result)
    });
    w.open().await;
    Some((w, counted))
}

async fn declined_reason(w: &Harness, payment: &Authorization) -> String {
    let decline = w.port().precheck(payment).await;
    decline.map_or_else(String::new, |decline| decline.reason.to_string())
}

// Checks: a payment of an empty wallet costs the two calls of its check. Repeated at once it costs none, and neither do
// later blocks.
#[tokio::test]
async fn a_declined_payment_costs_two_calls() {
    let Some((w, counted)) = counting(1).await else { return };
    w.send_usdc(payer(0), VALUE - 1).await;
    w.anvil.mine(1).await;
    w.read().await;
    let payment = w.payment(0);
    for _ in 0..3 {
        assert_eq!(declined_reason(&w, &payment).await, "insufficient_funds");
    }
    w.anvil.mine(3).await;
    w.read().await;
    assert_eq!(
        *counted.lock(),
        ["eth_call", "eth_call"],
        "what the payer holds, and the simulation"
    );
}

// Checks: payments that come together are checked with two calls, with and without code at the payer. A declined
// payment among them costs no additional call.
#[tokio::test]
async fn concurrent_payments_are_checked_with_two_calls() {
    const PAYERS: usize = 60;
    let Some((w, counted)) = counting(PAYERS).await else {
        return;
    };
    w.send_usdc(payer(7), VALUE - 1).await;
    w.anvil.mine(1).await;
    w.read().await;
    let payments: Vec<Authorization> = (0..PAYERS).map(|n| w.payment(n)).collect();
    let reasons = join_all(payments.iter().map(|payment| declined_reason(&w, payment))).await;
    let mut expected = vec![String::new(); PAYERS];
    expected[7] = "insufficient_funds".to_owned();
    assert_eq!(reasons, expected);
    assert_eq!(*counted.lock(), ["eth_call", "eth_call"]);

    // Preparing them asks nothing again.
    for payment in payments
        .iter()
        .enumerate()
        .filter(|(n, _)| *n != 7)
        .map(|(_, payment)| payment)
    {
        assert!(matches!(w.prepare(payment).await, Preparation::Ready(_)));
    }
    assert_eq!(counted.lock().len(), 2);
}

// Checks: payments some milliseconds apart are joined. There are at most as many checks as periods of 20 ms, however
// fast the endpoint responds.
#[tokio::test]
async fn payments_in_quick_succession_share_their_checks() {
    const PAYERS: usize = 60;
    let Some((w, counted)) = counting(PAYERS).await else {
        return;
    };
    let payments: Vec<Authorization> = (0..PAYERS).map(|n| w.payment(n)).collect();
    let begun = std::time::Instant::now();
    let asked = payments.iter().enumerate().map(|(n, payment)| {
        let w = &w;
        async move {
            tokio::time::sleep(std::time::Duration::from_millis(3 * n as u64)).await;
            declined_reason(w, payment).await
        }
    });
    let reasons = join_all(asked).await;
    let periods = begun.elapsed().as_millis() / 20 + 1;
    assert_eq!(reasons, vec![String::new(); PAYERS]);
    let calls = counted.lock().len() as u128;
    assert!(calls <= 2 * periods, "{calls} calls in {periods} periods");
    let figures = w.port().prechecks();
    assert_eq!(
        (figures.requests, u128::from(figures.reads)),
        (PAYERS as u64, calls / 2)
    );
}

// Checks: one call returns the same balances and code as a query for each address: contracts, an EIP-7702 delegation,
// plain wallets, and a duplicate address. It also returns the newest block.
#[tokio::test]
async fn one_call_reads_balances_and_code_of_all_payers() {
    let Some(w) = Harness::closed(4).await else { return };
    let delegation = format!("0xef0100{:x}", payer(3));
    for (n, code) in [(1, delegation), (2, "0x00".to_owned())] {
        let params = json!([hex(payer(n)), code]);
        w.anvil.control("anvil_setCode", params).await;
    }
    w.anvil.mine(1).await;
    let mut addresses: Vec<_> = (0..4).map(payer).collect();
    addresses.extend([payer(1), w.token.address()]);
    let expected = vec![false, true, true, false, true, true];
    assert_eq!(w.node.have_code(&addresses).await.unwrap(), expected);
    let block = w.node.header(BlockTag::Latest).await.unwrap().unwrap().number;
    let found = w.node.payers(w.token.address(), &addresses).await.unwrap();
    let codes: Vec<bool> = found.iter().map(|payer| payer.has_code).collect();
    assert_eq!(codes, expected);
    for (address, found) in addresses.iter().zip(found) {
        let atomic = w.balance(*address).await;
        assert_eq!(found.balance, Some(BalanceAt { block, atomic }), "{address}");
    }
    let many: Vec<_> = (0..450).map(|n| addresses[n % addresses.len()]).collect();
    let expected: Vec<bool> = (0..450).map(|n| expected[n % addresses.len()]).collect();
    let found = w.node.payers(w.token.address(), &many).await.unwrap();
    assert_eq!(found.iter().map(|payer| payer.has_code).collect::<Vec<_>>(), expected);
    let request = CallRequest {
        from: payer(0),
        to: w.token.address(),
        data: usdc::balance_call(payer(1)).into(),
        gas: 100_000,
    };
    let asked = w.node.payer_and_call(w.token.address(), payer(1), &request);
    let (one, returned) = asked.await.unwrap();
    assert!(one.has_code && one.balance.unwrap().atomic == VALUE);
    assert_eq!(usdc::decode_balance(&returned.unwrap()).unwrap(), U256::from(VALUE));
}

// Checks: if an endpoint executes no code without a contract, it is called once for each payer.
#[tokio::test]
async fn endpoint_without_code_execution_is_called_for_each_payer() {
    let Some(w) = Harness::closed(3).await else { return };
    let proxy = Proxy::start(&w.anvil.url).await;
    proxy.falsify(|request, result| match request["params"][0].get("to") {
        None if request["method"] == "eth_call" => Some(Value::from("0x")),
        _ => Some(result),
    });
    w.anvil.control("anvil_setCode", json!([hex(payer(1)), "0x00"])).await;
    w.anvil.mine(1).await;
    let node = purser_chains::evm::node::Node::new(Arc::new(crate::base::anvil::pool(&[&proxy.url])));
    let found = node.payers(w.token.address(), &[payer(0), payer(1), payer(2)]).await;
    let state = |has_code| PayerState {
        has_code,
        balance: None,
    };
    assert_eq!(found.unwrap(), [false, true, false].map(state));
}
