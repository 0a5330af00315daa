//! One actor a gas key: it alone hands out the key's nonces. It waits for the store and for nothing else; whatever is asked of
//! the chain is asked beside it, and comes back as a message.

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

/// The actor of one key: its place in the settings.
pub(super) struct GasKeyActor {
    pub(super) core: Arc<Core>,
    pub(super) index: usize,
}

/// What it is told.
#[derive(Debug)]
pub(super) enum Message {
    /// Send this payment or mint, unless it is on its way.
    Submit(Arc<Job>),
    /// Send what waits by now.
    Plan,
    /// Look at the chain.
    Tick,
    /// What the chain has of the key, and what a transaction costs; `None` where no endpoint answered.
    Read(Option<Counts>, Option<FeeQuote>),
    /// What the check of a group found.
    Planned(Vec<(Arc<Job>, Verdict)>, Option<Stage>),
    /// It could not be checked.
    Unplanned(Vec<Arc<Job>>, Option<Stage>),
    /// What an endpoint answered.
    Replied(u64, B256, SendReply),
    /// No endpoint takes the transaction for what is in it.
    Rejected(u64),
    /// An attempt has landed in a block that was read.
    Mined(u64, Box<Receipt>),
    /// Two endpoints show that none of the attempts has landed and that the nonce is used for good.
    Absent(u64),
    /// Nothing is proven yet.
    Searched(u64),
    /// How a group that failed is sent again.
    Split(Vec<Group<Key>>),
    /// Blocks from this one on were replaced.
    Reorganized(u64),
}

/// How a row is stored.
pub(super) struct NonceRecord {
    /// What it was made for, in the order of the calls.
    keys: Vec<Key>,
    /// Bytes of them.
    content_bytes: u32,
    /// Bytes of the attempts that are stored.
    lengths: Vec<u32>,
    /// How often its payments had failed together.
    stage: Stage,
    gas_limit: u64,
    /// What it cost was counted.
    counted: bool,
    /// What it cost for payments that it did not settle, in wei.
    lost_gas: U256,
}

/// What the actor knows once it has read its rows and the chain.
pub(super) struct GasKeyState {
    manager: NonceManager<Key>,
    /// Payments that wait, or whose transaction has not landed.
    payments: HashMap<Key, Arc<Job>>,
    waiting: VecDeque<Key>,
    retry: VecDeque<Group<Key>>,
    /// Those that wait with a row of their own.
    durable: HashSet<Key>,
    /// In which row a payment is.
    nonces: HashMap<Key, u64>,
    records: HashMap<u64, NonceRecord>,
    /// A group is being checked.
    busy: bool,
    /// What waits is sent once those are taken that were submitted with it.
    due: bool,
    quote: FeeQuote,
    /// Not yet in the store.
    writes: Vec<Write>,
    searching: HashSet<u64>,
    /// Payments of payers with code that are in a row.
    with_code: HashSet<Key>,
    /// Payments of payers with code that wait until one of those has landed.
    waiting_with_code: VecDeque<Key>,
}

/// Before the chain has answered, only what was submitted.
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
            // Behind everything that was submitted by now.
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
                // Tried again at the next message; a tick is one.
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

    /// Asks the chain what it has of the key.
    fn query_chain(&self, myself: &ActorRef<Message>) {
        let (core, address, myself) = (self.core.clone(), self.address(), myself.clone());
        tokio::spawn(async move {
            let counts = loading::counts(&core, address);
            let (counts, quote) = tokio::join!(counts, core.node.fees(core.settings.fees));
            if let Some(error) = counts.as_ref().err().or(quote.as_ref().err()) {
                tracing::debug!(key = %address, %error, "the chain does not say how a gas key stands");
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
    /// A payment is sent once, however often it is submitted.
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
    /// For how long a key that could not pay for gas is asked last, in milliseconds.
    pub(super) const STARVED_MS: u64 = 60_000;
}
