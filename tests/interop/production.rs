//! `mode = "production"` on Base and Solana of this machine, paid by unmodified clients.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use purser::system::{SystemClock, SystemEntropy};
use purser::wallet::payment::Circumstances;
use purser::wallet::{PaymentRequired, TestWallet};
use purser_actors::id::Network;
use purser_actors::port::Clock as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;

use crate::local_chains::{LocalChains, Production, until};
use crate::node::Node;
use crate::rpc_proxy::RpcProxy;
use crate::{NETWORKS, statuses, text};

pub const ORDER: &str = "/order-intl-card?amount=100";
/// Its price, in millionths of a USDC.
pub const PRICE: u64 = 103_800_000;

pub fn key(of: &str) -> [u8; 32] {
    Sha256::digest(of).into()
}

/// The wallet of a test, the same key on both chains.
pub async fn wallet(of: &str, production: &Production) -> TestWallet {
    let wallet = TestWallet::from_bytes(&key(of), &key(of)).unwrap();
    production.funded(&wallet).await;
    wallet
}

pub fn network(chain: &str) -> Network {
    Network::ALL
        .into_iter()
        .find(|network| network.name() == chain)
        .unwrap()
}

/// What a stock client needs to buy on a chain with this wallet.
pub fn buyer(of: &str, chain: &str, production: &Production) -> Value {
    let rpc = &production.chains.mainnet.url;
    json!({"client": "x402", "chain": chain, "key": hex::encode(key(of)), "cap": "$1000", "rpc": rpc})
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_clients_buy_on_real_chains_and_take_their_money_out() {
    // Aim: keys by `purser keys create`, one transfer a purchase on the chain; a cancelled order's credit can be withdrawn once
    // its payment is final; afterwards the books, the store and the chains agree.
    const OF: &str = "buys and withdraws";
    let Some(node) = Node::ready() else { return };
    let Some(mut production) = Production::start().await else {
        return;
    };
    let wallet = wallet(OF, &production).await;
    for (chain, _) in NETWORKS {
        let purser = &production.purser;
        let call = node.call(&purser.url(ORDER), &buyer(OF, chain, &production));
        assert_eq!(statuses(&call), [402, 200], "{call:#}");
        assert_eq!(crate::receipt(&call["headers"])["success"], true, "{call:#}");
        assert_eq!(production.treasury(chain).await, PRICE, "{chain}");

        let (token, order) = (
            text(&call["body"]["auth"]["id_token"]),
            &call["body"]["intl_card_order"],
        );
        cancel(&production, token, text(&order["card_id"])).await;
        withdraw(&production, token, 100).await;
        let address = wallet.address(network(chain));
        let left = 1_000_000_000 - PRICE + 100_000_000;
        assert_eq!(production.chains.holds(chain, &address).await, left);
        assert_eq!(production.treasury(chain).await, PRICE - 100_000_000);
    }
    let mpp = json!({"client": "mppx", "chain": "base", "key": hex::encode(key(OF)), "real": true});
    let call = node.call(&production.purser.url(ORDER), &mpp);
    assert_eq!(statuses(&call), [402, 200], "{call:#}");
    assert_eq!(production.treasury("base").await, 2 * PRICE - 100_000_000);

    every_figure_is_documented(&production, &["On the real chains"]).await;
    let proved = production.beside("verify", true);
    assert!(proved.status.success(), "{proved:?}");
    let refused = production.beside("verify", false);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("--config"), "{said}");
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}

/// docs/metrics.md names every metric with its labels, and in these sections none that does not exist. Gives what the service shows.
pub async fn every_figure_is_documented(production: &Production, sections: &[&str]) -> String {
    let page = production.figures().await;
    let document = include_str!("../../docs/metrics.md");
    let parts = document.split("\n## ");
    let shown = |part: &&str| sections.iter().any(|section| part.starts_with(section));
    let shown: Vec<&str> = parts.filter(shown).collect();
    assert_eq!(shown.len(), sections.len());
    let rows = shown.iter().flat_map(|part| part.lines());
    for row in rows.filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let labels = cells[3].split("`, `").filter(|label| !label.is_empty());
        let labels: Vec<&str> = labels.collect();
        let begins = format!("{}{}", cells[1], if labels.is_empty() { ' ' } else { '{' });
        let sample = page.lines().find(|line| line.starts_with(&begins));
        let sample = sample.unwrap_or_else(|| panic!("{} has no sample", cells[1]));
        let shown = sample
            .split(['{', ','])
            .filter_map(|part| Some(part.split_once("=\"")?.0));
        assert_eq!(shown.collect::<Vec<_>>(), labels, "{sample}");
    }
    for kind in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = kind.split(' ').next().unwrap();
        assert!(document.contains(&format!("| `{name}` |")), "{name} is not documented");
    }
    page
}

pub async fn cancel(production: &Production, token: &str, card: &str) {
    let purser = &production.purser;
    let request = purser.http.post(purser.url("/cancel-intl-order")).bearer_auth(token);
    let answer = request.json(&json!({"card_id": card})).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200, "{}", answer.text().await.unwrap());
}

/// Takes so many dollars out once they are there to be taken, and waits until they have left.
pub async fn withdraw(production: &Production, token: &str, dollars: u64) {
    let purser = &production.purser;
    until("the credit can be withdrawn", async || {
        let (status, body) = purser.bearer("/get-account-balance", token).await;
        assert_eq!(status, 200, "{body}");
        let available = body["available"].as_f64().unwrap();
        (available >= dollars as f64).then_some(())
    })
    .await;
    let request = purser.http.post(purser.url("/withdraw")).bearer_auth(token);
    let answer = request.json(&json!({"amount": dollars})).send().await.unwrap();
    let (status, body) = (answer.status().as_u16(), answer.json::<Value>().await.unwrap());
    assert_eq!(status, 202, "{body}");
    let path = format!(
        "/get-withdrawal-status?withdrawal_id={}",
        text(&body["withdrawal"]["id"])
    );
    until("the withdrawal's end", async || {
        let (_, body) = purser.bearer(&path, token).await;
        let state = text(&body["withdrawal"]["state"]).to_owned();
        assert_ne!(state, "failed", "{body}");
        (state == "complete").then_some(())
    })
    .await;
}

/// A number of the environment.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_signature_and_answer_settles_each_payment_once() {
    // Aim: whenever the process dies, the same payment presented again buys one thing by one transfer, on both chains. A third
    // of the kills of the sandbox's test, because each waits for two chains.
    const OF: &str = "is killed";
    let Some(mut production) = Production::start().await else {
        return;
    };
    let mut bought = [0; 2];
    for round in 0..(number("PURSER_KILLS", 6) / 3).max(1) {
        // A wallet a round: its money lasts.
        let wallet = wallet(&format!("{OF} {round}"), &production).await;
        let mut paid = Vec::new();
        for (n, (chain, _)) in NETWORKS.into_iter().enumerate() {
            paid.push((n, signed(&production, &wallet, network(chain)).await));
        }
        let sending = paid.iter().map(|(_, payment)| {
            let (http, url, payment) = (
                production.purser.http.clone(),
                production.purser.url(ORDER),
                payment.clone(),
            );
            tokio::spawn(async move { http.get(url).header("payment-signature", payment).send().await })
        });
        let sending: Vec<_> = sending.collect();
        // From before the claim is durable to after both have settled.
        let wait = u64::from_be_bytes(key(&format!("{OF} {round}"))[..8].try_into().unwrap()) % 2_500;
        tokio::time::sleep(Duration::from_millis(wait)).await;
        production.purser.run();
        for task in sending {
            let _ = task.await.unwrap();
        }
        for (n, payment) in paid {
            delivered(&production, &payment).await;
            bought[n] += 1;
            let chain = NETWORKS[n].0;
            assert_eq!(
                production.treasury(chain).await,
                bought[n] * PRICE,
                "{chain} after {round}, {wait} ms"
            );
        }
    }
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}

/// A payment for an order.
pub async fn signed(production: &Production, wallet: &TestWallet, network: Network) -> String {
    let (status, headers, body) = production.purser.get(ORDER, &[]).await;
    assert_eq!(status, 402, "{body}");
    let required = PaymentRequired::from_header(headers["payment-required"].as_bytes()).unwrap();
    let offer = required.choose(Some(network)).unwrap();
    let circumstances = Circumstances {
        now: SystemClock.now(),
        entropy: &SystemEntropy,
        blockhash: None,
    };
    wallet.pay(&required, &offer, &circumstances).unwrap()
}

/// Presents it until it has bought what it is for.
async fn delivered(production: &Production, payment: &str) {
    assert_eq!(ended(production, payment).await, 200);
}

/// Presents it until the answer is final, and says which it is: 200 or 402.
pub async fn ended(production: &Production, payment: &str) -> u16 {
    let headers = [("payment-signature", payment)];
    until("a final answer", async || {
        let (status, _, body) = production.purser.get(ORDER, &headers).await;
        assert!(matches!(status, 200 | 202 | 402 | 503), "{status}: {body}");
        matches!(status, 200 | 402).then_some(status)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn case_86_payments_settle_once_through_endpoints_that_fail_and_lie() {
    // Aim: behind two endpoints a chain that refuse, hang, lose answers and drop transactions, one of which also says what is
    // not so, each payment buys once by one transfer or is declined without one, and the books agree with the chains.
    // Each seed has chains of its own and mostly waits for them.
    const AT_ONCE: usize = 4;
    let seeds = stream::iter(0..number("PURSER_RPC_SEEDS", 2));
    let runtime = Handle::current();
    let started = seeds.map(|seed| {
        let runtime = runtime.clone();
        tokio::task::spawn_blocking(move || runtime.block_on(behind_faulty_endpoints(seed)))
    });
    let mut ran = started.buffer_unordered(AT_ONCE);
    while let Some(seed) = ran.next().await {
        seed.unwrap();
    }
}

async fn behind_faulty_endpoints(seed: u64) {
    let Some(chains) = LocalChains::start().await else {
        return;
    };
    let mut proxies = Vec::new();
    let mut endpoints = [Vec::new(), Vec::new()];
    for (chain, node) in chains.urls().into_iter().enumerate() {
        for n in 0..2 {
            let proxy = RpcProxy::start(&node, seed * 8 + chain as u64 * 2 + n, n == seed % 2).await;
            endpoints[chain].push(proxy.url.clone());
            proxies.push(proxy);
        }
    }
    let mut production = Production::start_on(chains, &endpoints).await;
    settles_once(&production, &proxies, seed).await;
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}

async fn settles_once(production: &Production, proxies: &[RpcProxy], seed: u64) {
    const WALLETS: usize = 4;
    let mut paid = Vec::new();
    for n in 0..WALLETS {
        let wallet = wallet(&format!("faults {seed} {n}"), production).await;
        for (chain, _) in NETWORKS {
            paid.push((chain, signed(production, &wallet, network(chain)).await));
        }
    }
    proxies.iter().for_each(|proxy| proxy.fail(true));
    let first = paid.iter().map(|(_, payment)| async move {
        let headers = [("payment-signature", payment.as_str())];
        production.purser.get(ORDER, &headers).await.0
    });
    let first = futures_util::future::join_all(first).await;
    let known = |status: &u16| matches!(status, 200 | 202 | 402 | 503);
    assert!(first.iter().all(known), "seed {seed}: {first:?}");
    // The service reads the chains all the time.
    until("each endpoint has failed", async || {
        proxies.iter().all(|proxy| proxy.faults() > 0).then_some(())
    })
    .await;
    proxies.iter().for_each(|proxy| proxy.fail(false));
    for (chain, _) in NETWORKS {
        let mut bought = 0;
        for (_, payment) in paid.iter().filter(|(on, _)| *on == chain) {
            bought += u64::from(ended(production, payment).await == 200);
        }
        assert_eq!(production.treasury(chain).await, bought * PRICE, "seed {seed}: {chain}");
    }
}
