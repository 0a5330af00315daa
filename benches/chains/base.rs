//! The port for Base alone, on anvil, beside raw `aggregate3` batches of the same transfers on the same anvil.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use purser::settlement::evm::{BaseSettings, BaseSettlement, TokenSettings};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, EvmAuthorization, EvmSignature};
use purser_chains::evm::key::EvmKey;
use purser_chains::evm::multicall::{self, BatchCall, MAX_CALLS, MAX_GAS, MULTICALL3};
use purser_chains::evm::node::{BlockTag, CallRequest, FeePolicy, Node};
use purser_chains::evm::tx::{SignedTransaction, Transaction};
use purser_chains::evm::usdc::{self, Token};
use purser_chains::evm::{Address, U256};
use purser_chains::rpc::{EndpointSettings, EndpointUrl, SystemClock};
use purser_storage::{JournalStore, Store, StoreLimits, StoreOptions};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::anvil::{Anvil, pool};
use super::methods::CountedTransport;
use super::port::{self, Rounds, VALUE, moved};
use crate::report::Sample;
use crate::{Fault, Plan, host_info};

/// Where USDC is on Base.
pub(super) const USDC: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
/// As much as a round can cost.
const ETHER: &str = "0x3635c9adc5dea00000";
const CHAIN_ID: u64 = 8453;
/// Of Base, in gas of a block.
const BLOCK_GAS: u64 = 400_000_000;
/// Who pays: each several times.
const PAYERS: usize = 256;
/// Payments that are inside the port at once.
const MAX_CONCURRENT_PAYMENTS: usize = 1_024;
const POLICY: FeePolicy = FeePolicy {
    min_priority_fee: 1_000_000,
    max_priority_fee: 1_000_000_000,
    max_fee: 5_000_000_000,
};

/// A node of Base with USDC and Multicall3, which makes a block of each transaction at once.
pub(super) struct Base {
    pub(super) anvil: Anvil,
    node: Node,
    token: Token,
    nonces: AtomicU64,
}

fn key(name: &str) -> Result<EvmKey, Fault> {
    Ok(EvmKey::from_bytes(Zeroizing::new(Sha256::digest(name).into()))?)
}

fn hex(value: impl std::fmt::LowerHex) -> Value {
    json!(format!("{value:#x}"))
}

impl Base {
    pub(super) async fn start() -> Result<Self, Fault> {
        let anvil = Anvil::start_with(4).ok_or("anvil is not there")?;
        let contracts: Value = serde_json::from_str(include_str!("../../src/chains/tests/anvil/contracts.json"))?;
        for (address, contract) in [(USDC, "USDC"), (&MULTICALL3.to_string(), "Batch")] {
            let code = &contracts["runtime"][contract];
            anvil.control("anvil_setCode", json!([address, code])).await;
        }
        anvil.control("evm_setBlockGasLimit", json!([hex(BLOCK_GAS)])).await;
        anvil.control("evm_setAutomine", json!([true])).await;
        let base = Self {
            node: Node::new(Arc::new(pool(&[&anvil.url]))),
            anvil,
            token: Token::new(CHAIN_ID, USDC.parse()?, "USD Coin", "2"),
            nonces: AtomicU64::new(0),
        };
        base.anvil.mine(12).await;
        Ok(base)
    }

    /// Blocks come at the pace of Base's from now on.
    pub(super) async fn mine_as_base(&self) {
        self.anvil.control("evm_setAutomine", json!([false])).await;
        self.anvil.control("evm_setIntervalMining", json!([2])).await;
    }

    pub(super) async fn fund_ether(&self, to: &str) {
        self.anvil.control("anvil_setBalance", json!([to, ETHER])).await;
    }

    pub(super) async fn fund_usdc(&self, to: &str, value: u64) {
        let value = hex(value);
        self.anvil.control("anvil_dealERC20", json!([to, USDC, value])).await;
    }

    /// USDC for every payer.
    pub(super) async fn fund_payers(&self) -> Result<(), Fault> {
        for n in 0..PAYERS {
            self.fund_usdc(&key(&format!("payer {n}"))?.address().to_string(), 1 << 50)
                .await;
        }
        Ok(())
    }

    pub(super) async fn usdc_balance(&self, of: Address) -> Result<u64, Fault> {
        let request = CallRequest {
            from: of,
            to: self.token.address(),
            data: usdc::balance_call(of).into(),
            gas: 100_000,
        };
        let returned = self.node.call(&request, BlockTag::Latest).await?;
        Ok(usdc::decode_balance(&returned).ok_or("no balance")?.try_into()?)
    }

    /// New payments to this address, dealt out over the payers.
    pub(super) fn sign(&self, to: Address, count: usize) -> Result<Vec<Authorization>, Fault> {
        let payers: Vec<EvmKey> = (0..PAYERS)
            .map(|n| key(&format!("payer {n}")))
            .collect::<Result<_, _>>()?;
        let sign = |payer: &EvmKey| {
            let n = self.nonces.fetch_add(1, Ordering::Relaxed);
            let authorization = usdc::Authorization {
                from: payer.address(),
                to,
                value: U256::from(VALUE),
                valid_after: U256::ZERO,
                valid_before: U256::from(u32::MAX),
                nonce: <[u8; 32]>::from(Sha256::digest(n.to_be_bytes())).into(),
            };
            let signature = payer.sign(self.token.transfer_digest(&authorization))?;
            Ok(Authorization::Evm(EvmAuthorization {
                from: payer.address().into_array(),
                to: to.into_array(),
                value: Usdc::from_atomic(VALUE),
                valid_after: 0,
                valid_before: u64::from(u32::MAX),
                nonce: authorization.nonce.0,
                signature: EvmSignature::ecdsa(signature.to_bytes()),
            }))
        };
        payers.iter().cycle().take(count).map(sign).collect()
    }

    /// What a block costs now.
    async fn transaction(
        &self,
        gas_key: &EvmKey,
        nonce: u64,
        batch: &[Authorization],
    ) -> Result<SignedTransaction, Fault> {
        let call = |payment: &Authorization| {
            let Authorization::Evm(signed) = payment else {
                return Err(Fault::from("a payment of another chain"));
            };
            let fields = usdc::Authorization {
                from: signed.from.into(),
                to: signed.to.into(),
                value: U256::from(signed.value.atomic()),
                valid_after: U256::from(signed.valid_after),
                valid_before: U256::from(signed.valid_before),
                nonce: signed.nonce.into(),
            };
            let data = usdc::transfer_bytes_call(&fields, signed.signature.as_bytes())?.into();
            let target = self.token.address();
            Ok(BatchCall { target, data })
        };
        let calls: Vec<BatchCall> = batch.iter().map(call).collect::<Result<_, _>>()?;
        let transaction = Transaction {
            chain_id: CHAIN_ID,
            nonce,
            fee: self.node.fees(POLICY).await?.fee,
            gas_limit: MAX_GAS,
            to: MULTICALL3,
            value: U256::ZERO,
            data: multicall::encode(&calls)?.into(),
        };
        Ok(transaction.sign(gas_key)?)
    }

    /// Batches of as many as one transaction takes, made before the clock starts, all sent at once; until every receipt is there.
    async fn raw(&self, count: usize) -> Result<Sample, Fault> {
        let (gas_key, to) = (key("raw gas key")?, key("raw treasury")?.address());
        self.fund_ether(&gas_key.address().to_string()).await;
        let first = self.node.transaction_count(gas_key.address(), BlockTag::Latest).await?;
        let payments = self.sign(to, count)?;
        let mut transactions = Vec::new();
        for (nonce, batch) in (first..).zip(payments.chunks(MAX_CALLS)) {
            transactions.push(self.transaction(&gas_key, nonce, batch).await?);
        }
        let before = self.usdc_balance(to).await?;
        let begun = Instant::now();
        let sent = transactions.iter().map(|signed| async {
            self.node.send_raw(&signed.bytes, signed.hash).await;
            loop {
                if let Some(receipt) = self.node.receipt(signed.hash).await? {
                    return Ok::<_, Fault>(receipt.success);
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        for success in join_all(sent).await {
            if !success? {
                return Err("a raw batch failed".into());
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        moved(before, self.usdc_balance(to).await?, count)?;
        Ok(Sample {
            count: count as u64,
            seconds,
            running: seconds,
            ..Sample::default()
        })
    }
}

/// The port on a store of its own.
pub(super) struct Port {
    pub(super) port: Arc<BaseSettlement>,
    pub(super) transport: Arc<CountedTransport>,
    _folder: tempfile::TempDir,
}

impl Port {
    /// With as many endpoints, all of them the same node, and the default settings.
    pub(super) async fn open(base: &Base, name: &str, endpoints: usize) -> Result<Self, Fault> {
        let folder = host_info::directory()?;
        let url = &base.anvil.url;
        let urls = [
            url.clone(),
            url.replace("127.0.0.1", "localhost"),
            format!("{url}/?third"),
        ];
        let endpoint = |url: &String| {
            Ok::<_, Fault>(EndpointSettings {
                rate: 100_000,
                burst: 100_000,
                ..EndpointSettings::new(EndpointUrl::parse(url)?)
            })
        };
        let endpoints = urls.iter().take(endpoints).map(endpoint).collect::<Result<_, _>>()?;
        let gas_key = key(&format!("gas key of {name}"))?;
        base.fund_ether(&gas_key.address().to_string()).await;
        let token = TokenSettings {
            address: USDC.parse()?,
            name: "USD Coin".to_owned(),
            version: "2".to_owned(),
        };
        let treasury = key(&format!("treasury of {name}"))?;
        let settings = BaseSettings::new(CHAIN_ID, token, endpoints, treasury, vec![gas_key]);
        let options = StoreOptions {
            dir: folder.path().join("store"),
            limits: StoreLimits::production(),
            clock: Arc::new(now_ms),
        };
        let store: Arc<dyn Store> = JournalStore::open(options)?;
        let transport = Arc::new(CountedTransport::new());
        let port = BaseSettlement::open(settings, store, transport.clone(), Arc::new(SystemClock::default())).await?;
        let port = Arc::new(port);
        while !port.accepts_payments() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Self {
            port,
            transport,
            _folder: folder,
        })
    }

    /// Calls of all endpoints.
    pub(super) fn calls(&self) -> u64 {
        self.port.endpoints().iter().map(|endpoint| endpoint.calls).sum()
    }

    /// Calls [`port::pay`] on this chain.
    pub(super) async fn pay(&self, payment: &Authorization) -> Result<u32, Fault> {
        port::pay(&*self.port, payment).await
    }

    /// This number of payments, and the calls that one costs.
    async fn settle(&self, base: &Base, count: usize) -> Result<(Sample, f64), Fault> {
        let to = self.port.treasury();
        let payments = base.sign(to, count)?;
        let (before, calls) = (base.usdc_balance(to).await?, self.calls());
        let sample = port::settle(&*self.port, &payments, MAX_CONCURRENT_PAYMENTS).await?;
        moved(before, base.usdc_balance(to).await?, count)?;
        Ok((sample, (self.calls() - calls) as f64 / count as f64))
    }
}

fn now_ms() -> u64 {
    use purser_actors::port::Clock as _;
    purser::system::SystemClock.now().0
}

const RAW: &str = "raw aggregate3";
const PORT: &str = "port, one endpoint";
const PORT_THREE: &str = "port, three endpoints (one node)";

/// Measures and prints.
pub(super) async fn run(plan: Plan) -> Result<(), Fault> {
    let base = Base::start().await?;
    base.fund_payers().await?;
    let one = Port::open(&base, "one", 1).await?;
    let three = Port::open(&base, "three", 3).await?;
    let mut rounds = Rounds::new([RAW, PORT, PORT_THREE]);
    for round in 0..=plan.rounds {
        let raw = base.raw(plan.payments).await?;
        let alone = one.settle(&base, plan.payments).await?;
        let together = three.settle(&base, plan.payments).await?;
        if round > 0 {
            rounds.add_round(raw, alone, together);
        }
    }
    let title = format!(
        "Base: {} payments a round on anvil, {MAX_CONCURRENT_PAYMENTS} at once, a block for each transaction",
        plan.payments
    );
    rounds.print(&title, "calls a payment");
    one.port.close().await;
    three.port.close().await;
    Ok(())
}
