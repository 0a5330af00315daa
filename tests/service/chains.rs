//! The configured chains: several fee payers in the sandbox, and the checks of real chains when production starts.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;

use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::identity::key_file;
use purser::payment::{BaseChain, SolanaChain};
use purser::system::{SystemClock, SystemEntropy};
use purser::vault::Vault;
use purser::wallet::TestWallet;
use purser_actors::id::{Network, Wallet};
use purser_actors::port::Clock as _;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::{Host, text};
use super::http::{ServiceClient, send, until};

const CARD: &str = "/get-card?amount=5";

/// The fee payer of the current challenge.
async fn challenge_fee_payer(site: &ServiceClient<'_>) -> String {
    let answer = site.get(CARD, &[]).await;
    let header = STANDARD.decode(answer.header("payment-required").unwrap()).unwrap();
    let challenge: Value = serde_json::from_slice(&header).unwrap();
    challenge["accepts"][1]["extra"]["feePayer"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn fee_payers_share_payments_in_flight() {
    // Checks: While a payment of the first fee payer is in flight, challenges name the second. Each payment is settled
    // by the fee payer it names. Afterwards challenges name the first again.
    let host = Host::new().with("PURSER_SANDBOX__FEE_PAYERS", "2");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let first = challenge_fee_payer(&site).await;
    site.chain_fault(json!({"fault": "hold"})).await;
    let paid = async |site: &ServiceClient<'_>| {
        let payment = Agent::new(Network::Solana).payment(site, CARD).await;
        site.request("GET", CARD).header("payment-signature", payment)
    };
    let mut calls = vec![tokio::spawn(send(paid(&site).await))];
    let second = until("another fee payer", async || {
        let now = challenge_fee_payer(&site).await;
        (now != first).then_some(now)
    })
    .await;
    calls.push(tokio::spawn(send(paid(&site).await)));
    until("as much in flight of both", async || {
        (challenge_fee_payer(&site).await == first).then_some(())
    })
    .await;
    site.chain_fault(json!({"fault": "clear"})).await;
    for call in calls {
        let answer = call.await.unwrap().unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    assert_ne!(first, second);
    assert_eq!(challenge_fee_payer(&site).await, first);
    service.stop();
    host.assert_verified();
}

/// A node of both chains that answers correctly, except for one method.
async fn node(method: &'static str, otherwise: Value) -> String {
    let answer = move |call: &Value| {
        let result = match call["method"].as_str().unwrap() {
            name if name == method => otherwise.clone(),
            "eth_chainId" => json!("0x2105"),
            "eth_getBlockByNumber" | "eth_getBlockByHash" => {
                let (hash, parent) = (format!("0x{:0>64}", "64"), format!("0x{:0>64}", "63"));
                json!({"number": "0x64", "hash": hash, "parentHash": parent, "timestamp": "0x68000000"})
            }
            "eth_getLogs" => json!([]),
            "eth_getCode" => json!("0x60"),
            "eth_call" => json!(format!("0x{}", hex::encode(BaseChain::MAINNET.token.domain()))),
            "eth_getBalance" => json!("0xde0b6b3a7640000"),
            "getGenesisHash" => json!(SolanaChain::MAINNET.genesis_hash),
            "getMultipleAccounts" => json!({"context": {"slot": 7}, "value": accounts()}),
            "getLatestBlockhash" => {
                let blockhash = SolanaChain::MAINNET.genesis_hash;
                json!({"context": {"slot": 7}, "value": {"blockhash": blockhash, "lastValidBlockHeight": 157}})
            }
            other => {
                let error = json!({"code": -32601, "message": format!("no method {other}")});
                return json!({"jsonrpc": "2.0", "id": call["id"], "error": error});
            }
        };
        json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
    };
    let handler = move |Json(request): Json<Value>| {
        let answer = answer.clone();
        async move {
            Json(match &request {
                Value::Array(calls) => calls.iter().map(answer).collect(),
                call => answer(call),
            })
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/secret-path", listener.local_addr().unwrap());
    let routes = Router::new().route("/secret-path", post(handler));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    url
}

/// Accounts of the mint, the treasury's token account and one fee payer.
fn accounts() -> Value {
    let account = |owner: &str, lamports: u64, data: Vec<u8>| {
        json!({"lamports": lamports, "owner": owner, "executable": false, "rentEpoch": 0, "space": data.len(),
            "data": [STANDARD.encode(data), "base64"]})
    };
    let token = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
    let (mut mint, mut paid) = (vec![0; 82], vec![0; 165]);
    // Six decimals, initialized.
    (mint[44], mint[45]) = (6, 1);
    paid[..32].copy_from_slice(&SolanaChain::MAINNET.mint);
    paid[32..64].copy_from_slice(&treasury().solana_address());
    paid[108] = 1;
    let system = "11111111111111111111111111111111";
    json!([
        account(token, 1, mint),
        account(token, 2_039_280, paid),
        account(system, 1 << 40, Vec::new())
    ])
}

fn treasury() -> TestWallet {
    TestWallet::from_bytes(&[0x51; 32], &[0x52; 32]).unwrap()
}

/// A key in Solana's file format: the seed, then the public key.
fn keygen(seed: [u8; 32]) -> String {
    let public = TestWallet::from_bytes(&[1; 32], &seed).unwrap().solana_address();
    bs58::encode([seed, public].concat()).into_string()
}

/// Production settings with keys in files and this node. No product is offered.
fn settings(host: &Host, node: &str) -> PathBuf {
    let key = |name: &str, content: String| {
        let path = host.sibling_path(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    };
    let good = [
        include_str!("../../src/config/chains/tests/production.toml"),
        include_str!("../../src/config/chains/tests/nothing_sold.toml"),
    ];
    let mut settings: toml::Table = good.concat().parse().unwrap();
    let file = |path: String| format!("file:{path}");
    let treasury = treasury();
    let values = [
        (
            "identity",
            "signing_key_file",
            host.sibling_path("identity.keys").display().to_string(),
        ),
        (
            "identity",
            "vault_key_file",
            host.sibling_path("vault.keys").display().to_string(),
        ),
        ("payment.pay_to", "base", Wallet::Evm(treasury.evm_address()).address()),
        (
            "payment.pay_to",
            "solana",
            Wallet::Solana(treasury.solana_address()).address(),
        ),
        (
            "chains.base",
            "treasury_key",
            file(key("treasury.key", hex::encode([0x51; 32]))),
        ),
        (
            "chains.solana",
            "treasury_key",
            file(key("solana.json", keygen([0x52; 32]))),
        ),
    ];
    let keys = [
        ("chains.base", "gas_keys", file(key("gas.key", hex::encode([0x61; 32])))),
        (
            "chains.solana",
            "fee_payers",
            file(key("payer.json", keygen([0x62; 32]))),
        ),
    ];
    let mut put = |section: &str, name: &str, value: toml::Value| {
        let found = section
            .split('.')
            .fold(&mut settings, |table, part| table[part].as_table_mut().unwrap());
        found.insert(name.to_owned(), value);
    };
    for (section, name, value) in values {
        put(section, name, value.into());
    }
    for (section, name, value) in keys {
        put(section, name, vec![value].into());
    }
    for section in ["chains.base", "chains.solana"] {
        let endpoint = toml::Table::from_iter([("url".to_owned(), node.into())]);
        put(section, "endpoints", vec![toml::Value::from(endpoint)].into());
    }
    let path = host.sibling_path("production.toml");
    std::fs::write(&path, settings.to_string()).unwrap();
    path
}

fn run(host: &Host, command: &[&str], settings: &std::path::Path) -> Output {
    let path = settings.display().to_string();
    tokio::task::block_in_place(|| host.run(&[command, &["--config", &path]].concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn production_checks_its_chains_before_listening() {
    // Checks: A chain that doesn't match the settings ends the start with the setting's name and without secrets. With
    // a matching chain the start continues, here to the missing vault keys.
    for (method, answer, key) in [
        ("eth_chainId", json!("0x1"), "`chains.base.endpoints[0].url`"),
        ("eth_getCode", json!("0x"), "`chains.base.usdc`"),
        ("eth_getBalance", json!("0x1"), "`chains.base.gas_keys[0]`"),
        (
            "getGenesisHash",
            json!(SolanaChain::DEVNET.genesis_hash),
            "`chains.solana.endpoints[0].url`",
        ),
        ("none", Value::Null, "the vault"),
    ] {
        let host = Host::new();
        let node = node(method, answer).await;
        let ended = run(&host, &["serve", "--listen", "127.0.0.1:0"], &settings(&host, &node));
        let output = text(&ended);
        assert!(!ended.status.success() && output.contains(key), "{key}: {output}");
        for secret in ["secret-path", &hex::encode([0x51; 32]), &keygen([0x62; 32])] {
            assert!(!output.contains(secret), "{output}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn config_check_reads_production_keys() {
    // Checks: `purser config check` reads the keys as a start does, without a node. All errors of the chains' keys are
    // listed at once. Key files of tokens and of the vault must exist.
    let host = Host::new();
    let settings = settings(&host, "http://127.0.0.1:9/secret-path");
    let misses = |key: &str| {
        let missing = run(&host, &["config", "check"], &settings);
        assert!(
            !missing.status.success() && text(&missing).contains(key),
            "{}",
            text(&missing)
        );
    };
    misses("`identity.signing_key_file`");
    key_file::load_or_create(&host.sibling_path("identity.keys"), SystemClock.now(), &SystemEntropy).unwrap();
    misses("`identity.vault_key_file`");
    Vault::from_file(&host.sibling_path("vault.keys"), true, Arc::new(SystemEntropy)).unwrap();
    let fine = run(&host, &["config", "check"], &settings);
    assert!(
        fine.status.success() && text(&fine).contains("production"),
        "{}",
        text(&fine)
    );
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(host.sibling_path("gas.key"), open).unwrap();
    std::fs::remove_file(host.sibling_path("payer.json")).unwrap();
    std::fs::write(host.sibling_path("treasury.key"), hex::encode([0x53; 32])).unwrap();
    let wrong = run(&host, &["config", "check"], &settings);
    let output = text(&wrong);
    assert_eq!(wrong.status.code(), Some(2), "{output}");
    for key in [
        "`chains.base.treasury_key`",
        "`chains.base.gas_keys[0]`",
        "`chains.solana.fee_payers[0]`",
    ] {
        assert!(output.contains(key), "{key} is not named: {output}");
    }
    assert!(!host.data().exists(), "nothing was made");
}
