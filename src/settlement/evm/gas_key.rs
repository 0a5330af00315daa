//! One actor per gas key, the only one that assigns the key's nonces. It only waits for the store. Chain queries run in
//! parallel and return as messages.

mod actions;
mod loading;
mod planning;
mod searching;
mod sending;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use purser_chains::evm::key::EvmKey;
use purser_chains::evm::multicall::{Group, Stage};
use purser_chains::evm::node::{BlockTag, FeeQuote, Receipt};
use purser_chains::evm::nonces::{Counts, NonceManager, SendReply};
use purser_chains::evm::{Address, B256, U256};
use purser_storage::Write;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::checking::Verdict;
use super::core::{Core, decline};
use super::job::Job;
use super::loads::Load;
use super::rows::{Key, RowError};

pub(super) use self::loading::transaction_jobs;

/// The actor of one key, identified by its index in the settings.
pub(super) struct GasKeyActor {
    pub(super) core: Arc<Core>,
    pub(super) index: usize,
}

/// Messages of the actor.
#[derive(Debug)]
pub(super) enum Message {
    /// Send this payment or mint, unless it is already in flight.
    Submit(Arc<Job>),
    /// Send the waiting payments.
    Plan,
    /// Check the chain.
    Tick,
    /// The key's transaction counts on the chain, and the current fees; `None` if no endpoint responded.
    Read(Option<Counts>, Option<FeeQuote>),
    /// Result of the check of a group.
    Planned(Vec<(Arc<Job>, Verdict)>, Option<Stage>),
    /// The group could not be checked.
    Unplanned(Vec<Arc<Job>>, Option<Stage>),
    /// Response of an endpoint to a sent transaction.
    Replied(u64, B256, SendReply),
    /// No endpoint accepts the transaction because of its content.
    Rejected(u64),
    /// An attempt is included in a block that was read.
    Mined(u64, Box<Receipt>),
    /// Two endpoints show that no attempt was included and that the nonce is used permanently.
    Absent(u64),
    /// The search has proven nothing yet.
    Searched(u64),
    /// How to send a failed group again.
    Split(Vec<Group<Key>>),
    /// Blocks from this one on were replaced.
    Reorganized(u64),
}

/// Storage form of a row.
pub(super) struct NonceRecord {
    /// Keys of its payments, in the order of the calls.
    keys: Vec<Key>,
    /// Size of the content in bytes.
    content_bytes: u32,
    /// Sizes of the stored attempts in bytes.
    lengths: Vec<u32>,
    /// Number of times that its payments had failed together.
    stage: Stage,
    gas_limit: u64,
    /// Whether its cost was counted.
    counted: bool,
    /// Gas spent on payments that it did not settle, in wei.
    lost_gas: U256,
}

/// State of the actor once it has read its rows and the chain.
pub(super) struct GasKeyState {
    manager: NonceManager<Key>,
    /// Payments that wait, or whose transaction is not included yet.
    payments: HashMap<Key, Arc<Job>>,
    waiting: VecDeque<Key>,
    retry: VecDeque<Group<Key>>,
    /// Payments that wait with their own row.
    durable: HashSet<Key>,
    /// The row of each payment, by nonce.
    nonces: HashMap<Key, u64>,
    records: HashMap<u64, NonceRecord>,
    /// Whether a group is being checked.
    busy: bool,
    /// Whether a `Plan` message is queued: payments submitted together are then sent together.
    due: bool,
    quote: FeeQuote,
    /// Writes that are not in the store yet.
    writes: Vec<Write>,
    searching: HashSet<u64>,
    /// Payments of payers with code that are in a row.
    with_code: HashSet<Key>,
    /// Payments of payers with code that wait until one of those is included.
    waiting_with_code: VecDeque<Key>,
}

/// Before the chain has responded, the state contains only submitted payments.
pub(super) enum State {
    Starting(Vec<Arc<Job>>),
    Running(Box<GasKeyState>),
}

impl Actor for GasKeyActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        self.core.loads.entry(self.address()).or_default().is_ready = false;
        drop(myself.cast(Message::Tick));
        Ok(State::Starting(Vec::new()))
    }

    async fn handle(
        &self,
        myself: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let keeper = match state {
            State::Running(keeper) => keeper,
            State::Starting(early) => match message {
                Message::Submit(payment) => {
                    early.push(payment);
                    return Ok(());
                }
                Message::Tick => {
                    let early = std::mem::take(early);
                    *state = self.start(&myself, early).await?;
                    let is_ready = matches!(state, State::Running(_));
                    self.core.loads.entry(self.address()).or_default().is_ready = is_ready;
                    self.schedule_tick(&myself);
                    return Ok(());
                }
                _ => return Ok(()),
            },
        };
        if let Message::Submit(payment) = message {
            keeper.enqueue(payment);
            // Queued after everything that was submitted until now.
            if !std::mem::replace(&mut keeper.due, true) {
                drop(myself.cast(Message::Plan));
            }
            return Ok(());
        }
        self.handle_message(&myself, keeper, message).await?;
        self.flush(keeper).await?;
        self.plan(&myself, keeper).await?;
        self.publish_load(keeper);
        Ok(())
    }
}

impl GasKeyActor {
    fn key(&self) -> &EvmKey {
        &self.core.settings.gas_keys[self.index]
    }

    fn address(&self) -> Address {
        self.key().address()
    }

    fn now_ms(&self) -> u64 {
        self.core.clock.now_ms()
    }

    fn schedule_tick(&self, myself: &ActorRef<Message>) {
        let pause = Duration::from_millis(self.core.settings.tick_ms.max(1));
        drop(myself.send_after(pause, || Message::Tick));
    }

    fn publish_load(&self, keeper: &GasKeyState) {
        let mut load = self.core.loads.entry(self.address()).or_default();
        load.payments = keeper.payments.len();
        load.has_nonce_conflict = keeper.manager.has_lasting_count_conflict();
    }

    async fn handle_message(
        &self,
        myself: &ActorRef<Message>,
        keeper: &mut GasKeyState,
        message: Message,
    ) -> Result<(), RowError> {
        let now_ms = self.now_ms();
        let actions = match message {
            Message::Submit(_) => return Ok(()),
            Message::Plan => {
                keeper.due = false;
                return Ok(());
            }
            Message::Tick => {
                self.query_chain(myself);
                return Ok(());
            }
            Message::Read(counts, quote) => {
                self.schedule_tick(myself);
                keeper.quote = quote.unwrap_or(keeper.quote);
                let mut actions = counts.map_or_else(Vec::new, |counts| keeper.manager.counted(counts, now_ms));
                actions.extend(keeper.manager.tick(keeper.quote.fee, now_ms));
                actions
            }
            Message::Planned(found, stage) => self.planned(keeper, found, stage).await,
            Message::Unplanned(payments, stage) => {
                keeper.busy = false;
                keeper.requeue(payments.iter().map(|payment| payment.key()).collect(), stage);
                // The next message attempts it again, at the latest the next tick.
                return Ok(());
            }
            Message::Replied(nonce, hash, reply) => keeper.manager.replied(nonce, hash, reply, now_ms),
            Message::Rejected(nonce) => keeper.manager.cancel(nonce),
            Message::Mined(nonce, receipt) => self.apply_receipt(keeper, nonce, &receipt),
            Message::Absent(nonce) => {
                keeper.searching.remove(&nonce);
                keeper.manager.not_found(nonce)
            }
            Message::Searched(nonce) => {
                keeper.searching.remove(&nonce);
                return Ok(());
            }
            Message::Split(groups) => {
                keeper.retry.extend(groups);
                return Ok(());
            }
            Message::Reorganized(lowest) => {
                keeper.manager.reorganized(lowest);
                return Ok(());
            }
        };
        self.execute(myself, keeper, actions).await
    }

    /// Queries the chain's state of the key.
    fn query_chain(&self, myself: &ActorRef<Message>) {
        let (core, address, myself) = (self.core.clone(), self.address(), myself.clone());
        tokio::spawn(async move {
            let counts = loading::counts(&core, address);
            let (counts, quote) = tokio::join!(counts, core.node.fees(core.settings.fees));
            if let Some(error) = counts.as_ref().err().or(quote.as_ref().err()) {
                tracing::debug!(key = %address, %error, "the chain does not report the state of a gas key");
            }
            if core.needs_balance_check(&address)
                && let Ok(wei) = core.node.balance(address, BlockTag::Latest).await
            {
                core.record_balance(address, wei);
            }
            drop(myself.cast(Message::Read(counts.ok(), quote.ok())));
        });
    }
}

impl GasKeyState {
    /// Queues a payment. It is sent once, however often it is submitted.
    fn enqueue(&mut self, payment: Arc<Job>) {
        let key = payment.key();
        if !self.nonces.contains_key(&key) && !self.payments.contains_key(&key) {
            self.payments.insert(key, payment);
            self.waiting.push_back(key);
        }
    }

    fn requeue(&mut self, keys: Vec<Key>, stage: Option<Stage>) {
        match stage {
            Some(stage) => self.retry.push_front(Group {
                payments: keys,
                stage,
                gas_limit: 0,
            }),
            None => keys.into_iter().rev().for_each(|key| self.waiting.push_front(key)),
        }
    }

    fn assign_nonce(&mut self, nonce: u64, group: Group<Key>) {
        for key in &group.payments {
            self.nonces.insert(*key, nonce);
        }
        let form = NonceRecord {
            keys: group.payments,
            content_bytes: 0,
            lengths: Vec::new(),
            stage: group.stage,
            gas_limit: group.gas_limit,
            counted: false,
            lost_gas: U256::ZERO,
        };
        self.records.insert(nonce, form);
    }
}

impl Load {
    /// How long a key that could not pay for gas is used last, in milliseconds.
    pub(super) const STARVED_MS: u64 = 60_000;
}
