//! Every product on the real chains, made by providers that are asked over HTTP, and payments of contract wallets.

use std::process::Command;

use axum::extract::Query;
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::evm::keccak;
use purser::system::{SystemClock, SystemEntropy};
use purser::wallet::payment::SigningContext;
use purser::wallet::{PaymentRequired, TestWallet};
use purser_actors::id::Network;
use purser_actors::port::Clock as _;
use purser_chains::evm::contract_wallet::Undeployed;
use purser_chains::evm::key::EvmKey;
use purser_chains::evm::usdc::{Authorization, Token};
use purser_chains::evm::{Address, U256};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::local_chains::{BASE_USDC, LocalChains, NOT_SOLD, Production, until};
use crate::node::Node;
use crate::process::ServerProcess as ProviderProcess;
use crate::production::{buyer, ended, key, network};
use crate::products::sample;
use crate::server_process::ServerProcess;
use crate::{NETWORKS, text};

/// The public URL of [`Production`].
const ORIGIN: &str = "https://pay.example";
/// Ports whose providers run in another process.
const PORTS: [&str; 9] = [
    "issuer",
    "gift_cards",
    "payouts",
    "identity",
    "issuer_accounts",
    "banking",
    "bridge",
    "rates",
    "merchants",
];

/// `purser serve-providers`, which sees what arrives on a local Base; killed when dropped.
struct Providers(ProviderProcess);

impl Providers {
    async fn start(chains: &LocalChains) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = serve_transfers(chains.urls()[0].clone()).await;
        let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
        command
            .env_clear()
            .args(["serve-providers", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(folder.path()).args(["--chain-url", &base]);
        for delay in [
            "CARD_ISSUE_DELAY_MS",
            "GIFT_CARD_DELAY_MS",
            "PAYOUT_DELAY_MS",
            "BANK_DELAY_MS",
            "ISSUER_CREDIT_DELAY_MS",
        ] {
            command.env(format!("PURSER_SANDBOX__{delay}"), "20");
        }
        Self(ProviderProcess::start(command, folder))
    }

    /// Settings of a service that sells all products and asks these providers.
    fn settings(&self) -> String {
        let (url, token) = (&self.0.url, self.0.folder.path().join("provider.token"));
        let ports = PORTS.map(|port| format!("[providers.{port}]\nurl = \"{url}\"\ntoken_file = {token:?}\n"));
        let products = NOT_SOLD.map(|product| format!("[products.{product}]\navailable = true\n"));
        ports.concat() + &products.concat()
    }
}

/// Shows the USDC transfers of a Base as a service's sandbox does, for the card issuer of `purser serve-providers`.
/// Returns its URL.
async fn serve_transfers(base: String) -> String {
    #[derive(serde::Deserialize)]
    struct Page {
        after: usize,
    }
    let http = crate::anvil::client();
    let transfers = async move |Query(page): Query<Page>| {
        let topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
        let filter = json!([{"address": BASE_USDC, "topics": [topic], "fromBlock": "0x0"}]);
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_getLogs", "params": filter});
        let answer: Value = http
            .post(&base)
            .json(&request)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        let logs = answer["result"].as_array().unwrap().iter().enumerate().skip(page.after);
        let amount = |log: &Value| u64::from_str_radix(&text(&log["data"])[50..], 16).unwrap();
        let transfers = logs.map(|(n, log)| {
            json!({"position": n + 1, "id": log["transactionHash"], "to": format!("0x{}", &text(&log["topics"][2])[26..]),
                "amount": amount(log), "at": SystemClock.now().0, "reorged": false})
        });
        Json(json!({"transfers": transfers.collect::<Vec<_>>(), "has_more": false}))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/sandbox/transfers", get(transfers));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

// Checks: with providers over HTTP, stock clients buy every product on the real chains, with one payment each. USDC for
// the card balance reaches its deposit address. Solana skips the card balance, because no local chain has the CCTP
// programs.
#[tokio::test(flavor = "multi_thread")]
async fn stock_clients_buy_every_product_on_real_chains() {
    const OF: &str = "buys everything";
    let Some(node) = Node::ready() else { return };
    let Some(chains) = LocalChains::start().await else {
        return;
    };
    let providers = Providers::start(&chains).await;
    let mut production = Production::start_set(chains, &providers.settings()).await;
    let wallet = TestWallet::from_bytes(&key(OF), &key(OF)).unwrap();
    for (chain, _) in NETWORKS {
        let purser = &production.purser;
        let token = &purser.sign_in(&wallet, network(chain)).await;
        let destination = purser.prepare_owner(ORIGIN, token).await;
        let mut stock = buyer(OF, chain, &production);
        stock["cap"] = json!("$5000");
        let mpp = json!({"client": "mppx", "chain": chain, "key": hex::encode(key(OF)), "real": true});
        let (clients, except): (&[&Value], &[&str]) = match chain {
            "base" => (&[&stock, &mpp], &[]),
            _ => (&[&stock], &["/fund-card-balance"]),
        };
        let mut bought = 0;
        for options in clients {
            let address = wallet.address(network(chain));
            match chain {
                "base" => production.chains.set_base_usdc(&address, 10_000_000_000).await,
                _ => production.chains.set_solana_usdc(&address, 10_000_000_000).await,
            }
            bought += purser.sell_everything(node, options, &destination, except).await;
        }
        let payer = wallet.address(network(chain));
        let listed = until("every payment is final", async || {
            let listed = production.listed(chain).await;
            let from = listed
                .iter()
                .filter(|one| text(&one["from"]).eq_ignore_ascii_case(&payer));
            (from.count() >= bought).then_some(listed)
        })
        .await;
        let from = listed
            .iter()
            .filter(|one| text(&one["from"]).eq_ignore_ascii_case(&payer));
        assert_eq!(from.count(), bought, "{listed:#?}");
        if chain == "base" {
            purser.top_ups_are_credited(token, clients.len()).await;
        }
    }
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}

impl ServerProcess {
    /// Signs in. The stock helpers sign only for the origin that they call, and this service's origin is a public one.
    async fn sign_in(&self, wallet: &TestWallet, network: Network) -> String {
        let (status, headers, body) = self.get(&format!("/auth?network={}", network.name()), &[]).await;
        assert_eq!(status, 402, "{body}");
        let required = PaymentRequired::from_header(headers["payment-required"].as_bytes()).unwrap();
        let proof = wallet.sign_in(&required.sign_in().unwrap(), network).unwrap();
        let (status, _, body) = self.get("/auth", &[("sign-in-with-x", &proof)]).await;
        assert_eq!(status, 200, "{body}");
        text(&body["auth"]["id_token"]).to_owned()
    }

    /// Until this number of top-ups is credited at the card issuer.
    async fn top_ups_are_credited(&self, token: &str, expected: usize) {
        until("the top-ups are credited", async || {
            let (status, body) = self.bearer("/list-card-transactions", token).await;
            assert_eq!(status, 200, "{body}");
            let top_ups = body["top_ups"].as_array().unwrap_or_else(|| panic!("{body:#}"));
            let credited = top_ups.iter().filter(|top_up| top_up["status"] == "credited");
            (credited.count() == expected).then_some(())
        })
        .await;
    }
}

/// What is sold without a step by the account owner, who would have to sign in.
const WITHOUT_OWNER: [&str; 4] = ["/get-card", "/order-intl-card", "/order-gift-card", "/get-push-to-card"];
const FACTORY: Address = Address::repeat_byte(0x66);
const IMPLEMENTATION: Address = Address::repeat_byte(0x77);

/// The owner of all contract wallets of this test.
fn owner() -> EvmKey {
    EvmKey::from_bytes(Zeroizing::new(key("owns contract wallets"))).unwrap()
}

fn runtime(contract: &str) -> Value {
    let contracts = include_str!("../../src/chains/tests/anvil/contracts.json");
    let contracts: Value = serde_json::from_str(contracts).unwrap();
    contracts["runtime"][contract].clone()
}

/// Calldata of one of the factory's functions, which take an owner and a salt.
fn factory_call(function: &str) -> Vec<u8> {
    let selector = &keccak(format!("{function}(address,uint256)").as_bytes())[..4];
    let salt = U256::from(5).to_be_bytes::<32>();
    [selector, owner().address().into_word().as_slice(), &salt].concat()
}

/// Gives this address the code of a wallet that [`owner`] signs for.
async fn becomes_wallet(chains: &LocalChains, address: Address, code: Value) {
    let address = format!("{address:#x}");
    let storage = format!("{:#x}", owner().address().into_word());
    chains.base("anvil_setCode", json!([address, code])).await;
    chains
        .base("anvil_setStorageAt", json!([address, "0x0", storage]))
        .await;
}

/// A payment for a route from a contract wallet, which accepts its owner's signature after `wrap`.
async fn payment_from(production: &Production, path: &str, from: Address, wrap: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let (status, headers, body) = production.purser.get(path, &[]).await;
    assert_eq!(status, 402, "{body}");
    let required = PaymentRequired::from_header(headers["payment-required"].as_bytes()).unwrap();
    let offer = required.choose(Some(Network::Base)).unwrap();
    let circumstances = SigningContext {
        now: SystemClock.now(),
        entropy: &SystemEntropy,
        blockhash: None,
    };
    let any = TestWallet::create(&SystemEntropy).unwrap();
    let header = any.pay(&required, &offer, &circumstances).unwrap();
    let mut payment: Value = serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap();
    let payload = &mut payment["payload"];
    payload["authorization"]["from"] = json!(format!("{from:#x}"));
    let field = |name: &str| text(&payload["authorization"][name]).to_owned();
    let number = |name: &str| field(name).parse::<U256>().unwrap();
    let authorization = Authorization {
        from,
        to: field("to").parse().unwrap(),
        value: number("value"),
        valid_after: number("validAfter"),
        valid_before: number("validBefore"),
        nonce: field("nonce").parse().unwrap(),
    };
    let token = Token::new(8453, BASE_USDC.parse().unwrap(), "USD Coin", "2");
    let signature = owner().sign(token.transfer_digest(&authorization)).unwrap();
    let signature = wrap(signature.to_bytes().to_vec());
    payload["signature"] = json!(format!("0x{}", hex::encode(signature)));
    STANDARD.encode(payment.to_string())
}

// Checks: a deployed contract wallet (ERC-1271), a delegated account (EIP-7702) and a wallet deployed by its first
// payment (ERC-6492) buy with one transfer each. They buy every product that needs no step by the account owner.
#[tokio::test(flavor = "multi_thread")]
async fn contract_wallets_buy_products_on_a_real_chain() {
    let Some(chains) = LocalChains::start().await else {
        return;
    };
    becomes_wallet(&chains, IMPLEMENTATION, runtime("SmartWallet")).await;
    let (deployed, delegated) = (Address::repeat_byte(0x71), Address::repeat_byte(0x72));
    becomes_wallet(&chains, deployed, runtime("SmartWallet")).await;
    let delegation = format!("0xef0100{}", hex::encode(IMPLEMENTATION));
    becomes_wallet(&chains, delegated, json!(delegation)).await;
    let factory = format!("{FACTORY:#x}");
    chains
        .base("anvil_setCode", json!([factory, runtime("SmartWalletFactory")]))
        .await;
    let call = json!([{"to": factory, "data": format!("0x{}", hex::encode(factory_call("addressOf")))}, "latest"]);
    let address = chains.base("eth_call", call).await;
    let undeployed: Address = format!("0x{}", &text(&address)[26..]).parse().unwrap();
    let wallets = [deployed, delegated, undeployed];
    for wallet in wallets {
        chains.set_base_usdc(&format!("{wallet:#x}"), 1_000_000_000).await;
    }
    let providers = Providers::start(&chains).await;
    let settings = format!(
        "{}[chains.base]\nerc6492_factories = [\"{factory}\"]\n",
        providers.settings()
    );
    let mut production = Production::start_set(chains, &settings).await;
    let (_, _, document) = production.purser.get("/openapi.json", &[]).await;
    let mut received = 0;
    for wallet in wallets {
        let wrap = |signature: Vec<u8>| match wallet == undeployed {
            false => signature,
            true => Undeployed {
                factory: FACTORY,
                call: factory_call("deploy").into(),
                signature: signature.into(),
            }
            .wrap()
            .to_vec(),
        };
        let held = production.chains.usdc_balance("base", &format!("{wallet:#x}")).await;
        for path in WITHOUT_OWNER {
            let path = sample(path, &document["paths"][path]["get"], "");
            let payment = payment_from(&production, &path, wallet, &wrap).await;
            assert_eq!(ended(&production, &path, &payment).await, 200, "{wallet}: {path}");
        }
        let paid = held - production.chains.usdc_balance("base", &format!("{wallet:#x}")).await;
        assert!(paid > 0);
        received += paid;
        assert_eq!(production.treasury("base").await, received);
    }
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}
