//! A chain with USDC, Multicall3, gas keys and payers, a store, and the port between them.

use std::sync::Arc;
use std::time::Duration;

use purser::settlement::evm::{BaseSettings, BaseSettlement, FinalityStep, OpenError, TokenSettings};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, ChainStatus, EvmAuthorization, EvmSignature, Preparation, PreparedTransaction, Settlement as _,
    SubmitResult,
};
use purser_chains::evm::blocks::Finality;
use purser_chains::evm::key::EvmKey;
use purser_chains::evm::multicall::MULTICALL3;
use purser_chains::evm::node::{BlockTag, CallRequest, FeePolicy, Node};
use purser_chains::evm::tx::{Fee, Transaction};
use purser_chains::evm::usdc::{self, Token};
use purser_chains::evm::{Address, Bytes, U256};
use purser_chains::rpc::{EndpointSettings, EndpointUrl, HttpTransport, SystemClock};
use purser_storage::{JournalStore, Store, StoreLimits, StoreOptions};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

use crate::base::anvil::{Anvil, client, pool};

pub const CHAIN_ID: u64 = 8453;
/// What each payer has and signs away, in base units.
pub const VALUE: u64 = 1_000_000;
pub const POLICY: FeePolicy = FeePolicy {
    min_priority_fee: 1_000,
    max_priority_fee: 1_000_000_000,
    max_fee: 500_000_000_000,
};

pub struct Harness {
    pub anvil: Anvil,
    pub node: Node,
    pub token: Token,
    pub port: Option<Arc<BaseSettlement>>,
    pub store: Arc<JournalStore>,
    /// How the next port is opened.
    pub urls: Vec<String>,
    pub gas_keys: Vec<&'static str>,
    pub finality: Finality,
    /// Of each endpoint, for one exchange.
    pub timeout: Duration,
    _folder: TempDir,
}

/// Of a name, always the same.
pub fn key(name: &str) -> EvmKey {
    EvmKey::from_bytes(Zeroizing::new(Sha256::digest(name).into())).unwrap()
}

pub fn hex(value: impl std::fmt::LowerHex) -> Value {
    json!(format!("{value:#x}"))
}

pub fn treasury() -> Address {
    key("treasury").address()
}

pub fn payer(n: usize) -> Address {
    key(&format!("payer {n}")).address()
}

/// Until it holds; what is asked may take some blocks.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not within 30 s: {what}");
}

impl Harness {
    /// Starts with this number of payers, 1 USDC each. `None`: the tool is missing, which was reported.
    pub async fn start(payers: usize) -> Option<Self> {
        let mut world = Self::closed(payers).await?;
        world.open().await;
        Some(world)
    }

    /// The same without a port.
    pub async fn closed(payers: usize) -> Option<Self> {
        Self::closed_on(Anvil::start()?, payers).await
    }

    /// The same with a chain whose `safe` is 32 blocks behind and `finalized` 64, as Base's are at the least.
    pub async fn deep(payers: usize) -> Option<Self> {
        let mut world = Self::closed_on(Anvil::start_with(32)?, payers).await?;
        world.open().await;
        Some(world)
    }

    pub async fn closed_on(anvil: Anvil, payers: usize) -> Option<Self> {
        let node = Node::new(Arc::new(pool(&[&anvil.url])));
        let address: Address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".parse().unwrap();
        let contracts: Value =
            serde_json::from_str(include_str!("../../../src/chains/tests/anvil/contracts.json")).unwrap();
        for (address, contract) in [(address, "USDC"), (MULTICALL3, "Batch")] {
            let code = &contracts["runtime"][contract];
            anvil.control("anvil_setCode", json!([hex(address), code])).await;
        }
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            dir: folder.path().join("store"),
            limits: StoreLimits::sandbox(),
            clock: Arc::new(|| 1_000_000),
        };
        let world = Self {
            urls: vec![anvil.url.clone(), anvil.url.replace("127.0.0.1", "localhost")],
            anvil,
            node,
            token: Token::new(CHAIN_ID, address, "USD Coin", "2"),
            port: None,
            store: JournalStore::open(options).unwrap(),
            gas_keys: vec!["gas"],
            finality: Finality::Blocks(2),
            timeout: Duration::from_secs(5),
            _folder: folder,
        };
        for name in ["gas", "gas 2", "stranger"] {
            world.send_ether(key(name).address(), "0xde0b6b3a7640000").await;
        }
        for n in 0..payers {
            world.send_usdc(payer(n), VALUE).await;
        }
        world.anvil.mine(12).await;
        Some(world)
    }

    pub fn settings(&self) -> BaseSettings {
        let token = TokenSettings {
            address: self.token.address(),
            name: "USD Coin".to_owned(),
            version: "2".to_owned(),
        };
        let endpoints = self.urls.iter().map(|url| EndpointSettings {
            rate: 10_000,
            burst: 10_000,
            timeout: self.timeout,
            ..EndpointSettings::new(EndpointUrl::parse(url).unwrap())
        });
        let gas_keys = self.gas_keys.iter().map(|name| key(name)).collect();
        let settings = BaseSettings::new(CHAIN_ID, token, endpoints.collect(), key("treasury"), gas_keys);
        BaseSettings {
            fees: POLICY,
            // Without a gas key a facilitator submits.
            is_facilitated: self.gas_keys.is_empty(),
            resend_ms: 300,
            replace_ms: 700,
            gap_ms: 500,
            nonce_conflict_ms: 1_500,
            poll_ms: 30,
            tick_ms: 50,
            finality: vec![FinalityStep {
                up_to: Usdc::from_atomic(u64::MAX),
                finality: self.finality,
            }],
            ..settings
        }
    }

    pub async fn try_open(&self, settings: BaseSettings) -> Result<BaseSettlement, OpenError> {
        let transport = Arc::new(HttpTransport::new(client()));
        let store: Arc<dyn Store> = self.store.clone();
        BaseSettlement::open(settings, store, transport, Arc::new(SystemClock::default())).await
    }

    pub async fn open(&mut self) {
        let port = self.try_open(self.settings()).await.unwrap();
        self.port = Some(Arc::new(port));
        self.read().await;
    }

    /// As if the process were killed: nothing is finished.
    pub async fn kill(&mut self) {
        self.port.take().unwrap().close().await;
    }

    pub fn port(&self) -> &Arc<BaseSettlement> {
        self.port.as_ref().unwrap()
    }

    pub async fn send_usdc(&self, to: Address, value: u64) {
        let params = json!([hex(to), hex(self.token.address()), hex(value)]);
        self.anvil.control("anvil_dealERC20", params).await;
    }

    pub async fn send_ether(&self, to: Address, wei: &str) {
        self.anvil.control("anvil_setBalance", json!([hex(to), wei])).await;
    }

    /// An authorization signed by this key.
    pub fn signed(&self, by: &str, to: Address, value: u64, valid_before: u64, nonce: u8) -> Authorization {
        self.signed_for(by, key(by).address(), to, value, valid_before, nonce)
    }

    /// The same of another's money: a contract wallet's by its owner.
    pub fn signed_for(
        &self,
        by: &str,
        from: Address,
        to: Address,
        value: u64,
        valid_before: u64,
        nonce: u8,
    ) -> Authorization {
        let authorization = usdc::Authorization {
            from,
            to,
            value: U256::from(value),
            valid_after: U256::ZERO,
            valid_before: U256::from(valid_before),
            nonce: [nonce; 32].into(),
        };
        let signature = key(by).sign(self.token.transfer_digest(&authorization)).unwrap();
        Authorization::Evm(EvmAuthorization {
            from: from.into_array(),
            to: to.into_array(),
            value: Usdc::from_atomic(value),
            valid_after: 0,
            valid_before,
            nonce: [nonce; 32],
            signature: EvmSignature::ecdsa(signature.to_bytes()),
        })
    }

    /// What a payer pays us with.
    pub fn payment(&self, n: usize) -> Authorization {
        self.signed(
            &format!("payer {n}"),
            treasury(),
            VALUE,
            u64::from(u32::MAX),
            n as u8 + 1,
        )
    }

    pub fn calldata(&self, authorization: &Authorization) -> Bytes {
        let Authorization::Evm(signed) = authorization else {
            panic!()
        };
        let fields = usdc::Authorization {
            from: signed.from.into(),
            to: signed.to.into(),
            value: U256::from(signed.value.atomic()),
            valid_after: U256::from(signed.valid_after),
            valid_before: U256::from(signed.valid_before),
            nonce: signed.nonce.into(),
        };
        usdc::transfer_bytes_call(&fields, signed.signature.as_bytes())
            .unwrap()
            .into()
    }

    /// Submits another party's transaction without mining it.
    pub async fn submit_foreign(&self, by: &str, nonce: u64, to: Address, data: Bytes) {
        self.submit_foreign_at(10, by, nonce, to, data).await;
    }

    /// The same at a multiple of the gas price, so that it goes before our transactions.
    pub async fn submit_foreign_at(&self, times: u128, by: &str, nonce: u64, to: Address, data: Bytes) {
        let fee = self.node.fees(POLICY).await.unwrap().fee;
        let transaction = Transaction {
            chain_id: CHAIN_ID,
            nonce,
            fee: Fee {
                max_fee: fee.max_fee * times,
                max_priority_fee: fee.max_priority_fee * times,
            },
            gas_limit: 1_000_000,
            to,
            value: U256::ZERO,
            data,
        };
        let signed = transaction.sign(&key(by)).unwrap();
        let answers = self.node.send_raw(&signed.bytes, signed.hash).await;
        assert!(answers.iter().all(|answer| answer.error.is_none()), "{answers:?}");
    }

    pub async fn prepare(&self, authorization: &Authorization) -> Preparation {
        self.port().prepare(authorization).await.unwrap()
    }

    /// In a task of its own, as the engine waits.
    pub fn submit(&self, authorization: &Authorization) -> JoinHandle<SubmitResult> {
        let (port, authorization) = (self.port().clone(), authorization.clone());
        tokio::spawn(async move {
            let prepared = PreparedTransaction {
                bytes: Vec::new(),
                transaction: String::new(),
            };
            port.submit(&authorization, &prepared).await.unwrap()
        })
    }

    pub async fn lookup(&self, authorization: &Authorization) -> ChainStatus {
        self.port().lookup(authorization, None).await.unwrap()
    }

    /// Makes blocks until it has an answer.
    pub async fn mined(&self, submitted: JoinHandle<SubmitResult>) -> SubmitResult {
        until("a submission is answered", async || {
            self.anvil.mine(1).await;
            submitted.is_finished().then_some(())
        })
        .await;
        submitted.await.unwrap()
    }

    /// Transactions in the pool that are in no block. Anvil removes a mined one a moment after its block is visible, so
    /// nonces decide, not the pool's counts.
    pub async fn pending(&self) -> usize {
        let content = self.anvil.control("txpool_inspect", json!([])).await;
        let mut count = 0;
        for part in ["pending", "queued"] {
            for (sender, transactions) in content[part].as_object().unwrap() {
                let mined = self
                    .anvil
                    .control("eth_getTransactionCount", json!([sender, "latest"]))
                    .await;
                let mined = u64::from_str_radix(mined.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
                let nonces = transactions.as_object().unwrap().keys();
                count += nonces.filter(|nonce| nonce.parse::<u64>().unwrap() >= mined).count();
            }
        }
        count
    }

    /// Waits until the pool has this number of transactions.
    pub async fn in_pool(&self, transactions: usize) {
        until("transactions are in the pool", async || {
            (self.pending().await == transactions).then_some(())
        })
        .await;
    }

    pub async fn balance(&self, of: Address) -> u64 {
        let request = CallRequest {
            from: of,
            to: self.token.address(),
            data: usdc::balance_call(of).into(),
            gas: 100_000,
        };
        let returned = self.node.call(&request, BlockTag::Latest).await.unwrap();
        usdc::decode_balance(&returned).unwrap().try_into().unwrap()
    }

    /// Until everything is read that the chain has.
    pub async fn read(&self) {
        let head = self.node.header(BlockTag::Latest).await.unwrap().unwrap();
        until("the newest block is read", async || {
            let checked = self.port().cross_checked().unwrap_or(head.number);
            let is_read = self.port().height() == Some(head.number) && checked == head.number;
            (is_read && self.port().accepts_payments()).then_some(())
        })
        .await;
    }

    /// Rows under a prefix of the port's table.
    pub async fn rows(&self, of: u8) -> usize {
        let prefix = [purser_actors::kernel::table::BASE, of];
        self.store.scan(&prefix, None, 10_000).await.unwrap().len()
    }

    /// Every payment of these payers settled once, and nothing is left to be done once all is final.
    pub async fn assert_settled_once(&self, payers: &[usize]) {
        assert_eq!(self.balance(treasury()).await, VALUE * payers.len() as u64);
        for n in payers {
            let landed = self.lookup(&self.payment(*n)).await;
            assert!(matches!(landed, ChainStatus::Confirmed { .. }), "payer {n}: {landed:?}");
        }
        until("no transaction is left", async || {
            self.anvil.mine(1).await;
            let left = self.rows(b'n').await + self.rows(b'w').await + self.rows(b'x').await + self.rows(b'c').await;
            (left == 0).then_some(())
        })
        .await;
        assert_eq!(self.pending().await, 0);
    }
}
