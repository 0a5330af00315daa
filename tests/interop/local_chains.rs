//! Base (anvil) and Solana (surfpool) on this machine, and the service in production on them.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use purser_chains::evm::multicall::MULTICALL3;
use purser_chains::rpc::{HttpTransport, RpcPool, SystemClock};
use purser_chains::solana::address::{USDC_MAINNET, base58, parse};
use serde_json::{Value, json};
use toml::Table;

use crate::anvil::{self, Anvil};
use crate::rpc_proxy::RpcProxy;
use crate::runtime::Chain;
use crate::server_process::{ServerProcess, purser, run, stdout_of_success};

pub const BASE_USDC: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
/// One ether, in wei.
pub const ETHER: &str = "0xde0b6b3a7640000";
/// What production would ask a provider for.
pub const NOT_SOLD: [&str; 6] = [
    "usa_prepaid_card",
    "gift_card",
    "push_to_card",
    "bank_payment",
    "app_payment",
    "card_balance",
];

/// Both chains. Anvil makes a block each second; Solana's runtime is shared by all tests of the program.
pub struct LocalChains {
    anvil: Anvil,
    pub solana: Chain,
    solana_rpc: RpcPool,
    /// In front of Solana.
    pub mainnet: RpcProxy,
}

impl LocalChains {
    /// `None`: the test must return, and has been reported as skipped.
    pub async fn start() -> Option<Self> {
        Self::start_with(4).await
    }

    /// The same with a Base whose `safe` block is this number of blocks behind, and `finalized` twice as many.
    pub async fn start_with(safe: u64) -> Option<Self> {
        let (anvil, solana) = (Anvil::start_with(safe)?, Chain::ready()?);
        let contracts: Value =
            serde_json::from_str(include_str!("../../src/chains/tests/anvil/contracts.json")).unwrap();
        for (address, contract) in [(BASE_USDC, "USDC"), (&MULTICALL3.to_string(), "Batch")] {
            let code = &contracts["runtime"][contract];
            anvil.control("anvil_setCode", json!([address, code])).await;
        }
        anvil.control("evm_setIntervalMining", json!([1])).await;
        let transport = std::sync::Arc::new(HttpTransport::new(anvil::client()));
        let clock = std::sync::Arc::new(SystemClock::default());
        let solana_rpc = RpcPool::new(solana.endpoints(1), transport, clock).unwrap();
        let mainnet = RpcProxy::start(solana.url, 0, false).await;
        Some(Self {
            anvil,
            solana,
            solana_rpc,
            mainnet,
        })
    }

    /// JSON-RPC of Base, anvil's own methods too.
    pub async fn base(&self, method: &str, params: Value) -> Value {
        self.anvil.control(method, params).await
    }

    /// Sets the USDC of an address on Base.
    pub async fn set_base_usdc(&self, of: &str, amount: u64) {
        self.base("anvil_dealERC20", json!([of, BASE_USDC, format!("{amount:#x}")]))
            .await;
    }

    /// Sets the USDC of an owner on Solana, creating the token account.
    pub async fn set_solana_usdc(&self, of: &str, amount: u64) {
        self.solana.set_usdc(&parse(of).unwrap(), amount, false).await;
    }

    /// What an address holds on a chain, in millionths of a USDC.
    pub async fn usdc_balance(&self, chain: &str, owner: &str) -> u64 {
        if chain == "base" {
            let data = format!("0x70a08231{:0>64}", owner.trim_start_matches("0x").to_lowercase());
            let call = json!([{"to": BASE_USDC, "data": data}, "latest"]);
            let returned = self.base("eth_call", call).await;
            return u64::from_str_radix(returned.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
        }
        let filter = json!([owner, {"mint": base58(&USDC_MAINNET)}, {"encoding": "jsonParsed"}]);
        let accounts = self.solana_rpc.call("getTokenAccountsByOwner", filter).await.unwrap();
        let amount = accounts["value"][0].pointer("/account/data/parsed/info/tokenAmount/amount");
        amount.and_then(Value::as_str).map_or(0, |text| text.parse().unwrap())
    }

    /// Who has paid for a transaction.
    pub async fn sender(&self, chain: &str, transaction: &str) -> String {
        if chain == "base" {
            let found = self.base("eth_getTransactionByHash", json!([transaction])).await;
            return found["from"].as_str().unwrap().to_lowercase();
        }
        let how = json!({"encoding": "json", "commitment": "confirmed", "maxSupportedTransactionVersion": 0});
        let found = self
            .solana_rpc
            .call("getTransaction", json!([transaction, how]))
            .await
            .unwrap();
        found["transaction"]["message"]["accountKeys"][0]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The nodes of Base and Solana.
    pub fn urls(&self) -> [String; 2] {
        [self.anvil.url.clone(), self.mainnet.url.clone()]
    }
}

/// The endpoints of Base and of Solana, in the order of the settings.
pub type Endpoints = [Vec<String>; 2];

/// What differs from one production service to another.
struct Start<'a> {
    /// What is final on Base.
    depth: &'a str,
    /// For how long after a change books and lists may disagree.
    grace_ms: u64,
    /// Settles on both chains in place of keys of our own.
    facilitator: Option<&'a str>,
    /// Additional settings, as TOML.
    more: &'a str,
}

impl Default for Start<'_> {
    fn default() -> Self {
        Self {
            depth: "safe",
            grace_ms: 60_000,
            facilitator: None,
            more: "",
        }
    }
}

/// The service in production, selling international cards, which need no provider.
pub struct Production {
    pub chains: LocalChains,
    pub purser: ServerProcess,
    /// What `purser keys create` printed.
    pub keys: Value,
    folder: tempfile::TempDir,
}

impl Production {
    /// Uses two addresses of each node, because a proof that a payment never settles needs two. `None`: the test was
    /// reported as skipped.
    pub async fn start() -> Option<Self> {
        let chains = LocalChains::start().await?;
        let endpoints = two_addresses(&chains);
        Some(Self::start_on(chains, &endpoints).await)
    }

    /// Without a gas key and a fee payer: this facilitator settles on both chains.
    pub async fn start_facilitated(chains: LocalChains, facilitator: &str) -> Self {
        let endpoints = two_addresses(&chains);
        let start = Start {
            facilitator: Some(facilitator),
            ..Start::default()
        };
        Self::start_with(chains, &endpoints, start).await
    }

    /// From nothing: keys made by the command, funded, named by its settings.
    pub async fn start_on(chains: LocalChains, endpoints: &Endpoints) -> Self {
        Self::start_with(chains, endpoints, Start::default()).await
    }

    /// The same with what is final on Base, and for how long after a change books and lists may disagree.
    pub async fn start_at(chains: LocalChains, endpoints: &Endpoints, depth: &str, grace_ms: u64) -> Self {
        let start = Start {
            depth,
            grace_ms,
            ..Start::default()
        };
        Self::start_with(chains, endpoints, start).await
    }

    /// With these settings too.
    pub async fn start_set(chains: LocalChains, more: &str) -> Self {
        let endpoints = two_addresses(&chains);
        let start = Start {
            more,
            ..Start::default()
        };
        Self::start_with(chains, &endpoints, start).await
    }

    async fn start_with(chains: LocalChains, endpoints: &Endpoints, start: Start<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys");
        let printed = purser(&[Path::new("keys"), Path::new("create"), &keys]);
        let mut settings: Table = String::from_utf8(printed.stdout).unwrap().parse().unwrap();
        let printed = purser(&[Path::new("keys"), Path::new("create"), &keys, Path::new("--json")]);
        let keys: Value = serde_json::from_slice(&printed.stdout).unwrap();
        let address = |pointer: &str| keys.pointer(pointer).and_then(Value::as_str).unwrap();
        chains
            .base("anvil_setBalance", json!([address("/base/fees"), ETHER]))
            .await;
        let fee_payer = parse(address("/solana/fees")).unwrap();
        chains.solana.set_lamports(&fee_payer, 1_000_000_000).await;
        chains.set_solana_usdc(address("/solana/treasury"), 0).await;
        complete(&mut settings, endpoints);
        let Start {
            depth,
            grace_ms,
            facilitator,
            more,
        } = start;
        if let Some(url) = facilitator {
            facilitated(&mut settings, url);
        }
        let rest = format!(
            "[chains.base]\nfinality = [{{ depth = \"{depth}\" }}]\n[reconciliation]\ngrace_period_ms = {grace_ms}"
        );
        merge(&mut settings, rest.parse().unwrap());
        merge(&mut settings, more.parse().unwrap());
        let config = folder.path().join("purser.toml");
        std::fs::write(&config, settings.to_string()).unwrap();
        let purser = ServerProcess::start_from(Some(&config), &[]);
        Self {
            chains,
            purser,
            keys,
            folder,
        }
    }

    /// The wallet of a test on both chains, with 1,000 USDC on each.
    pub async fn funded(&self, wallet: &purser::wallet::TestWallet) {
        use purser_actors::id::Network;
        self.chains
            .set_base_usdc(&wallet.address(Network::Base), 1_000_000_000)
            .await;
        self.chains
            .set_solana_usdc(&wallet.address(Network::Solana), 1_000_000_000)
            .await;
    }

    /// What our treasury holds on a chain.
    pub async fn treasury(&self, chain: &str) -> u64 {
        let owner = self.keys[chain]["treasury"].as_str().unwrap();
        self.chains.usdc_balance(chain, owner).await
    }

    /// The final transfers of our treasury on a chain, as the running service lists them.
    pub async fn listed(&self, chain: &str) -> Vec<Value> {
        let operator = std::fs::read_to_string(self.purser.data().join("operator.address")).unwrap();
        let token = std::fs::read_to_string(self.folder.path().join("keys/operator.token")).unwrap();
        let url = format!("http://{}/copy?part=transfers&network={chain}&after=0", operator.trim());
        let answer = self
            .purser
            .http
            .get(url)
            .bearer_auth(token.trim())
            .send()
            .await
            .unwrap();
        let page: Value = answer.json().await.unwrap();
        page["transfers"].as_array().unwrap_or_else(|| panic!("{page}")).clone()
    }

    /// What `/metrics` says.
    pub async fn metrics(&self) -> String {
        let url = std::fs::read_to_string(self.purser.data().join("operator.address")).unwrap();
        let page = self.purser.http.get(format!("http://{}/metrics", url.trim()));
        page.send().await.unwrap().text().await.unwrap()
    }

    /// Runs a client command with a wallet of its own. It may fail.
    pub fn client(&self, command: &[&str]) -> Output {
        let wallet = self.folder.path().join("wallet.json");
        let mut arguments: Vec<&Path> = command.iter().map(Path::new).collect();
        arguments.extend([Path::new("--wallet"), &wallet]);
        run(&arguments)
    }

    /// Runs a command beside the running service with its operator token. Its settings or the sandbox's apply, and
    /// failure is allowed.
    pub fn run_command_beside(&self, command: &str, its_settings: bool) -> Output {
        let (data, folder) = (self.purser.data(), self.folder.path());
        let (token, config) = (folder.join("keys/operator.token"), folder.join("purser.toml"));
        let mut arguments: Vec<&Path> = [command, "--token-file"].map(Path::new).into();
        arguments.extend([&token, Path::new("--data"), &data]);
        if its_settings {
            arguments.extend([Path::new("--config"), &config]);
        }
        run(&arguments)
    }

    /// A command on the data of the service, which has been stopped.
    pub fn offline(&self, command: &str) -> Output {
        stdout_of_success(&[command], self.command(&[command]))
    }

    /// The same, but it may fail.
    pub fn command(&self, command: &[&str]) -> Output {
        let data = self.purser.data();
        let config = self.folder.path().join("purser.toml");
        let mut arguments: Vec<&Path> = command.iter().map(Path::new).collect();
        arguments.extend([Path::new("--config"), &config, Path::new("--data"), &data]);
        run(&arguments)
    }
}

/// What the settings of `purser keys create` leave to the operator.
fn complete(settings: &mut Table, endpoints: &Endpoints) {
    let rest = r#"
        [server]
        public_url = "https://pay.example"
        [chains.solana]
        finality = [{ depth = "finalized" }]
    "#;
    merge(settings, rest.parse().unwrap());
    for (name, urls) in ["base", "solana"].into_iter().zip(endpoints) {
        let endpoint = |url: &String| format!("{{ url = \"{url}\", rate = 10000, burst = 10000, timeout_ms = 1000 }}");
        let urls: Vec<String> = urls.iter().map(endpoint).collect();
        let chain = format!("[chains.{name}]\nendpoints = [{}]", urls.join(", "));
        merge(settings, chain.parse().unwrap());
    }
    for product in NOT_SOLD {
        merge(
            settings,
            format!("[products.{product}]\navailable = false").parse().unwrap(),
        );
    }
}

/// Of each node.
fn two_addresses(chains: &LocalChains) -> Endpoints {
    chains
        .urls()
        .map(|url| vec![url.replace("127.0.0.1", "localhost"), url])
}

/// A facilitator takes the place of the keys that pay fees.
fn facilitated(settings: &mut Table, url: &str) {
    for (chain, keys) in [("base", "gas_keys"), ("solana", "fee_payers")] {
        let chain = settings["chains"][chain].as_table_mut().unwrap();
        assert!(chain.remove(keys).is_some(), "the settings name {keys}");
        let list = format!("facilitators = [{{ url = \"{url}\", auth = \"none\" }}]");
        merge(chain, list.parse().unwrap());
    }
}

fn merge(into: &mut Table, from: Table) {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(name, value);
            }
        }
    }
}

/// Until it holds.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not within a minute: {what}");
}
