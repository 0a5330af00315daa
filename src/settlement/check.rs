//! Checks of the real chains at start: they are the chains in the settings, and the keys that pay for transactions have
//! funds. Every error names its setting. A chain that did not respond at the start is checked again (`again`) before it
//! is used.

mod bridge;
mod findings;
mod retry;
mod solana;

use std::sync::Arc;

use purser_actors::port::BoxFuture;
use purser_chains::evm::multicall::MULTICALL3;
use purser_chains::evm::node::{BlockTag, CallError, CallRequest, Node as BaseNode};
use purser_chains::evm::{Address, U256};
use purser_chains::rpc::{Clock, EndpointSettings, RpcError, RpcPool, SettingsError, Transport};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::facilitator::{FacilitatorCheck, Presented};
use super::settings::{BaseConfig, RealChains};
use purser_config::{ConfigError, InvalidSetting};
use purser_protocol::payment::BaseChain;
use purser_protocol::payment::evm::checksummed;

pub use self::bridge::{BaseBridgeCheck, SolanaBridgeCheck};
pub use self::findings::{Findings, StartupFindings, UnreachableChains};
pub use self::retry::{MISMATCH_RETRY, UNREACHABLE_RETRY, retry_until_valid};
pub use self::solana::SolanaCheck;

/// First four bytes of keccak256("DOMAIN_SEPARATOR()").
const DOMAIN_SEPARATOR: [u8; 4] = [0x36, 0x44, 0xe5, 0x15];
const ENDPOINTS: &str = "chains.base.endpoints";

/// A check of one chain.
pub trait ChainCheck: Send + Sync {
    /// Errors and failed reads, each with its setting. An endpoint that does not respond is only logged while another
    /// one does.
    fn check(&self) -> BoxFuture<'_, Findings>;
}

/// All checks of one chain.
pub type ChainChecks = Vec<Box<dyn ChainCheck>>;

/// Runs all checks of a chain concurrently.
pub async fn check_all(checks: &[Box<dyn ChainCheck>]) -> Findings {
    let found = futures_util::future::join_all(checks.iter().map(|check| check.check())).await;
    found.into_iter().fold(Findings::default(), Findings::and)
}

/// The checks of both chains and of their facilitators.
pub struct Checks {
    /// Base, and its side of the bridge.
    pub base: ChainChecks,
    /// Solana, and its side of the bridge.
    pub solana: ChainChecks,
    /// Checks of the facilitators, which need no chain. A facilitator that does not respond is only logged.
    pub facilitators: ChainChecks,
}

impl Checks {
    /// Creates the checks with their own endpoint pools, which are not part of monitoring.
    ///
    /// # Errors
    /// A limit of an endpoint with which no pool can be created.
    pub fn new(
        chains: &RealChains,
        transport: &Arc<dyn Transport>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, InvalidSetting> {
        let pool = |key: &'static str, endpoints: &[EndpointSettings]| {
            if endpoints.len() == 1 {
                tracing::warn!(
                    setting = key,
                    "one endpoint: nothing checks what it shows. Configure three, so that one may be down"
                );
            }
            let pool = RpcPool::new(endpoints.to_vec(), transport.clone(), clock.clone());
            pool.map(Arc::new)
                .map_err(|error: SettingsError| InvalidSetting(vec![rejected(key, error.to_string())]))
        };
        let (base, solana) = (
            pool("chains.base.endpoints", &chains.base.endpoints)?,
            pool("chains.solana.endpoints", &chains.solana.endpoints)?,
        );
        let mut checks = Self {
            base: vec![Box::new(BaseCheck::new(&chains.base, base.clone()))],
            solana: vec![Box::new(SolanaCheck::new(&chains.solana, solana.clone()))],
            facilitators: vec![
                Box::new(FacilitatorCheck::new(
                    Presented::Base(chains.base.chain),
                    chains.base.facilitators.clone(),
                )),
                Box::new(FacilitatorCheck::new(
                    Presented::Solana(chains.solana.chain),
                    chains.solana.facilitators.clone(),
                )),
            ],
        };
        if chains.bridge.used {
            checks
                .base
                .push(Box::new(BaseBridgeCheck::new(chains.bridge.cctp.deployment, base)));
            checks.solana.push(Box::new(SolanaBridgeCheck::new(solana)));
        }
        Ok(checks)
    }

    /// Runs all checks concurrently.
    pub async fn run(&self) -> StartupFindings {
        let (base, solana, facilitators) = tokio::join!(
            check_all(&self.base),
            check_all(&self.solana),
            check_all(&self.facilitators)
        );
        StartupFindings {
            base,
            solana,
            facilitators,
        }
    }
}

/// Base: chain id, one history, contracts, gas.
pub struct BaseCheck {
    chain: BaseChain,
    /// Addresses of the gas keys, in the order of the settings.
    gas_keys: Vec<Address>,
    is_facilitated: bool,
    gas_floor: U256,
    node: BaseNode,
    pool: Arc<RpcPool>,
}

fn rejected(key: impl Into<String>, reason: impl Into<String>) -> ConfigError {
    ConfigError::Rejected {
        key: key.into().into(),
        reason: reason.into(),
    }
}

/// A key that cannot pay is an error unless facilitators pay.
fn underfunded(by_others: bool, key: String, why: String) -> Option<ConfigError> {
    if by_others {
        tracing::warn!(setting = key, why, "facilitators settle until this key has more");
    }
    (!by_others).then(|| rejected(key, why))
}

/// Compares each endpoint's response with the settings. The error of one endpoint counts only if all of them failed.
fn compare<T>(
    key: &str,
    answers: Vec<(String, Result<T, String>)>,
    wrong_of: impl Fn(&T) -> Option<String>,
) -> Findings {
    let (mut found, mut silent) = (Findings::default(), Vec::new());
    let all = answers.len();
    for (n, (host, answer)) in answers.into_iter().enumerate() {
        match answer {
            Ok(answer) => {
                let why = wrong_of(&answer);
                found
                    .mismatches
                    .extend(why.map(|why| rejected(format!("{key}[{n}].url"), format!("{host} {why}"))));
            }
            Err(error) => silent.push(format!("{host}: {error}")),
        }
    }
    if silent.len() == all {
        return Findings::from_unreachable(key, format!("none answers: {}", silent.join("; ")));
    }
    for endpoint in silent {
        tracing::warn!(
            endpoint,
            setting = key,
            "an endpoint does not answer; the others are used"
        );
    }
    found
}

/// Queries the chain of each endpoint of a setting.
async fn query_each_endpoint<T>(
    setting: &str,
    pool: &RpcPool,
    method: &str,
    read: impl Fn(Value) -> Result<T, String>,
    wrong_of: impl Fn(&T) -> Option<String>,
) -> Findings {
    let replies = pool.call_each(method, json!([])).await.into_iter();
    let answers = replies.map(|answer| (answer.host, answer.result.map_err(|e| e.to_string()).and_then(&read)));
    compare(setting, answers.collect(), wrong_of)
}

impl BaseCheck {
    /// Creates the check for these endpoints.
    pub fn new(parts: &BaseConfig, pool: Arc<RpcPool>) -> Self {
        Self {
            chain: parts.chain,
            gas_keys: parts.gas_keys.iter().map(|key| key.address()).collect(),
            is_facilitated: !parts.facilitators.is_empty(),
            gas_floor: parts.gas_floor,
            node: BaseNode::new(pool.clone()),
            pool,
        }
    }

    async fn chain_ids(&self) -> Findings {
        let ours = self.chain.token.chain_id;
        let read = |value: Value| quantity(&value);
        query_each_endpoint(ENDPOINTS, &self.pool, "eth_chainId", read, |id| {
            (*id != ours).then(|| format!("is of chain {id}, and chains.base means chain {ours}"))
        })
        .await
    }

    /// Checks that all endpoints have the final block of the endpoint that lags most: two chains may have the same id.
    async fn one_history(&self) -> Findings {
        let block = |tag: Value| self.pool.call_each("eth_getBlockByNumber", json!([tag, false]));
        let finals = block(json!("finalized")).await;
        let heights = finals
            .iter()
            .filter_map(|answer| quantity(answer.result.as_ref().ok()?.get("number")?).ok());
        let Some(height) = heights.min() else {
            return Findings::from_unreachable(ENDPOINTS, "none says which block is final");
        };
        let replies = block(json!(format!("{height:#x}"))).await.into_iter();
        let hash = |answer: Result<Value, RpcError>| match answer {
            Ok(block) => block["hash"]
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| "no such block".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let answers: Vec<_> = replies.map(|answer| (answer.host, hash(answer.result))).collect();
        let Some(first) = answers.iter().find_map(|(_, hash)| hash.clone().ok()) else {
            return Findings::from_unreachable(ENDPOINTS, format!("none has block {height}"));
        };
        compare(ENDPOINTS, answers, |hash| {
            (*hash != first)
                .then(|| format!("has another block {height} than the endpoints before it: {hash}, not {first}"))
        })
    }

    async fn contracts(&self) -> Findings {
        let usdc = Address::new(self.chain.token.asset);
        let code = match self.node.have_code(&[usdc, MULTICALL3]).await {
            Ok(code) => code,
            Err(error) => return Findings::from_unreachable(ENDPOINTS, error.to_string()),
        };
        let mut wrong = Vec::new();
        // Without gas keys a facilitator sends the transactions, and no batches are sent.
        if code.get(1) != Some(&true) && !self.gas_keys.is_empty() {
            let why = format!("Multicall3 ({MULTICALL3}) has no code on this chain");
            wrong.push(rejected("chains.base.network", why));
        }
        if code.first() != Some(&true) {
            let address = checksummed(&self.chain.token.asset);
            wrong.push(rejected(
                "chains.base.usdc",
                format!("{address} has no code on this chain"),
            ));
            return Findings::from_mismatches(wrong);
        }
        let request = CallRequest {
            from: usdc,
            to: usdc,
            data: DOMAIN_SEPARATOR.to_vec().into(),
            gas: 100_000,
        };
        match self.node.call(&request, BlockTag::Latest).await {
            Ok(separator) if separator.as_ref() == self.chain.token.domain() => {}
            Err(CallError::Node(error)) => {
                return Findings::from_mismatches(wrong).and(Findings::from_unreachable(ENDPOINTS, error.to_string()));
            }
            _ => {
                let token = &self.chain.token;
                let why = format!(
                    "the contract at chains.base.usdc signs under another EIP-712 domain than name {:?}, version {:?} and chain {}",
                    token.name, token.version, token.chain_id
                );
                wrong.push(rejected("chains.base.usdc_name", why));
            }
        }
        Findings::from_mismatches(wrong)
    }

    async fn gas(&self) -> Findings {
        let mut found = Findings::default();
        for (n, address) in self.gas_keys.iter().enumerate() {
            let key = format!("chains.base.gas_keys[{n}]");
            match self.node.balance(*address, BlockTag::Latest).await {
                Ok(has) if has < self.gas_floor => {
                    let (has, floor) = (ether(has), ether(self.gas_floor));
                    let why = format!("{address} has {has} ETH, and chains.base.gas_floor_eth is {floor}");
                    found.mismatches.extend(underfunded(self.is_facilitated, key, why));
                }
                Ok(_) => {}
                Err(error) => {
                    let why = format!("the balance of {address} cannot be read: {error}");
                    found = found.and(Findings::from_unreachable(key, why));
                }
            }
        }
        found
    }

    async fn all(&self) -> Findings {
        // On a wrong chain all other checks are meaningless.
        let ids = self.chain_ids().await;
        if !ids.is_empty() {
            return ids;
        }
        let history = self.one_history().await;
        history.and(self.contracts().await).and(self.gas().await)
    }
}

impl ChainCheck for FacilitatorCheck {
    fn check(&self) -> BoxFuture<'_, Findings> {
        Box::pin(async move { Findings::from_mismatches(self.mismatches().await) })
    }
}

impl ChainCheck for BaseCheck {
    fn check(&self) -> BoxFuture<'_, Findings> {
        Box::pin(self.all())
    }
}

/// Parses a number in the format of Ethereum's JSON-RPC.
fn quantity(value: &Value) -> Result<u64, String> {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x"));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(|| "not a number".to_owned())
}

/// Converts wei to ether, truncated to nine decimal places.
fn ether(wei: U256) -> Decimal {
    let gwei = wei / U256::from(1_000_000_000);
    Decimal::new(i64::try_from(gwei).unwrap_or(i64::MAX), 9).normalize()
}

#[cfg(test)]
mod tests;
