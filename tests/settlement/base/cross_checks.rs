//! What one endpoint of two says alone: it never makes a payment final, and what it leaves out is found.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use purser::settlement::evm::BaseSettlement;
use purser_actors::id::Network;
use purser_actors::port::{
    Authorization, ChainStatus, Finality, Preparation, Settlement as _, SubmitResult, TreasuryList as _,
};
use purser_chains::evm::B256;
use purser_chains::evm::blocks::Finality as Depth;
use purser_chains::evm::node::BlockTag;
use purser_chains::evm::usdc::TOPICS;
use purser_chains::rpc::{BoxFuture, Clock, HttpTransport, SystemClock};
use purser_storage::Store;
use serde_json::{Value, json};

use crate::base::anvil::{Anvil, client};
use crate::base::harness::{Harness, VALUE, hex, key, payer, treasury, until};
use crate::base::proxy::Proxy;

/// A world whose first endpoint of two is the proxy; the port is closed.
pub async fn behind_proxy(anvil: Option<Anvil>, payers: usize) -> Option<(Harness, Proxy)> {
    let mut w = Harness::closed_on(anvil?, payers).await?;
    let proxy = Proxy::start(&w.anvil.url).await;
    w.urls = vec![proxy.url.clone(), w.anvil.url.clone()];
    Some((w, proxy))
}

pub fn is_final(found: &ChainStatus) -> bool {
    matches!(
        found,
        ChainStatus::Confirmed {
            finality: Finality::Final,
            ..
        }
    )
}

/// Logs of a payment that was never made, as this block would have them.
fn invented(payment: &Authorization, block: &Value, number: u64) -> [Value; 2] {
    let Authorization::Evm(signed) = payment else { panic!() };
    let (from, to) = (
        B256::left_padding_from(&signed.from),
        B256::left_padding_from(&signed.to),
    );
    let log = |index: u64, topics: Vec<B256>, data: String| {
        json!({
            "address": "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
            "topics": topics.into_iter().map(hex).collect::<Vec<_>>(),
            "data": data,
            "blockNumber": format!("{number:#x}"),
            "blockHash": block,
            "transactionHash": hex(B256::repeat_byte(0x77)),
            "logIndex": format!("{index:#x}"),
            "removed": false,
        })
    };
    let [transferred, used, _] = TOPICS;
    [
        log(900, vec![used, from, B256::from(signed.nonce)], "0x".to_owned()),
        log(
            901,
            vec![transferred, from, to],
            format!("0x{:064x}", signed.value.atomic()),
        ),
    ]
}

/// Whether a call asks for the logs of one block.
pub fn is_logs_request(request: &Value) -> bool {
    request["method"] == "eth_getLogs" && request["params"][0]["blockHash"].is_string()
}

// Checks: a payment that one endpoint invents in a real block is confirmed, never final, and gone as soon as two
// endpoints agree.
#[tokio::test]
async fn transfer_invented_by_one_endpoint_is_never_final() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 1).await else {
        return;
    };
    w.open().await;
    let payment = w.payment(0);
    w.prepare(&payment).await;
    let number = w.node.header(BlockTag::Latest).await.unwrap().unwrap().number + 1;
    let lie = payment.clone();
    proxy.falsify(move |request, mut result| {
        if is_logs_request(request) {
            let logs = result.as_array_mut().unwrap();
            logs.extend(invented(&lie, &request["params"][0]["blockHash"], number));
        }
        Some(result)
    });
    w.anvil.mine(1).await;
    until("the invented payment is seen", async || {
        matches!(w.lookup(&payment).await, ChainStatus::Confirmed { .. }).then_some(())
    })
    .await;
    w.anvil.mine(5).await;
    for _ in 0..20 {
        assert!(!is_final(&w.lookup(&payment).await));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(w.port().cross_checked(), Some(number - 1));
    proxy.restore();
    w.read().await;
    assert!(!matches!(w.lookup(&payment).await, ChainStatus::Confirmed { .. }));
    assert!(w.port().counters().mismatches.load(Ordering::Relaxed) > 0);
    let list = w.port().movements(Network::Base, None, 100).await.unwrap();
    assert!(list.items.is_empty(), "{list:?}");
}

// Checks: an endpoint has no logs of its newest blocks yet. A payment and a plain transfer that it omitted are still
// found.
#[tokio::test]
async fn transfers_that_one_endpoint_leaves_out_are_found() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 2).await else {
        return;
    };
    w.open().await;
    proxy.falsify(|request, result| Some(if is_logs_request(request) { json!([]) } else { result }));
    let payment = w.payment(0);
    w.prepare(&payment).await;
    let submitted = w.submit(&payment);
    w.in_pool(1).await;
    // `transfer(address,uint256)`.
    let data = [
        &[0xa9, 0x05, 0x9c, 0xbb],
        &treasury().into_word()[..],
        &[0; 24],
        &VALUE.to_be_bytes(),
    ]
    .concat();
    w.send_usdc(key("stranger").address(), VALUE).await;
    w.submit_foreign("stranger", 0, w.token.address(), data.into()).await;
    w.anvil.mine(5).await;
    let head = w.node.header(BlockTag::Latest).await.unwrap().unwrap();
    until("the newest block is read", async || {
        (w.port().height() == Some(head.number)).then_some(())
    })
    .await;
    assert!(!submitted.is_finished(), "no row has it");
    proxy.restore();
    w.read().await;
    assert!(matches!(submitted.await.unwrap(), SubmitResult::Settled { .. }));
    assert!(is_final(&w.lookup(&payment).await));
    let list = w.port().movements(Network::Base, None, 100).await.unwrap();
    assert_eq!(list.items.len(), 2, "{list:?}");
}

// Checks: a safe or finalized block that only one endpoint reports has no effect, and does not prevent reorgs of the
// other.
#[tokio::test]
async fn one_endpoint_alone_moves_no_finality_level() {
    for place in 0..2 {
        let Some((mut w, proxy)) = behind_proxy(Anvil::start_with(32), 1).await else {
            return;
        };
        w.urls.rotate_left(place);
        w.finality = Depth::Safe;
        let latest = Arc::new(parking_lot::Mutex::new(Value::Null));
        let newest = latest.clone();
        proxy.falsify(move |request, result| {
            let tag = &request["params"][0];
            if request["method"] != "eth_getBlockByNumber" {
                return Some(result);
            }
            if tag == "latest" {
                *newest.lock() = result.clone();
            }
            let ahead = newest.lock().clone();
            let claims = (tag == "safe" || tag == "finalized") && !ahead.is_null();
            Some(if claims { ahead } else { result })
        });
        w.open().await;
        w.prepare(&w.payment(0)).await;
        let submitted = w.submit(&w.payment(0));
        w.mined(submitted).await;
        w.anvil.mine(3).await;
        w.read().await;
        assert!(!is_final(&w.lookup(&w.payment(0)).await));
        // Not finalized: it is replaced, and followed.
        let head = w.node.header(BlockTag::Latest).await.unwrap().unwrap();
        w.anvil.control("anvil_reorg", json!([2, []])).await;
        w.anvil.mine(1).await;
        until("the other branch is read", async || {
            (w.port().height() > Some(head.number)).then_some(())
        })
        .await;
        w.anvil.mine(70).await;
        until("it is safe by both", async || {
            is_final(&w.lookup(&w.payment(0)).await).then_some(())
        })
        .await;
    }
}

/// A clock that a test sets forward.
pub struct Shifted(SystemClock, AtomicU64);

impl Shifted {
    /// Opens the port with it.
    pub async fn open(w: &mut Harness) -> Arc<Self> {
        let clock = Arc::new(Self(SystemClock::default(), AtomicU64::new(0)));
        let transport = Arc::new(HttpTransport::new(client()));
        let store: Arc<dyn Store> = w.store.clone();
        let port = BaseSettlement::open(w.settings(), store, transport, clock.clone()).await;
        w.port = Some(Arc::new(port.unwrap()));
        w.read().await;
        clock
    }

    /// So far beyond the machine's clock.
    pub fn set(&self, ahead_ms: u64) {
        self.1.store(ahead_ms, Ordering::Relaxed);
    }
}

impl Clock for Shifted {
    fn now_ms(&self) -> u64 {
        self.0.now_ms() + self.1.load(Ordering::Relaxed)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        self.0.sleep(duration)
    }
}

// Checks: with one of two endpoints gone payments are confirmed but not final. After a minute no new one is accepted.
// The port recovers automatically.
#[tokio::test]
async fn single_endpoint_stops_finality_and_then_payments() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 2).await else {
        return;
    };
    let clock = Shifted::open(&mut w).await;
    proxy.falsify(|_, _| None);
    assert_eq!(
        w.port()
            .prepare(&w.payment(0))
            .await
            .map(|ready| matches!(ready, Preparation::Ready(_))),
        Ok(true)
    );
    let submitted = w.submit(&w.payment(0));
    assert!(matches!(
        w.mined(submitted).await,
        SubmitResult::Settled {
            finality: Finality::Confirmed,
            ..
        }
    ));
    w.anvil.mine(5).await;
    assert!(!is_final(&w.lookup(&w.payment(0)).await));
    assert!(w.port().accepts_payments());
    clock.1.store(61_000, Ordering::Relaxed);
    until("no payment is taken", async || {
        let refused = w.port().prepare(&w.payment(1)).await;
        let why = refused.err().map(|error| error.message);
        why.is_some_and(|why| why.contains("no two endpoints")).then_some(())
    })
    .await;
    assert!(!w.port().accepts_payments());
    proxy.restore();
    w.read().await;
    until("payments are taken", async || w.port().accepts_payments().then_some(())).await;
    assert!(is_final(&w.lookup(&w.payment(0)).await));
    w.prepare(&w.payment(1)).await;
    assert_eq!(w.balance(payer(1)).await, VALUE);
}

// Checks: the endpoints' chain was replaced or reset. An operator is notified, and no payment is accepted.
#[tokio::test]
async fn reset_chain_accepts_no_payment() {
    let Some(mut w) = Harness::closed(1).await else { return };
    w.anvil.mine(80).await;
    let clock = Shifted::open(&mut w).await;
    w.anvil.control("anvil_rollback", json!([75])).await;
    until("an operator is notified", async || {
        (w.port().counters().alarms.load(Ordering::Relaxed) > 0).then_some(())
    })
    .await;
    clock.1.store(31_000, Ordering::Relaxed);
    let refused = w.port().prepare(&w.payment(0)).await.unwrap_err();
    assert!(refused.message.contains("the newest blocks"), "{refused:?}");
    assert!(!w.port().accepts_payments());
}

/// Continues this block with `length` blocks at once that no other endpoint has.
pub fn fork(proxy: &Proxy, base: &purser_chains::evm::blocks::Header, length: u64) {
    let (from, root) = (base.number, base.hash);
    let time = base.timestamp;
    let hash = move |number: u64| match number == from {
        true => root,
        false => B256::left_padding_from(&[&[0xf0][..], &number.to_be_bytes()].concat()),
    };
    let header = move |number: u64| {
        json!({"number": format!("{number:#x}"), "hash": hex(hash(number)), "parentHash": hex(hash(number - 1)),
            "timestamp": format!("{:#x}", time + number - from)})
    };
    let invented = move |text: &Value| (from + 1..=from + length).find(|number| *text == hex(hash(*number)));
    proxy.falsify(move |request, result| {
        let params = &request["params"];
        let number = params[0]
            .as_str()
            .and_then(|text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok());
        Some(match request["method"].as_str().unwrap() {
            "eth_getBlockByNumber" if params[0] == "latest" => header(from + length),
            "eth_getBlockByNumber" => match number.filter(|number| *number > from) {
                Some(number) => header(number),
                None => result,
            },
            "eth_getBlockByHash" => invented(&params[0]).map_or(result, header),
            "eth_getLogs" if invented(&params[0]["blockHash"]).is_some() => json!([]),
            _ => result,
        })
    });
}

// Checks: the preferred endpoint of three reports its own chain, longer than any reorg that is followed. The other two
// outvote it, and payments settle meanwhile.
#[tokio::test]
async fn one_false_endpoint_of_three_has_no_effect() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 1).await else {
        return;
    };
    w.urls.push(w.anvil.url.replace("127.0.0.1", "localhost"));
    w.open().await;
    fork(&proxy, &w.node.header(BlockTag::Latest).await.unwrap().unwrap(), 150);
    let payment = w.payment(0);
    let submitted = w.submit(&payment);
    w.in_pool(1).await;
    w.anvil.mine(60).await;
    w.read().await;
    assert!(matches!(submitted.await.unwrap(), SubmitResult::Settled { .. }));
    until("the payment is final", async || {
        is_final(&w.lookup(&payment).await).then_some(())
    })
    .await;
    w.assert_settled_once(&[0]).await;
}

// Checks: the same with two endpoints: nothing is final until the endpoint is honest again.
#[tokio::test]
async fn chain_invented_by_one_endpoint_is_abandoned() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 1).await else {
        return;
    };
    w.open().await;
    let base = w.node.header(BlockTag::Latest).await.unwrap().unwrap();
    fork(&proxy, &base, 150);
    let submitted = w.submit(&w.payment(0));
    w.in_pool(1).await;
    w.anvil.mine(30).await;
    until("the other chain is read", async || {
        (w.port().height() > Some(base.number + 40)).then_some(())
    })
    .await;
    assert_eq!(w.port().cross_checked(), Some(base.number));
    proxy.restore();
    w.anvil.mine(60).await;
    w.read().await;
    assert!(matches!(submitted.await.unwrap(), SubmitResult::Settled { .. }));
    w.assert_settled_once(&[0]).await;
}

// Checks: one endpoint counts gas-key transactions that were never sent. Payments still settle, and no nonce is
// skipped.
#[tokio::test]
async fn one_endpoint_alone_cannot_skip_a_nonce() {
    for place in 0..2 {
        let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 2).await else {
            return;
        };
        w.urls.rotate_left(place);
        proxy.falsify(|request, result| {
            let count = |text: &Value| u64::from_str_radix(text.as_str()?.strip_prefix("0x")?, 16).ok();
            Some(match request["method"] == "eth_getTransactionCount" {
                true => json!(format!("{:#x}", count(&result).unwrap() + 1_000_000)),
                false => result,
            })
        });
        w.open().await;
        for n in 0..2 {
            w.prepare(&w.payment(n)).await;
            let submitted = w.submit(&w.payment(n));
            assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
        }
        w.assert_settled_once(&[0, 1]).await;
        let sent = w
            .node
            .transaction_count(key("gas").address(), BlockTag::Latest)
            .await
            .unwrap();
        assert_eq!(sent, w.port().counters().transactions.load(Ordering::Relaxed));
    }
}
