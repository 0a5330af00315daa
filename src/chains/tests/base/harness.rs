//! What a settlement port does with the parts of the crate, without its durable store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use purser_chains::evm::blocks::{Block, Change, Follower};
use purser_chains::evm::key::EvmKey;
use purser_chains::evm::multicall::{self, BatchCall, GasSettings, Group, MULTICALL3};
use purser_chains::evm::node::{BlockTag, CallRequest, FeePolicy, LogFilter, Node, NodeError, Receipt};
use purser_chains::evm::nonces::{
    Action, Alarm, Attempt, Counts, NonceError, NonceManager, NonceSettings, ReleaseReason, Row, SendReply,
};
use purser_chains::evm::tx::{Fee, Transaction};
use purser_chains::evm::usdc::{self, Authorization, Movement, MovementKind, TOPICS, Token, TransferRef};
use purser_chains::evm::{Address, B256, Bytes, U256};
use purser_chains::rpc::RpcPool;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::base::anvil::{Anvil, pool};

pub const CHAIN_ID: u64 = 8453;
pub const VALUE: u64 = 1_000_000;
pub const POLICY: FeePolicy = FeePolicy {
    min_priority_fee: 1_000,
    max_priority_fee: 1_000_000_000,
    max_fee: 500_000_000_000,
};

pub struct Payment {
    pub authorization: Authorization,
    pub signature: [u8; 65],
}

pub struct Harness {
    pub anvil: Anvil,
    pub node: Node,
    pub token: Token,
    pub treasury: Address,
    pub key: EvmKey,
    pub payments: Vec<Payment>,
    pub manager: NonceManager<usize>,
    pub rows: BTreeMap<u64, Row<usize>>,
    pub released: Vec<(BTreeSet<usize>, ReleaseReason)>,
    pub alarms: Vec<Alarm>,
    pub replies: Vec<SendReply>,
    pub follower: Follower<Movement>,
    pub movements: BTreeMap<TransferRef, Movement>,
    pub removed_blocks: usize,
    pub gas: GasSettings,
    /// Gas limits by nonce.
    pub gas_limits: BTreeMap<u64, u64>,
    pub now_ms: u64,
    /// Newest price known.
    pub fee: Fee,
}

pub fn key(name: &str) -> EvmKey {
    EvmKey::from_bytes(Zeroizing::new(Sha256::digest(name).into())).unwrap()
}

pub fn hex(value: impl std::fmt::LowerHex) -> Value {
    json!(format!("{value:#x}"))
}

impl Harness {
    /// A chain with USDC, Multicall3, a gas key with 1 ether, and payers with 1 USDC each who have signed it away.
    pub async fn start(payers: usize) -> Option<Self> {
        Self::start_over(payers, |url| pool(&[url])).await
    }

    /// The same over other endpoints of the chain at this URL.
    pub async fn start_over(payers: usize, endpoints: impl FnOnce(&str) -> RpcPool) -> Option<Self> {
        let anvil = Anvil::start()?;
        let node = Node::new(Arc::new(endpoints(&anvil.url)));
        let address: Address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".parse().unwrap();
        let contracts: Value = serde_json::from_str(include_str!("../anvil/contracts.json")).unwrap();
        for (address, contract) in [(address, "USDC"), (MULTICALL3, "Batch")] {
            let code = &contracts["runtime"][contract];
            anvil.control("anvil_setCode", json!([hex(address), code])).await;
        }
        let (key, treasury) = (key("gas"), key("treasury").address());
        anvil
            .control("anvil_setBalance", json!([hex(key.address()), "0xde0b6b3a7640000"]))
            .await;
        anvil.mine(1).await;
        let settings = NonceSettings::new(POLICY.max_fee);
        let (manager, _) = NonceManager::start(settings, vec![], Counts::default(), 0, 0);
        let mut harness = Self {
            anvil,
            node,
            token: Token::new(CHAIN_ID, address, "USD Coin", "2"),
            treasury,
            key,
            payments: vec![],
            manager,
            rows: BTreeMap::new(),
            released: vec![],
            alarms: vec![],
            replies: vec![],
            follower: Follower::new(0, vec![]).unwrap(),
            movements: BTreeMap::new(),
            removed_blocks: 0,
            gas: GasSettings::default(),
            gas_limits: BTreeMap::new(),
            now_ms: 0,
            fee: Fee {
                max_fee: 2_000_000_000,
                max_priority_fee: 1_000,
            },
        };
        for payer in 0..payers {
            harness.add_payment(payer).await;
        }
        harness.anvil.mine(1).await;
        Some(harness)
    }

    pub fn payer(&self, payment: usize) -> Address {
        self.payments[payment].authorization.from
    }

    async fn add_payment(&mut self, payer: usize) {
        let key = key(&format!("payer {payer}"));
        let params = json!([hex(key.address()), hex(self.token.address()), hex(VALUE)]);
        self.anvil.control("anvil_dealERC20", params).await;
        let authorization = Authorization {
            from: key.address(),
            to: self.treasury,
            value: U256::from(VALUE),
            valid_after: U256::ZERO,
            valid_before: U256::from(u32::MAX),
            nonce: B256::repeat_byte(payer as u8 + 1),
        };
        let signature = key.sign(self.token.transfer_digest(&authorization)).unwrap().to_bytes();
        self.payments.push(Payment {
            authorization,
            signature,
        });
    }

    pub fn calldata(&self, payment: usize) -> Bytes {
        let Payment {
            authorization,
            signature,
        } = &self.payments[payment];
        usdc::transfer_bytes_call(authorization, signature).unwrap().into()
    }

    // Where a transaction of these payments goes.
    pub fn call(&self, payments: &[usize]) -> (Address, Bytes) {
        match payments {
            [] => (self.key.address(), Bytes::new()),
            [payment] => (self.token.address(), self.calldata(*payment)),
            payments => {
                let target = self.token.address();
                let calls = payments.iter().map(|payment| BatchCall {
                    target,
                    data: self.calldata(*payment),
                });
                (
                    MULTICALL3,
                    multicall::encode(&calls.collect::<Vec<_>>()).unwrap().into(),
                )
            }
        }
    }

    /// Which payments of a batch would settle now, by one call.
    pub async fn simulate(&self, payments: &[usize]) -> Vec<multicall::CallResult> {
        let target = self.token.address();
        let calls = payments.iter().map(|payment| BatchCall {
            target,
            data: self.calldata(*payment),
        });
        let data = multicall::encode(&calls.collect::<Vec<_>>()).unwrap().into();
        let request = CallRequest {
            from: self.key.address(),
            to: MULTICALL3,
            data,
            gas: multicall::MAX_GAS,
        };
        let returned = self.node.call(&request, BlockTag::Latest).await.unwrap();
        multicall::decode(&returned, payments.len()).unwrap()
    }

    /// Reserves, signs, stores and sends; not mined yet.
    pub async fn send(&mut self, group: &Group<usize>) -> u64 {
        let nonce = self.manager.reserve(group.payments.clone(), self.now_ms).unwrap();
        self.gas_limits.insert(nonce, group.gas_limit);
        if let Ok(quote) = self.node.fees(POLICY).await {
            self.fee = quote.fee;
        }
        let (fee, payments) = (self.fee, group.payments.clone());
        self.execute(vec![Action::Sign { nonce, fee, payments }]).await;
        nonce
    }

    fn sign(&mut self, nonce: u64, fee: Fee, payments: &[usize]) -> Vec<Action<usize>> {
        let (to, data) = self.call(payments);
        let gas_limit = if payments.is_empty() {
            21_000
        } else {
            self.gas_limits[&nonce]
        };
        let transaction = Transaction {
            chain_id: CHAIN_ID,
            nonce,
            fee,
            gas_limit,
            to,
            value: U256::ZERO,
            data,
        };
        let signed = transaction.sign(&self.key).unwrap();
        let filler = payments.is_empty();
        let attempt = Attempt {
            hash: signed.hash,
            bytes: signed.bytes,
            fee,
            filler,
        };
        let row = match self.manager.signed(nonce, attempt, self.now_ms) {
            Ok(row) => row.clone(),
            Err(NonceError::Used) => {
                let payments = payments.iter().copied().collect();
                self.released.push((payments, ReleaseReason::ForeignTransaction));
                return vec![];
            }
            Err(error) => panic!("{error}"),
        };
        self.rows.insert(nonce, row);
        self.manager.stored(nonce, self.now_ms)
    }

    pub async fn execute(&mut self, actions: Vec<Action<usize>>) {
        let mut queue = VecDeque::from(actions);
        while let Some(action) = queue.pop_front() {
            match action {
                Action::Store { nonce } => {
                    self.rows.insert(nonce, self.manager.row(nonce).unwrap().clone());
                }
                Action::Forget { nonce } => {
                    self.rows.remove(&nonce).unwrap();
                }
                Action::Sign { nonce, fee, payments } => queue.extend(self.sign(nonce, fee, &payments)),
                Action::Send { nonce } => {
                    let attempt = self.rows[&nonce].current().unwrap().clone();
                    for answer in self.node.send_raw(&attempt.bytes, attempt.hash).await {
                        self.replies.push(answer.reply);
                        queue.extend(self.manager.replied(nonce, attempt.hash, answer.reply, self.now_ms));
                    }
                }
                Action::FindReceipts { nonce, hashes } => {
                    if let Ok(actions) = self.find(nonce, &hashes).await {
                        queue.extend(actions);
                    }
                }
                Action::Release { payments, reason, .. } => {
                    self.released.push((payments.into_iter().collect(), reason));
                }
                Action::Alarm(alarm) => self.alarms.push(alarm),
            }
        }
    }

    // Absent is only what every endpoint denies.
    async fn find(&mut self, nonce: u64, hashes: &[B256]) -> Result<Vec<Action<usize>>, NodeError> {
        for hash in hashes {
            if let Some(receipt) = self.node.receipt(*hash).await? {
                return Ok(self.mined(nonce, &receipt));
            }
        }
        for hash in hashes {
            for receipt in self.node.receipts_of_each(*hash).await {
                if receipt?.is_some() {
                    return Ok(vec![]);
                }
            }
        }
        Ok(self.manager.not_found(nonce))
    }

    fn mined(&mut self, nonce: u64, receipt: &Receipt) -> Vec<Action<usize>> {
        let settled: BTreeSet<B256> = usdc::movements(self.token.address(), &receipt.logs)
            .unwrap()
            .into_iter()
            .filter_map(|movement| match movement.kind {
                MovementKind::Transfer { authorization, .. } => authorization,
                MovementKind::Canceled { .. } => None,
            })
            .collect();
        let payments = &self.rows[&nonce].payments;
        let unsettled = |payment: &&usize| !settled.contains(&self.payments[**payment].authorization.nonce);
        let unsettled: Vec<usize> = payments.iter().filter(unsettled).copied().collect();
        self.manager
            .mined(nonce, receipt.transaction, receipt.block_number, &unsettled)
    }

    pub async fn counts(&self) -> Result<Counts, NodeError> {
        let count = async |tag| self.node.transaction_count(self.key.address(), tag).await;
        Ok(Counts {
            latest: count(BlockTag::Latest).await?,
            finalized: count(BlockTag::Finalized).await?,
        })
    }

    /// Some time passes: the follower reads what is new, the manager does what is due.
    pub async fn step(&mut self, ms: u64) {
        self.try_step(ms).await.unwrap();
    }

    pub async fn try_step(&mut self, ms: u64) -> Result<(), NodeError> {
        self.now_ms += ms;
        self.try_follow().await?;
        let counts = self.counts().await?;
        let actions = self.manager.counted(counts, self.now_ms);
        self.execute(actions).await;
        let fee = self.node.fees(POLICY).await?.fee;
        let actions = self.manager.tick(fee, self.now_ms);
        self.execute(actions).await;
        Ok(())
    }

    pub async fn follow(&mut self) {
        self.try_follow().await.unwrap();
    }

    async fn try_follow(&mut self) -> Result<(), NodeError> {
        let filter = LogFilter {
            address: self.token.address(),
            topics: vec![TOPICS.to_vec()],
        };
        let Some(head) = self.node.header(BlockTag::Latest).await? else {
            return Ok(());
        };
        let safe = self.node.header(BlockTag::Safe).await?;
        let finalized = self.node.header(BlockTag::Finalized).await?;
        while let Some(next) = self.follower.next(&head) {
            let Some(found) = self.node.block(next, std::slice::from_ref(&filter)).await? else {
                self.follower.abandon_branch();
                return Ok(());
            };
            let rows = usdc::movements(self.token.address(), &found.logs).unwrap();
            let header = found.header;
            let change = self.follower.offer(Block { header, rows }).unwrap();
            self.apply(change);
        }
        self.follower.observe(safe, finalized);
        Ok(())
    }

    fn apply(&mut self, change: Option<Change<Movement>>) {
        let added = match change {
            None => vec![],
            Some(Change::Extended(block)) => vec![block],
            Some(Change::Reorganized { removed, added }) => {
                self.removed_blocks += removed.len();
                self.movements
                    .retain(|_, movement| removed.iter().all(|header| header.hash != movement.block_hash));
                self.manager.reorganized(removed.last().unwrap().number);
                added
            }
        };
        for movement in added.into_iter().flat_map(|block| block.rows) {
            assert_eq!(self.movements.insert(movement.reference, movement), None);
        }
    }
}
