//! Reorganisations of Base under the whole service, before and after a payment is final: blocks are replaced by a seed
//! while payments, cancellations and withdrawals are in flight.

use purser::wallet::TestWallet;
use purser_actors::id::Network;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::local_chains::{LocalChains, Production, until};
use crate::production::{ORDER, PRICE, cancel, ended, number, signed, wallet};
use crate::text;

/// `safe` is this number of blocks behind, and `finalized` twice as many. No reorg here is deeper.
const SAFE: u64 = 16;
/// What the settings take for final: reorganisations are less deep and deeper.
const FINAL: &str = "3";
const MAX_REORG_DEPTH: u64 = 10;
/// How long the ledger and the providers' lists may disagree.
const GRACE_MS: u64 = 5_000;
/// Of each wallet, in millionths of a USDC.
const INITIAL_BALANCE: u64 = 1_000_000_000;
const WITHDRAWN: u64 = 60;

/// What becomes of the transactions of the replaced blocks.
#[derive(Clone, Copy, Debug)]
enum After {
    Dropped,
    /// In the same blocks of the new branch.
    Same,
    /// All of them in its last block.
    LastBlock,
    /// The first half of them, in its first block.
    Half,
    /// The chain is shorter, and goes on from there.
    Shorter,
}

/// Replaces blocks of a chain, and says by which choices.
struct Forks<'a> {
    chains: &'a LocalChains,
    seed: u64,
    made: u64,
    /// Blocks up to this one stay: they have what wallets began with.
    floor: u64,
    base_rpc_url: String,
}

impl Forks<'_> {
    /// Below `n`, by the seed.
    fn dice(&mut self, n: u64) -> u64 {
        self.made += 1;
        let hash = Sha256::digest(format!("{} {}", self.seed, self.made));
        u64::from_be_bytes(hash[..8].try_into().unwrap()) % n
    }

    async fn height(&self) -> u64 {
        let height = self.chains.base("eth_blockNumber", json!([])).await;
        u64::from_str_radix(text(&height).trim_start_matches("0x"), 16).unwrap()
    }

    /// Waits for this number of further blocks.
    async fn blocks(&self, more: u64) {
        let before = self.height().await;
        until("blocks are made", async || {
            (self.height().await >= before + more).then_some(())
        })
        .await;
    }

    /// The transactions of the newest blocks, each with the place of its block among them.
    async fn transactions(&self, head: u64, depth: u64) -> Vec<(u64, Value)> {
        let mut all = Vec::new();
        for place in 0..depth {
            let number = format!("{:#x}", head - depth + 1 + place);
            let block = self.chains.base("eth_getBlockByNumber", json!([number, false])).await;
            for hash in block["transactions"].as_array().unwrap() {
                let raw = self.chains.base("eth_getRawTransactionByHash", json!([hash])).await;
                all.push((place, raw));
            }
        }
        all
    }

    async fn fork(&mut self) {
        let depth = 1 + self.dice(MAX_REORG_DEPTH);
        let after = [
            After::Dropped,
            After::Same,
            After::LastBlock,
            After::Half,
            After::Shorter,
        ][self.dice(5) as usize];
        self.replace(depth, after).await;
    }

    async fn replace(&mut self, depth: u64, after: After) {
        // No block in between.
        self.chains.base("evm_setIntervalMining", json!([0])).await;
        let head = self.height().await;
        let depth = depth.min(head.saturating_sub(self.floor));
        self.base_rpc_url += &format!(" {depth} {after:?};");
        if depth > 0 {
            let all = self.transactions(head, depth).await;
            let half = all.len() / 2;
            let included: Vec<(u64, Value)> = match after {
                After::Dropped | After::Shorter => Vec::new(),
                After::Same => all,
                After::LastBlock => all.into_iter().map(|(_, raw)| (depth - 1, raw)).collect(),
                After::Half => all.into_iter().take(half).map(|(_, raw)| (0, raw)).collect(),
            };
            let included: Vec<Value> = included.into_iter().map(|(place, raw)| json!([raw, place])).collect();
            match after {
                After::Shorter => self.chains.base("anvil_rollback", json!([depth])).await,
                _ => self.chains.base("anvil_reorg", json!([depth, included])).await,
            };
        }
        self.chains.base("evm_setIntervalMining", json!([1])).await;
    }
}

/// The service on a chain whose blocks may be replaced, and wallets whose money is older than any block that is.
async fn start(of: &str, wallets: usize) -> Option<(Production, Vec<TestWallet>)> {
    let chains = LocalChains::start_with(SAFE).await?;
    let both = |url: String| vec![url.replace("127.0.0.1", "localhost"), url];
    let endpoints = chains.urls().map(both);
    let production = Production::start_at(chains, &endpoints, FINAL, GRACE_MS).await;
    let mut all = Vec::new();
    for n in 0..wallets {
        all.push(wallet(&format!("{of} {n}"), &production).await);
    }
    Some((production, all))
}

fn forks(production: &Production, seed: u64, floor: u64) -> Forks<'_> {
    Forks {
        chains: &production.chains,
        seed,
        made: 0,
        floor,
        base_rpc_url: format!("seed {seed}:"),
    }
}

/// Buys an order: the holder's token, and the order's id.
async fn bought(production: &Production, wallet: &TestWallet) -> (String, String) {
    let payment = signed(production, wallet, Network::Base).await;
    let headers = [("payment-signature", payment.as_str())];
    let (status, _, body) = production.purser.get(ORDER, &headers).await;
    assert_eq!(status, 200, "{body}");
    let (token, order) = (&body["auth"]["id_token"], &body["intl_card_order"]["card_id"]);
    (text(token).to_owned(), text(order).to_owned())
}

/// Asks for a withdrawal until it is taken on; its id.
async fn request_withdrawal(production: &Production, token: &str) -> String {
    let purser = &production.purser;
    until("the withdrawal is taken on", async || {
        let request = purser.http.post(purser.url("/withdraw")).bearer_auth(token);
        let answer = request.json(&json!({"amount": WITHDRAWN})).send().await.unwrap();
        let (status, body) = (answer.status().as_u16(), answer.json::<Value>().await.unwrap());
        // Not available yet, or not final in the treasury.
        assert!(matches!(status, 202 | 400 | 402 | 409 | 503), "{status}: {body}");
        (status == 202).then(|| text(&body["withdrawal"]["id"]).to_owned())
    })
    .await
}

async fn complete(production: &Production, token: &str, id: &str) {
    let path = format!("/get-withdrawal-status?withdrawal_id={id}");
    until("the withdrawal's end", async || {
        let (_, body) = production.purser.bearer(&path, token).await;
        let state = text(&body["withdrawal"]["state"]).to_owned();
        assert_ne!(state, "failed", "{body}");
        (state == "complete").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_08_purchase_and_withdrawal_move_money_once_across_reorgs() {
    // Checks: reorgs of 1 to 10 blocks, three of them final by the settings, drop, reorder and shorten blocks while
    // payments, cancellations and withdrawals are pending. Each transaction that is still valid is included again,
    // once. At the end the chain has one transfer per purchase and withdrawal, and ledger, store and lists agree.
    const WALLETS: usize = 3;
    for seed in 0..number("PURSER_REORG_SEEDS", 2) {
        let Some((mut production, wallets)) = start(&format!("reorganised {seed}"), WALLETS).await else {
            return;
        };
        let funded = forks(&production, seed, 0).height().await;
        let mut forks = forks(&production, seed, funded + 1);
        forks.blocks(2).await;
        let mut held = Vec::new();
        for wallet in &wallets {
            held.push(bought(&production, wallet).await);
        }
        in_flight(&production, &wallets, &held, &mut forks).await;
        withdrawn(&production, &held, &mut forks).await;

        // Nothing is replaced any more.
        let node = forks.base_rpc_url.clone();
        let out = WITHDRAWN * 1_000_000;
        let all = WALLETS as u64;
        until("all is on the chain again", async || {
            let treasury = production.treasury("base").await;
            (treasury == all * (2 * PRICE - out)).then_some(())
        })
        .await;
        forks.blocks(SAFE + 1).await;
        assert_eq!(production.treasury("base").await, all * (2 * PRICE - out), "{node}");
        for wallet in &wallets {
            let has = production
                .chains
                .usdc_balance("base", &wallet.address(Network::Base))
                .await;
            assert_eq!(has, INITIAL_BALANCE - 2 * PRICE + out, "{node}");
        }
        production.purser.stop().await;
        // What was final by the settings and was replaced may be on the chain again by another transaction: it is the
        // same transfer.
        for command in ["verify", "reconcile"] {
            let done = production.command(&[command, "--json"]);
            let report = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success(), "{command} after {node}: {report}");
        }
    }
}

/// A second purchase of each wallet, and the cancellation of its first, while blocks are replaced.
async fn in_flight(production: &Production, wallets: &[TestWallet], held: &[(String, String)], forks: &mut Forks<'_>) {
    let mut payments = Vec::new();
    for wallet in wallets {
        payments.push(signed(production, wallet, Network::Base).await);
    }
    let sending = payments.iter().map(|payment| {
        let (http, url) = (production.purser.http.clone(), production.purser.url(ORDER));
        let payment = payment.clone();
        tokio::spawn(async move { http.get(url).header("payment-signature", payment).send().await })
    });
    let sending: Vec<_> = sending.collect();
    for (n, (token, order)) in held.iter().enumerate() {
        let more = forks.dice(3);
        forks.blocks(more).await;
        forks.fork().await;
        cancel(production, token, order).await;
        if n == 0 {
            forks.blocks(1).await;
            forks.fork().await;
        }
    }
    for task in sending {
        let status = task.await.unwrap().unwrap().status().as_u16();
        assert!(matches!(status, 200 | 202 | 503), "{status}, {}", forks.base_rpc_url);
    }
    for payment in &payments {
        assert_eq!(ended(production, ORDER, payment).await, 200, "{}", forks.base_rpc_url);
    }
}

/// A withdrawal of each holder, while blocks are replaced, of those in which it is complete too.
async fn withdrawn(production: &Production, held: &[(String, String)], forks: &mut Forks<'_>) {
    let mut asked = Vec::new();
    for (token, _) in held {
        asked.push(request_withdrawal(production, token).await);
        let more = forks.dice(3);
        forks.blocks(more).await;
        forks.fork().await;
    }
    for (id, (token, _)) in asked.iter().zip(held) {
        complete(production, token, id).await;
    }
    forks.fork().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_08_34_reorg_beyond_finality_reports_exactly_the_lost_payments() {
    // Checks: a reorg drops two payments that are final by the settings, and one payer has spent its money. The other
    // payment is included again automatically. `purser verify` and `purser reconcile` report exactly the missing one.
    const OF: &str = "reorg beyond finality";
    let Some((mut production, wallets)) = start(OF, 2).await else {
        return;
    };
    let funded = forks(&production, 0, 0).height().await;
    let mut forks = forks(&production, 0, funded + 1);
    forks.blocks(2).await;
    let before = forks.height().await;
    let mut tokens = Vec::new();
    for wallet in &wallets {
        tokens.push(bought(&production, wallet).await.0);
    }
    // Three blocks behind the payments' own: final.
    forks.blocks(4).await;
    assert_eq!(production.treasury("base").await, 2 * PRICE);
    let depth = forks.height().await - before;
    forks.replace(depth, After::Dropped).await;
    let [poor, other] = [&wallets[0], &wallets[1]].map(|wallet| wallet.address(Network::Base));
    production.chains.set_base_usdc(&poor, 1).await;
    until("the other payment is on the chain again", async || {
        (production.chains.usdc_balance("base", &other).await == INITIAL_BALANCE - PRICE).then_some(())
    })
    .await;
    forks.blocks(SAFE + 1).await;
    assert_eq!(production.treasury("base").await, PRICE);
    let (status, paid) = production.purser.bearer("/list-payments", &tokens[0]).await;
    assert_eq!(status, 200, "{paid}");
    let taken = text(&paid["payments"][0]["payment_id"]).to_owned();
    production.purser.stop().await;
    let proved = production.command(&["verify", "--json"]);
    assert!(!proved.status.success());
    let report: Value = serde_json::from_slice(&proved.stdout).unwrap();
    let found: Vec<_> = report["problems"].as_array().unwrap().iter().collect();
    let named: Vec<_> = found
        .iter()
        .map(|one| (text(&one["rule"]), text(&one["subject"])))
        .collect();
    assert_eq!(named, [("chain.transfer_missing", taken.as_str())], "{report:#}");
    let compared = production.command(&["reconcile", "--json"]);
    assert!(!compared.status.success());
    let report: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let differ = report["discrepancies"].as_array().unwrap().iter();
    let differ: Vec<_> = differ.map(|one| (text(&one["kind"]), text(&one["subject"]))).collect();
    assert_eq!(differ, [("missing_deposit", taken.as_str())], "{report:#}");
}
