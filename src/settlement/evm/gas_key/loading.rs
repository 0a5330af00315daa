//! Start of a gas key: compares its rows with the chain.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use purser_chains::evm::multicall::Stage;
use purser_chains::evm::node::{BlockTag, NodeError};
use purser_chains::evm::nonces::{Attempt, Counts, NonceManager, Row};
use purser_chains::evm::tx::{Fee, SignedTransaction};
use purser_chains::evm::{Address, U256};
use purser_storage::codec;
use ractor::ActorRef;

use super::{Core, GasKeyActor, GasKeyState, Message, NonceRecord, State};
use crate::evm::job::Job;
use crate::evm::rows::{self, Key, NonceRow, RowError};

/// Number of a key's transactions in the newest block, and in the block on which proofs rest. If there are two
/// endpoints, two must agree: a nonce skipped or wrongly counted as used stops the key.
pub(super) async fn counts(core: &Core, address: Address) -> Result<Counts, NodeError> {
    let method = "eth_getTransactionCount";
    let tag = core.proof_tag().ok_or(NodeError::Malformed { method })?;
    // The lower block first: a block added in between must not give it the higher count.
    let finalized = core.node.count_by_two(address, tag).await?;
    let latest = core.node.count_by_two(address, BlockTag::Latest).await?;
    Ok(Counts { latest, finalized })
}

/// A row as it was stored.
struct Loaded {
    row: Row<Key>,
    form: NonceRecord,
    payments: Vec<Job>,
}

impl GasKeyActor {
    /// Reads the rows, queries the chain, and executes the resulting actions. Without a response of the chain it tries
    /// again.
    pub(super) async fn start(&self, myself: &ActorRef<Message>, early: Vec<Arc<Job>>) -> Result<State, RowError> {
        let (core, address) = (&self.core, self.address());
        let loaded = self.load().await?;
        let asked = async {
            let counts = counts(core, address).await?;
            let pending = core.node.count_by_two(address, BlockTag::Pending).await?;
            let quote = core.node.fees(core.settings.fees).await?;
            Ok::<_, NodeError>((counts, pending, quote))
        };
        let (counts, pending, quote) = match asked.await {
            Ok(asked) => asked,
            Err(error) => {
                // A chain that was not verified is not queried.
                if core.gate.is_open() {
                    core.alarm_once(&format!("gas key {address} waits for the chain"), &error.to_string());
                }
                return Ok(State::Starting(early));
            }
        };
        let (mut rows, mut forms) = (Vec::new(), HashMap::new());
        let (mut payments, mut placed) = (HashMap::new(), HashMap::new());
        for loaded in loaded {
            let (row, kept) = (loaded.row, loaded.payments.into_iter());
            for payment in kept.filter(|payment| !row.released && row.payments.contains(&payment.key())) {
                placed.insert(payment.key(), row.nonce);
                payments.insert(payment.key(), Arc::new(payment));
            }
            forms.insert(row.nonce, loaded.form);
            rows.push(row);
        }
        let found = rows.len();
        let settings = core.settings.nonces();
        let (manager, actions) = NonceManager::start(settings, rows, counts, pending, self.now_ms());
        let mut keeper = GasKeyState {
            manager,
            payments,
            waiting: VecDeque::new(),
            retry: VecDeque::new(),
            durable: HashSet::new(),
            nonces: placed,
            records: forms,
            busy: false,
            due: false,
            quote,
            writes: Vec::new(),
            searching: HashSet::new(),
            with_code: HashSet::new(),
            waiting_with_code: VecDeque::new(),
        };
        for (_, value) in rows::scan_all(&*core.store, &rows::waiting_of(&address)).await? {
            let payment = Job::decode_waiting(&value)?;
            keeper.durable.insert(payment.key());
            keeper.enqueue(Arc::new(payment));
        }
        early.into_iter().for_each(|payment| keeper.enqueue(payment));
        tracing::info!(key = %address, rows = found, latest = counts.latest, pending, "a gas key is ready");
        self.execute(myself, &mut keeper, actions).await?;
        self.flush(&mut keeper).await?;
        self.plan(myself, &mut keeper).await?;
        Ok(State::Running(Box::new(keeper)))
    }

    async fn load(&self) -> Result<Vec<Loaded>, RowError> {
        let mut loaded = Vec::new();
        for (key, value) in rows::scan_all(&*self.core.store, &rows::nonces_of(&self.address())).await? {
            let nonce = rows::last_number(&key).ok_or_else(|| RowError("the key of a nonce".into()))?;
            loaded.push(self.load_row(nonce, codec::decode(&value)?).await?);
        }
        Ok(loaded)
    }

    async fn load_row(&self, nonce: u64, stored: NonceRow) -> Result<Loaded, RowError> {
        let (core, address) = (&self.core, self.address());
        let payments = transaction_jobs(core, &address, nonce).await?;
        let damaged = || RowError(format!("the row of nonce {nonce} of {address} is damaged"));
        let mut attempts = Vec::new();
        let mut gas_limit = 0;
        for (attempt, n) in stored.attempts.iter().zip(0_u16..) {
            let bytes = rows::read_pieces(&*core.store, &rows::attempt(&address, nonce, n)).await?;
            let parsed = SignedTransaction::parse(&bytes).map_err(|_| damaged())?;
            if parsed.hash.0 != attempt.hash || parsed.transaction.nonce != nonce {
                return Err(damaged());
            }
            if !attempt.filler {
                gas_limit = parsed.transaction.gas_limit;
            }
            attempts.push(Attempt {
                hash: attempt.hash.into(),
                bytes,
                fee: Fee {
                    max_fee: attempt.max_fee,
                    max_priority_fee: attempt.max_priority_fee,
                },
                filler: attempt.filler,
            });
        }
        let keys: Vec<Key> = payments.iter().map(Job::key).collect();
        let kept = stored.payments.iter().map(|n| keys.get(usize::from(*n)).copied());
        let kept: Vec<Key> = kept.collect::<Option<_>>().ok_or_else(damaged)?;
        Ok(Loaded {
            row: Row {
                nonce,
                payments: kept,
                attempts,
                released: stored.released,
                canceled: stored.canceled,
            },
            form: NonceRecord {
                keys,
                content_bytes: stored.content_bytes,
                lengths: stored.attempts.iter().map(|attempt| attempt.length).collect(),
                stage: Stage::First,
                gas_limit,
                counted: false,
                lost_gas: U256::ZERO,
            },
            payments,
        })
    }
}

/// The jobs of a transaction.
pub(in crate::evm) async fn transaction_jobs(core: &Core, gas_key: &Address, nonce: u64) -> Result<Vec<Job>, RowError> {
    let bytes = rows::read_pieces(&*core.store, &rows::transaction_payments(gas_key, nonce)).await?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    Ok(Job::decode_carried(&bytes)?)
}
