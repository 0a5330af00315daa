//! Two endpoints of one chain that fail by a seed; one of them also lies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use purser_chains::evm::multicall::{Group, Stage};
use purser_chains::evm::nonces::SendReply;
use purser_chains::evm::tx::SignedTransaction;
use purser_chains::rpc::{
    BoxFuture, EndpointSettings, EndpointUrl, HttpTransport, Response, RpcPool, SystemClock, Transport, TransportError,
};
use serde_json::{Value, json};

use crate::base::anvil::client;
use crate::base::harness::{Harness, hex};

// SplitMix64.
struct Random(AtomicU64);

impl Random {
    fn below(&self, bound: u64) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

struct Faults {
    inner: HttpTransport,
    random: Random,
    active: Arc<AtomicBool>,
}

impl Faults {
    // What the request says of itself, instead of the chain.
    fn falsify(&self, url: &EndpointUrl, request: &Value) -> Option<Value> {
        // One endpoint only: a proof does not withstand two false endpoints that agree.
        if !url.host().starts_with("localhost") || self.random.below(100) >= 15 {
            return None;
        }
        let reply = |result: Value| Some(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
        let fail = |text: &str| {
            let error = json!({"code": -32000, "message": text});
            Some(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
        };
        match request["method"].as_str() {
            Some("eth_sendRawTransaction") => match self.random.below(4) {
                0 => fail("already known"),
                1 => fail("replacement transaction underpriced"),
                2 => fail("nonce too low"),
                _ => {
                    // Accepts and forgets.
                    let bytes = hex::decode(&request["params"][0].as_str()?[2..]).ok()?;
                    let hash = SignedTransaction::parse(&bytes).ok()?.hash;
                    reply(hex(hash))
                }
            },
            Some("eth_getTransactionReceipt" | "eth_getBlockByNumber") => reply(Value::Null),
            Some(_) => None,
            None => request.as_array().map(|calls| {
                let null = |call: &Value| json!({"jsonrpc": "2.0", "id": call["id"], "result": null});
                calls.iter().map(null).collect()
            }),
        }
    }

    async fn exchange(
        &self,
        url: &EndpointUrl,
        body: Vec<u8>,
        timeout: Duration,
        max_response_bytes: usize,
    ) -> Result<Response, TransportError> {
        let forward = |body| self.inner.post(url, body, timeout, max_response_bytes);
        if !self.active.load(Ordering::Relaxed) {
            return forward(body).await;
        }
        let request: Value = serde_json::from_slice(&body).unwrap();
        let answer = |status, retry_after, body: String| {
            Ok(Response {
                status,
                retry_after,
                body: body.into_bytes(),
            })
        };
        if let Some(lie) = self.falsify(url, &request) {
            return answer(200, None, lie.to_string());
        }
        match self.random.below(40) {
            0 => Err(TransportError::Unreachable("refused".to_owned())),
            1 => answer(429, Some(Duration::ZERO), String::new()),
            2 => answer(502, None, "<html>".to_owned()),
            // Executed, and the answer is lost.
            3 => forward(body).await.and(Err(TransportError::Timeout)),
            _ => forward(body).await,
        }
    }
}

impl Transport for Faults {
    fn post<'a>(
        &'a self,
        url: &'a EndpointUrl,
        body: Vec<u8>,
        timeout: Duration,
        max_response_bytes: usize,
    ) -> BoxFuture<'a, Result<Response, TransportError>> {
        Box::pin(self.exchange(url, body, timeout, max_response_bytes))
    }
}

fn faulty_pool(url: &str, seed: u64, active: Arc<AtomicBool>) -> RpcPool {
    let urls = [url.to_owned(), url.replace("127.0.0.1", "localhost")];
    let settings = urls.iter().map(|url| EndpointSettings {
        rate: 10_000,
        burst: 10_000,
        ..EndpointSettings::new(EndpointUrl::parse(url).unwrap())
    });
    let transport = Faults {
        inner: HttpTransport::new(client()),
        random: Random(AtomicU64::new(seed)),
        active,
    };
    RpcPool::new(
        settings.collect(),
        Arc::new(transport),
        Arc::new(SystemClock::default()),
    )
    .unwrap()
}

async fn cause_faults(h: &Harness, random: &Random) {
    match random.below(8) {
        0 => {
            let depth = 1 + random.below(6);
            h.anvil.control("anvil_reorg", json!([depth, []])).await;
        }
        1 => {
            let base_fee = [1_000_000_u64, 50_000_000, 5_000_000_000][random.below(3) as usize];
            h.anvil
                .control("anvil_setNextBlockBaseFeePerGas", json!([hex(base_fee)]))
                .await;
        }
        2 => {
            let rows: Vec<_> = h.rows.values().filter_map(|row| row.current()).collect();
            if let Some(attempt) = rows.get(random.below(4) as usize) {
                h.anvil
                    .control("anvil_dropTransaction", json!([hex(attempt.hash)]))
                    .await;
            }
        }
        _ => {}
    }
}

// Checks: refused, lost, limited and garbled answers of both endpoints, lies of one, reorganisations, forgotten transactions
// and a base fee that jumps: every payment settles by exactly one movement, and no gap or row stays.
#[tokio::test]
async fn payments_settle_once_through_faulty_endpoints_for_every_seed() {
    let (mut replies, mut removed) = (Vec::new(), 0);
    for seed in 0..12 {
        let active = Arc::new(AtomicBool::new(false));
        let endpoints = |url: &str| faulty_pool(url, seed, active.clone());
        let Some(mut h) = Harness::start_over(16, endpoints).await else {
            return;
        };
        h.anvil.mine(10).await;
        h.step(1_000).await;
        active.store(true, Ordering::Relaxed);
        let random = Random(AtomicU64::new(seed + 1_000));
        let mut waiting: Vec<usize> = (0..16).collect();
        for step in 0..100 {
            if step == 50 {
                active.store(false, Ordering::Relaxed);
                h.anvil
                    .control("anvil_setNextBlockBaseFeePerGas", json!(["0xf4240"]))
                    .await;
            }
            if step < 50 {
                cause_faults(&h, &random).await;
            }
            for (payments, _) in std::mem::take(&mut h.released) {
                waiting.extend(
                    payments
                        .into_iter()
                        .filter(|payment| h.movements_of(*payment).is_empty()),
                );
            }
            let size = waiting.len().min(1 + random.below(4) as usize);
            if size > 0 && h.manager.in_flight() < 8 {
                let payments: Vec<usize> = waiting.drain(..size).collect();
                let gas_limit = h.gas.batch_limit(size.max(2));
                h.send(&Group {
                    payments,
                    stage: Stage::First,
                    gas_limit,
                })
                .await;
            }
            if random.below(4) > 0 {
                h.anvil.mine(1).await;
            }
            // A step that fails is made again.
            let _ = h.try_step(3_000).await;
        }
        assert_eq!(waiting, [0; 0], "seed {seed}");
        h.assert_settled_once(&(0..16).collect::<Vec<_>>()).await;
        replies.append(&mut h.replies);
        removed += h.removed_blocks;
    }
    // The faults have taken place.
    use SendReply::{Accepted, AlreadyKnown, NonceTooLow, ReplacementUnderpriced, Unknown};
    for reply in [Accepted, AlreadyKnown, NonceTooLow, ReplacementUnderpriced, Unknown] {
        assert!(replies.contains(&reply), "{reply:?}");
    }
    assert!(removed > 50, "{removed}");
}
