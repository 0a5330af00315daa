//! `mode = "production"` on Base and Solana of this machine, paid by unmodified clients.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use purser::system::{SystemClock, SystemEntropy};
use purser::wallet::payment::SigningContext;
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
async fn stock_clients_buy_and_withdraw_on_real_chains() {
    // Checks: with keys from `purser keys create`, each purchase is one transfer on chain. The credit of a cancelled
    // order can be withdrawn once its payment is final. Afterwards the ledger, the store and the chains agree.
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
        assert_eq!(production.chains.usdc_balance(chain, &address).await, left);
        assert_eq!(production.treasury(chain).await, PRICE - 100_000_000);
    }
    let mpp = json!({"client": "mppx", "chain": "base", "key": hex::encode(key(OF)), "real": true});
    let call = node.call(&production.purser.url(ORDER), &mpp);
    assert_eq!(statuses(&call), [402, 200], "{call:#}");
    assert_eq!(production.treasury("base").await, 2 * PRICE - 100_000_000);

    assert_metrics_documented(&production, &["On the real chains"]).await;
    let proved = production.run_command_beside("verify", true);
    assert!(proved.status.success(), "{proved:?}");
    let refused = production.run_command_beside("verify", false);
    let error_output = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && error_output.contains("--config"),
        "{error_output}"
    );
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}

/// docs/metrics.md names every metric with its labels, and these sections name no others. Returns the service's output.
pub async fn assert_metrics_documented(production: &Production, sections: &[&str]) -> String {
    let page = production.metrics().await;
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

/// Until this number of dollars can be withdrawn.
async fn can_withdraw(production: &Production, token: &str, dollars: u64) {
    until("the credit can be withdrawn", async || {
        let (status, body) = production.purser.bearer("/get-account-balance", token).await;
        assert_eq!(status, 200, "{body}");
        let available = body["available"].as_f64().unwrap();
        (available >= dollars as f64).then_some(())
    })
    .await;
}

/// Until the withdrawal is complete.
async fn completed(production: &Production, token: &str, id: &str) {
    let path = format!("/get-withdrawal-status?withdrawal_id={id}");
    until("the withdrawal's end", async || {
        let (_, body) = production.purser.bearer(&path, token).await;
        let state = text(&body["withdrawal"]["state"]).to_owned();
        assert_ne!(state, "failed", "{body}");
        (state == "complete").then_some(())
    })
    .await;
}

/// Withdraws this number of dollars once they are available, and waits until they have left.
pub async fn withdraw(production: &Production, token: &str, dollars: u64) {
    can_withdraw(production, token, dollars).await;
    let purser = &production.purser;
    let request = purser.http.post(purser.url("/withdraw")).bearer_auth(token);
    let answer = request.json(&json!({"amount": dollars})).send().await.unwrap();
    let (status, body) = (answer.status().as_u16(), answer.json::<Value>().await.unwrap());
    assert_eq!(status, 202, "{body}");
    completed(production, token, text(&body["withdrawal"]["id"])).await;
}

/// A number of the environment.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_settles_once_when_killed_before_the_response() {
    // Checks: whenever the process is killed, presenting the same payment again buys once with one transfer, on both
    // chains. It kills a third as often as the sandbox's test, because each kill waits for two chains.
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

#[tokio::test(flavor = "multi_thread")]
async fn withdrawal_is_paid_once_when_killed() {
    // Checks: whenever the process is killed, a withdrawal that is repeated with its key leaves the treasury once, on
    // both chains. Each round's withdrawals are still pending at the next kill.
    const OF: &str = "withdraws and is killed";
    const DOLLARS_OF_AN_ORDER: u64 = 100;
    let rounds = (number("PURSER_KILLS", 6) / 3).max(1);
    let orders = rounds.div_ceil(DOLLARS_OF_AN_ORDER);
    let Some(mut production) = Production::start().await else {
        return;
    };
    let wallet = wallet(OF, &production).await;
    let mut tokens = Vec::new();
    for (chain, _) in NETWORKS {
        let token = credited(&production, &wallet, chain, orders).await;
        can_withdraw(&production, &token, rounds).await;
        tokens.push(token);
    }
    let request = |production: &Production, token: &str, round: u64| {
        let request = production.purser.http.post(production.purser.url("/withdraw"));
        let request = request.bearer_auth(token).json(&json!({"amount": 1}));
        request.header("idempotency-key", format!("{OF} {round}")).send()
    };
    let mut withdrawals = Vec::new();
    for round in 0..rounds {
        let sending = tokens
            .iter()
            .map(|token| tokio::spawn(request(&production, token, round)));
        let sending: Vec<_> = sending.collect();
        let wait = u64::from_be_bytes(key(&format!("{OF} {round}"))[..8].try_into().unwrap()) % 2_000;
        tokio::time::sleep(Duration::from_millis(wait)).await;
        production.purser.run();
        for task in sending {
            let _ = task.await.unwrap();
        }
        for token in &tokens {
            let body = until("the withdrawal is accepted", async || {
                let answer = request(&production, token, round).await.unwrap();
                let (status, body) = (answer.status().as_u16(), answer.json::<Value>().await.unwrap());
                assert!(matches!(status, 202 | 503), "{status}: {body}");
                (status == 202).then_some(body)
            })
            .await;
            withdrawals.push((token, text(&body["withdrawal"]["id"]).to_owned()));
        }
    }
    for (token, id) in &withdrawals {
        completed(&production, token, id).await;
    }
    let (paid, withdrawn) = (orders * PRICE, rounds * 1_000_000);
    for (chain, _) in NETWORKS {
        let holds = production
            .chains
            .usdc_balance(chain, &wallet.address(network(chain)))
            .await;
        assert_eq!(holds, 1_000_000_000 - paid + withdrawn, "{chain}");
        assert_eq!(production.treasury(chain).await, paid - withdrawn, "{chain}");
    }
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}

/// Buys and cancels this number of orders, so that their amount is credited. Returns a token of the account.
async fn credited(production: &Production, wallet: &TestWallet, chain: &str, orders: u64) -> String {
    let mut token = String::new();
    for _ in 0..orders {
        let payment = signed(production, wallet, network(chain)).await;
        let headers = [("payment-signature", payment.as_str())];
        let (status, _, body) = production.purser.get(ORDER, &headers).await;
        assert_eq!(status, 200, "{body}");
        text(&body["auth"]["id_token"]).clone_into(&mut token);
        cancel(production, &token, text(&body["intl_card_order"]["card_id"])).await;
    }
    token
}

/// A payment for an order.
pub async fn signed(production: &Production, wallet: &TestWallet, network: Network) -> String {
    let (status, headers, body) = production.purser.get(ORDER, &[]).await;
    assert_eq!(status, 402, "{body}");
    let required = PaymentRequired::from_header(headers["payment-required"].as_bytes()).unwrap();
    let offer = required.choose(Some(network)).unwrap();
    let circumstances = SigningContext {
        now: SystemClock.now(),
        entropy: &SystemEntropy,
        blockhash: None,
    };
    wallet.pay(&required, &offer, &circumstances).unwrap()
}

/// Presents it until it has bought what it is for.
async fn delivered(production: &Production, payment: &str) {
    assert_eq!(ended(production, ORDER, payment).await, 200);
}

/// Presents it until the answer is final, and says which it is: 200 or 402.
pub async fn ended(production: &Production, path: &str, payment: &str) -> u16 {
    let headers = [("payment-signature", payment)];
    until("a final answer", async || {
        let (status, _, body) = production.purser.get(path, &headers).await;
        assert!(matches!(status, 200 | 202 | 402 | 503), "{status}: {body}");
        matches!(status, 200 | 402).then_some(status)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn case_86_payments_settle_once_through_faulty_endpoints() {
    // Checks: both endpoints of a chain reject, hang, lose responses and drop transactions, and one also falsifies
    // responses. Each payment buys once with one transfer or is declined without one, and the ledger matches the
    // chains. Each seed starts its own chains and mostly waits for them.
    const MAX_CONCURRENT_PAYMENTS: usize = 4;
    let seeds = stream::iter(0..number("PURSER_RPC_SEEDS", 2));
    let runtime = Handle::current();
    let started = seeds.map(|seed| {
        let runtime = runtime.clone();
        tokio::task::spawn_blocking(move || runtime.block_on(behind_faulty_endpoints(seed)))
    });
    let mut ran = started.buffer_unordered(MAX_CONCURRENT_PAYMENTS);
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
    assert_settles_once(&production, &proxies, seed).await;
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}

async fn assert_settles_once(production: &Production, proxies: &[RpcProxy], seed: u64) {
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
            bought += u64::from(ended(production, ORDER, payment).await == 200);
        }
        assert_eq!(production.treasury(chain).await, bought * PRICE, "seed {seed}: {chain}");
    }
}
