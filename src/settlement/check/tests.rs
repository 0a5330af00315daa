#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use purser_chains::evm::key::EvmKey;
use purser_chains::evm::node::FeePolicy;
use purser_chains::rpc::{self, EndpointUrl, Response, SystemClock, TransportError};
use purser_chains::solana::keypair::Keypair;
use zeroize::Zeroizing;

use super::*;
use crate::cctp::CctpSettings;
use crate::facilitator::{Auth, FacilitatorSettings};
use crate::settings::{BridgeConfig, SolanaConfig};
use purser_protocol::payment::SolanaChain;
use purser_protocol::payment::solana::address::{Pubkey, TOKEN, base58};

mod restarts;

/// Scripted nodes: the result of a method by host and parameters. `None` means no response.
struct Nodes(Mutex<Answers>);

type Answers = Box<dyn FnMut(&str, &str, &Value) -> Option<Value> + Send>;

impl Transport for Nodes {
    fn post<'a>(
        &'a self,
        url: &'a EndpointUrl,
        body: Vec<u8>,
        _: Duration,
        _: usize,
    ) -> rpc::BoxFuture<'a, Result<Response, TransportError>> {
        let request: Value = serde_json::from_slice(&body).unwrap();
        let mut answers = self.0.lock();
        let mut answer = |one: &Value| {
            let result = answers(&url.host(), one["method"].as_str().unwrap(), &one["params"])?;
            Some(json!({"jsonrpc": "2.0", "id": one["id"], "result": result}))
        };
        let document = match &request {
            Value::Array(calls) => calls
                .iter()
                .map(&mut answer)
                .collect::<Option<Vec<_>>>()
                .map(Value::Array),
            one => answer(one),
        };
        let response = document.map(|document| Response {
            status: 200,
            retry_after: None,
            body: document.to_string().into_bytes(),
        });
        Box::pin(std::future::ready(response.ok_or(TransportError::Timeout)))
    }
}

fn endpoints() -> Vec<EndpointSettings> {
    let new = |host: &str| EndpointSettings::new(EndpointUrl::parse(&format!("https://{host}/key")).unwrap());
    vec![new("one"), new("two")]
}

fn evm_key(byte: u8) -> EvmKey {
    EvmKey::from_bytes(Zeroizing::new([byte; 32])).unwrap()
}

fn chains() -> RealChains {
    RealChains {
        base: BaseConfig {
            chain: BaseChain::MAINNET,
            endpoints: endpoints(),
            treasury: evm_key(1),
            gas_keys: vec![evm_key(2), evm_key(3)],
            fees: FeePolicy {
                min_priority_fee: 1,
                max_priority_fee: 1,
                max_fee: 1,
            },
            gas_floor: U256::from(500_000_000_000_000_u64),
            finality: Vec::new(),
            erc6492_factories: Vec::new(),
            facilitators: Vec::new(),
        },
        solana: SolanaConfig {
            chain: SolanaChain::MAINNET,
            endpoints: endpoints(),
            treasury: Keypair::from_seed(&[1; 32]),
            fee_payers: vec![Keypair::from_seed(&[2; 32]), Keypair::from_seed(&[3; 32])],
            max_priority_fee: 20_000,
            fee_payer_floor: 10_000_000,
            account_rent_max: 0,
            finality: Vec::new(),
            facilitators: Vec::new(),
        },
        bridge: bridge(false),
    }
}

fn bridge(used: bool) -> BridgeConfig {
    BridgeConfig {
        used,
        cctp: CctpSettings {
            deployment: purser_chains::cctp::MAINNET,
            min_finality_threshold: purser_chains::cctp::THRESHOLD_STANDARD,
            max_fee: purser_chains::cctp::burn::FeeRate::ZERO,
        },
        iris: "https://iris.example".into(),
        timeout: Duration::from_secs(1),
    }
}

fn account(owner: &Pubkey, lamports: u64, data: &[u8]) -> Value {
    json!({"lamports": lamports, "owner": base58(owner), "executable": false, "rentEpoch": 0, "space": data.len(),
        "data": [STANDARD.encode(data), "base64"]})
}

/// The treasury's token account with this owner.
fn token_account(owner: &Pubkey) -> Value {
    token_account_in(1, owner)
}

/// A token account in this state: 1 is initialized, 2 is frozen.
fn token_account_in(state: u8, owner: &Pubkey) -> Value {
    let mut data = vec![0; 165];
    data[..32].copy_from_slice(&SolanaChain::MAINNET.mint);
    data[32..64].copy_from_slice(owner);
    data[108] = state;
    account(&TOKEN, 2_039_280, &data)
}

fn mint(decimals: u8) -> Value {
    let mut data = vec![0; 82];
    // Decimals, and the initialized flag.
    (data[44], data[45]) = (decimals, 1);
    account(&TOKEN, 1, &data)
}

/// The responses of valid nodes.
fn valid_response(method: &str, params: &Value) -> Value {
    let treasury = chains().solana.treasury.address();
    match method {
        "eth_chainId" => json!("0x2105"),
        "eth_getBlockByNumber" => {
            let number = match params[0].as_str().unwrap() {
                "finalized" => "0x64",
                other => other,
            };
            json!({"number": number, "hash": format!("0x{:0>64}", &number[2..])})
        }
        "eth_getCode" => json!("0x60"),
        "eth_call" => json!(format!("0x{}", hex::encode(BaseChain::MAINNET.token.domain()))),
        "eth_getBalance" => json!("0x1c6bf52634000"),
        "getGenesisHash" => json!(SolanaChain::MAINNET.genesis_hash),
        "getMultipleAccounts" => {
            let payer = account(&[0; 32], 10_000_000, &[]);
            let value = json!([mint(6), token_account(&treasury), payer, payer]);
            json!({"context": {"slot": 7}, "value": value})
        }
        other => unreachable!("{other}"),
    }
}

/// The settings rejected when nodes differ from valid ones in these responses. `Some(None)` means no response.
async fn rejected_with(
    otherwise: impl Fn(&str, &str, &Value) -> Option<Option<Value>> + Send + 'static,
    chains: RealChains,
) -> Vec<String> {
    let answers: Answers = Box::new(move |host, method, params| match otherwise(host, method, params) {
        Some(other) => other,
        None => Some(valid_response(method, params)),
    });
    let transport: Arc<dyn Transport> = Arc::new(Nodes(Mutex::new(answers)));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let checks = Checks::new(&chains, &transport, &clock).unwrap();
    let found = checks.run().await.tolerate(false);
    let wrong = found.err().map_or_else(Vec::new, |misfit| misfit.0);
    for error in &wrong {
        assert!(!error.to_string().contains("/key"), "a URL is not quoted: {error}");
    }
    wrong.iter().map(|error| error.key().unwrap().to_owned()).collect()
}

async fn rejected(otherwise: impl Fn(&str, &str, &Value) -> Option<Option<Value>> + Send + 'static) -> Vec<String> {
    rejected_with(otherwise, chains()).await
}

#[tokio::test]
async fn chains_as_the_settings_say_are_taken() {
    // Checks: valid nodes pass, also if one of two does not respond.
    assert_eq!(rejected(|_, _, _| None).await, Vec::<String>::new());
    assert_eq!(
        rejected(|host, _, _| (host == "two").then_some(None)).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn another_chain_is_refused_by_its_endpoint() {
    // Checks: a wrong chain id or genesis hash is reported for its endpoint. Checks that depend on it are not reported.
    let id = |host: &str, method: &str| (host == "two" && method == "eth_chainId").then(|| Some(json!("0x14a34")));
    assert_eq!(
        rejected(move |host, method, _| id(host, method)).await,
        ["chains.base.endpoints[1].url"]
    );
    let genesis = |host: &str, method: &str| {
        let devnet = SolanaChain::DEVNET.genesis_hash;
        (host == "one" && method == "getGenesisHash").then(|| Some(json!(devnet)))
    };
    assert_eq!(
        rejected(move |host, method, _| genesis(host, method)).await,
        ["chains.solana.endpoints[0].url"]
    );
    // An error of the first chain does not skip the second.
    let both = rejected(move |host, method, _| id(host, method).or_else(|| genesis(host, method)));
    assert_eq!(
        both.await,
        ["chains.base.endpoints[1].url", "chains.solana.endpoints[0].url"]
    );
}

#[tokio::test]
async fn endpoints_that_disagree_are_refused() {
    // Checks: two chains with one id count as two chains; an endpoint that lags does not.
    let fork = |host: &str, method: &str, params: &Value| {
        let at = params[0].as_str().unwrap_or_default();
        let other = host == "two" && method == "eth_getBlockByNumber" && at != "finalized";
        other.then(|| Some(json!({"number": at, "hash": format!("0x{:0>64}", "f")})))
    };
    assert_eq!(rejected(fork).await, ["chains.base.endpoints[1].url"]);
    let behind = |host: &str, method: &str, params: &Value| {
        let other = host == "two" && method == "eth_getBlockByNumber" && params[0] == "finalized";
        other.then(|| Some(json!({"number": "0x60", "hash": format!("0x{:0>64}", "60")})))
    };
    assert_eq!(rejected(behind).await, Vec::<String>::new());
}

#[tokio::test]
async fn silent_chains_are_refused() {
    // Checks: the start fails if no endpoint of a chain responds.
    let silent = rejected(|_, method, _| method.starts_with("eth_").then_some(None)).await;
    assert_eq!(silent, ["chains.base.endpoints"]);
    let silent = rejected(|_, method, _| method.starts_with("get").then_some(None)).await;
    assert_eq!(silent, ["chains.solana.endpoints"]);
}

#[tokio::test]
async fn contracts_are_what_the_settings_say() {
    // Checks: USDC or Multicall3 without code and a different EIP-712 domain are rejected by setting. With a
    // facilitator and no gas keys, Multicall3 is not needed.
    let none_at = |address: Address| {
        let text = address.to_string().to_lowercase();
        move |_: &str, method: &str, params: &Value| {
            let here = method == "eth_getCode" && params[0].as_str().unwrap().to_lowercase() == text;
            here.then(|| Some(json!("0x")))
        }
    };
    let usdc = Address::new(BaseChain::MAINNET.token.asset);
    assert_eq!(rejected(none_at(usdc)).await, ["chains.base.usdc"]);
    assert_eq!(rejected(none_at(MULTICALL3)).await, ["chains.base.network"]);
    let mut by_facilitator = chains();
    by_facilitator.base.gas_keys.clear();
    assert_eq!(
        rejected_with(none_at(MULTICALL3), by_facilitator).await,
        Vec::<String>::new()
    );
    let domain = |_: &str, method: &str, _: &Value| {
        let sepolia = hex::encode(BaseChain::SEPOLIA.token.domain());
        (method == "eth_call").then(|| Some(json!(format!("0x{sepolia}"))))
    };
    assert_eq!(rejected(domain).await, ["chains.base.usdc_name"]);
}

/// Two keys that pay for transactions are one wei or lamport short, and one has no account.
fn underfunded_keys(_: &str, method: &str, params: &Value) -> Option<Option<Value>> {
    let poor = chains().base.gas_keys[1].address().to_string().to_lowercase();
    match method {
        "eth_getBalance" => {
            (params[0].as_str().unwrap().to_lowercase() == poor).then(|| Some(json!("0x1c6bf52633fff")))
        }
        "getMultipleAccounts" => {
            let mut reply = valid_response(method, params);
            reply["value"][2] = account(&[0; 32], 9_999_999, &[]);
            reply["value"][3] = Value::Null;
            Some(Some(reply))
        }
        _ => None,
    }
}

#[tokio::test]
async fn fee_payers_have_enough_funds() {
    // Checks: a balance one wei or lamport below the floor is rejected by the key's index in the settings; the floor
    // itself is enough. With a facilitator on that network the key is only logged: payments are settled all the same.
    let base = "chains.base.gas_keys[1]";
    let solana = ["chains.solana.fee_payers[0]", "chains.solana.fee_payers[1]"];
    assert_eq!(rejected(underfunded_keys).await, [base, solana[0], solana[1]]);
    let facilitator = || FacilitatorSettings {
        // No server listens there: the start does not need its response.
        url: reqwest::Url::parse("http://127.0.0.1:1").unwrap(),
        auth: Auth::None,
        timeout: Duration::from_secs(1),
    };
    let mut facilitated = chains();
    facilitated.base.facilitators.push(facilitator());
    assert_eq!(rejected_with(underfunded_keys, facilitated).await, solana);
    let mut facilitated = chains();
    facilitated.solana.facilitators.push(facilitator());
    assert_eq!(rejected_with(underfunded_keys, facilitated).await, [base]);
}

#[tokio::test]
async fn the_treasury_can_be_paid_on_solana() {
    // Checks: the start fails without a token account, if its owner is different or it is frozen, and if the mint is
    // not a mint.
    let replying = |index: usize, what: Value| {
        move |_: &str, method: &str, params: &Value| {
            (method == "getMultipleAccounts").then(|| {
                let mut reply = valid_response(method, params);
                reply["value"][index] = what.clone();
                Some(reply)
            })
        }
    };
    let pay_to = ["payment.pay_to.solana"];
    assert_eq!(rejected(replying(1, Value::Null)).await, pay_to);
    assert_eq!(rejected(replying(1, token_account(&[9; 32]))).await, pay_to);
    assert_eq!(rejected(replying(1, account(&[9; 32], 1, &[0; 165]))).await, pay_to);
    let treasury = chains().solana.treasury.address();
    assert_eq!(rejected(replying(1, token_account_in(2, &treasury))).await, pay_to);
    let usdc = ["chains.solana.usdc_mint"];
    assert_eq!(rejected(replying(0, Value::Null)).await, usdc);
    assert_eq!(rejected(replying(0, mint(9))).await, usdc);
}

/// Both chains with Circle's programs, for the check of the bridge; all other responses are those of valid nodes.
fn bridged(method: &str, params: &Value) -> Option<Option<Value>> {
    let programs = params[0].as_array().is_some_and(|addresses| addresses.len() == 2);
    (method == "getMultipleAccounts" && programs).then(|| {
        let mut program = account(&[2; 32], 1, &[]);
        program["executable"] = json!(true);
        Some(json!({"context": {"slot": 7}, "value": [program, program]}))
    })
}

#[tokio::test]
async fn the_bridge_needs_its_contracts_while_it_is_used() {
    // Checks: a contract without code and a missing program are rejected by setting, but only if top-ups use the
    // bridge.
    let used = || RealChains {
        bridge: bridge(true),
        ..chains()
    };
    let here = |_: &str, method: &str, params: &Value| bridged(method, params);
    assert_eq!(rejected_with(here, used()).await, Vec::<String>::new());
    let deployment = purser_chains::cctp::MAINNET;
    for (address, key) in [
        (deployment.message_transmitter, "chains.bridge.message_transmitter"),
        (deployment.token_messenger, "chains.bridge.token_messenger"),
    ] {
        let missing = move |_: &str, method: &str, params: &Value| {
            let at = Address::new(address).to_string().to_lowercase();
            let here = method == "eth_getCode" && params[0].as_str().unwrap().to_lowercase() == at;
            here.then(|| Some(json!("0x"))).or_else(|| bridged(method, params))
        };
        assert_eq!(rejected_with(missing, used()).await, [key]);
        assert_eq!(rejected_with(missing, chains()).await, Vec::<String>::new());
    }
    let no_program = |_: &str, method: &str, params: &Value| {
        bridged(method, params).map(|answer| {
            answer.map(|mut answer| {
                answer["value"][1] = Value::Null;
                answer
            })
        })
    };
    assert_eq!(rejected_with(no_program, used()).await, ["chains.solana.network"]);
    assert_eq!(rejected_with(no_program, chains()).await, Vec::<String>::new());
}
