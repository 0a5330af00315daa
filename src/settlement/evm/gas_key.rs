//! One actor a gas key: it alone hands out the key's nonces. It waits for the store and for nothing else; whatever is asked of
//! the chain is asked beside it, and comes back as a message.

mod acting;
mod loading;
mod searching;
mod sending;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use purser_chains::evm::key::EvmKey;
use purser_chains::evm::multicall::{Candidate, Group, MAX_CALLS, Stage, plan};
use purser_chains::evm::node::{FeeQuote, Receipt};
use purser_chains::evm::nonces::{Action, Counts, NonceError, NonceManager, SendReply};
use purser_chains::evm::{Address, B256};
use purser_storage::Write;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::checking::{Failure, Verdict};
use super::core::{Core, Load, Outcome, decline};
use super::rows::{self, Key, Payment, RowError};

pub(super) use self::loading::carried;

/// A check of a payment that is younger needs not be made again, in milliseconds.
const FRESH_MS: u64 = 10_000;

/// The actor of one key: its place in the settings.
pub(super) struct GasKeyActor {
    pub(super) core: Arc<Core>,
    pub(super) place: usize,
}

/// What it is told.
#[derive(Debug)]
pub(super) enum Message {
    /// Send this payment, unless it is on its way.
    Submit(Arc<Payment>),
    /// Look at the chain.
    Tick,
    /// What the chain has of the key, and what a transaction costs; `None` where no endpoint answered.
    Read(Option<Counts>, Option<FeeQuote>),
    /// What the check of a group found.
    Planned(Vec<(Arc<Payment>, Verdict)>, Option<Stage>),
    /// It could not be checked.
    Unplanned(Vec<Arc<Payment>>, Option<Stage>),
    /// What an endpoint answered.
    Replied(u64, B256, SendReply),
    /// No endpoint takes the transaction for what is in it.
    Refused(u64),
    /// An attempt has landed in a block that was read.
    Landed(u64, Box<Receipt>),
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
pub(super) struct Form {
    /// What it was made for, in the order of the calls.
    keys: Vec<Key>,
    /// Bytes of them.
    carried: u32,
    /// Bytes of the attempts that are stored.
    lengths: Vec<u32>,
    /// How often its payments had failed together.
    stage: Stage,
    gas_limit: u64,
    /// What it cost was counted.
    counted: bool,
}

/// What the actor knows once it has read its rows and the chain.
pub(super) struct Keeper {
    manager: NonceManager<Key>,
    /// Payments that wait, or whose transaction has not landed.
    payments: HashMap<Key, Arc<Payment>>,
    waiting: VecDeque<Key>,
    retry: VecDeque<Group<Key>>,
    /// Those that wait with a row of their own.
    durable: HashSet<Key>,
    /// In which row a payment is.
    placed: HashMap<Key, u64>,
    forms: HashMap<u64, Form>,
    /// A group is being checked.
    busy: bool,
    quote: FeeQuote,
    /// Not yet in the store.
    writes: Vec<Write>,
    searching: HashSet<u64>,
}

/// Before the chain has answered, only what was submitted.
pub(super) enum State {
    Starting(Vec<Arc<Payment>>),
    Keeping(Box<Keeper>),
}

impl Actor for GasKeyActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
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
            State::Keeping(keeper) => keeper,
            State::Starting(early) => match message {
                Message::Submit(payment) => {
                    early.push(payment);
                    return Ok(());
                }
                Message::Tick => {
                    let early = std::mem::take(early);
                    *state = self.start(&myself, early).await?;
                    self.again(&myself);
                    return Ok(());
                }
                _ => return Ok(()),
            },
        };
        self.on(&myself, keeper, message).await?;
        self.flush(keeper).await?;
        self.plan(&myself, keeper).await?;
        self.say_load(keeper);
        Ok(())
    }
}

impl GasKeyActor {
    fn key(&self) -> &EvmKey {
        &self.core.settings.gas_keys[self.place]
    }

    fn address(&self) -> Address {
        self.key().address()
    }

    fn now_ms(&self) -> u64 {
        self.core.clock.now_ms()
    }

    fn again(&self, myself: &ActorRef<Message>) {
        let pause = Duration::from_millis(self.core.settings.tick_ms.max(1));
        drop(myself.send_after(pause, || Message::Tick));
    }

    fn say_load(&self, keeper: &Keeper) {
        let mut load = self.core.loads.entry(self.address()).or_default();
        load.payments = keeper.payments.len();
    }

    async fn on(&self, myself: &ActorRef<Message>, keeper: &mut Keeper, message: Message) -> Result<(), RowError> {
        let now_ms = self.now_ms();
        let actions = match message {
            Message::Submit(payment) => {
                keeper.take(payment);
                return Ok(());
            }
            Message::Tick => {
                self.read(myself);
                return Ok(());
            }
            Message::Read(counts, quote) => {
                self.again(myself);
                keeper.quote = quote.unwrap_or(keeper.quote);
                let mut actions = counts.map_or_else(Vec::new, |counts| keeper.manager.counted(counts, now_ms));
                actions.extend(keeper.manager.tick(keeper.quote.fee, now_ms));
                actions
            }
            Message::Planned(found, stage) => self.planned(keeper, found, stage).await,
            Message::Unplanned(payments, stage) => {
                keeper.busy = false;
                keeper.put_back(payments.iter().map(|payment| payment.key()).collect(), stage);
                // Tried again at the next message; a tick is one.
                return Ok(());
            }
            Message::Replied(nonce, hash, reply) => keeper.manager.replied(nonce, hash, reply, now_ms),
            Message::Refused(nonce) => keeper.manager.cancel(nonce),
            Message::Landed(nonce, receipt) => self.landed(keeper, nonce, &receipt),
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
    fn read(&self, myself: &ActorRef<Message>) {
        let (core, address, myself) = (self.core.clone(), self.address(), myself.clone());
        tokio::spawn(async move {
            let counts = loading::counts(&core, address);
            let (counts, quote) = tokio::join!(counts, core.node.fees(core.settings.fees));
            if let Some(error) = counts.as_ref().err().or(quote.as_ref().err()) {
                tracing::warn!(key = %address, %error, "the chain does not say how a gas key stands");
            }
            drop(myself.cast(Message::Read(counts.ok(), quote.ok())));
        });
    }

    /// Takes what waits to a check, if a transaction may be sent and none is being checked: what comes meanwhile goes together.
    async fn plan(&self, myself: &ActorRef<Message>, keeper: &mut Keeper) -> Result<(), RowError> {
        if keeper.busy || keeper.manager.in_flight() >= self.core.settings.max_in_flight {
            return Ok(());
        }
        let (keys, stage) = match keeper.retry.pop_front() {
            Some(group) => (group.payments, Some(group.stage)),
            None => {
                let most = keeper.waiting.len().min(MAX_CALLS);
                (keeper.waiting.drain(..most).collect(), None)
            }
        };
        let payments: Vec<Arc<Payment>> = keys
            .iter()
            .filter_map(|key| keeper.payments.get(key).cloned())
            .collect();
        if payments.is_empty() {
            return Ok(());
        }
        keeper.busy = true;
        let codes = stage.is_none().then(|| self.fresh_codes(&payments)).flatten();
        if let (Some(codes), [payment]) = (&codes, payments.as_slice()) {
            let verdict = Verdict {
                has_code: codes[0],
                failure: None,
            };
            let actions = self.planned(keeper, vec![(payment.clone(), verdict)], stage).await;
            self.execute(myself, keeper, actions).await?;
            return self.flush(keeper).await;
        }
        let (core, myself) = (self.core.clone(), myself.clone());
        tokio::spawn(async move {
            let verdicts = match codes {
                Some(codes) => core.simulate(&payments, &codes).await,
                None => core.check(&payments).await,
            };
            let message = match verdicts {
                Ok(verdicts) => Message::Planned(payments.into_iter().zip(verdicts).collect(), stage),
                Err(error) => {
                    tracing::warn!(%error, "payments could not be checked before they are sent");
                    // Not at once again: the endpoints rest.
                    core.clock.sleep(Duration::from_millis(core.settings.tick_ms)).await;
                    Message::Unplanned(payments, stage)
                }
            };
            drop(myself.cast(message));
        });
        Ok(())
    }

    /// Whether the payers have code, where all were checked a moment ago.
    fn fresh_codes(&self, payments: &[Arc<Payment>]) -> Option<Vec<bool>> {
        let now_ms = self.now_ms();
        let code = |payment: &Arc<Payment>| {
            let checked = self.core.checked.get(&payment.key())?;
            let (has_code, at_ms) = *checked;
            (now_ms < at_ms.saturating_add(FRESH_MS)).then_some(has_code)
        };
        payments.iter().map(code).collect()
    }

    /// What would settle is put into transactions, what would not is declined.
    async fn planned(
        &self,
        keeper: &mut Keeper,
        found: Vec<(Arc<Payment>, Verdict)>,
        stage: Option<Stage>,
    ) -> Vec<Action<Key>> {
        keeper.busy = false;
        let mut candidates = Vec::new();
        for (payment, verdict) in found {
            let key = payment.key();
            match verdict.failure {
                None => candidates.push(Candidate {
                    payment: key,
                    has_code: verdict.has_code,
                }),
                Some(failure) => self.drop_failed(keeper, key, failure),
            }
        }
        let mut actions = Vec::new();
        for mut group in plan(&candidates, &self.core.settings.gas) {
            group.stage = stage.unwrap_or(group.stage);
            match keeper.manager.reserve(group.payments.clone(), self.now_ms()) {
                Ok(nonce) => {
                    let payments = group.payments.clone();
                    keeper.place(nonce, group);
                    actions.push(Action::Sign {
                        nonce,
                        fee: keeper.quote.fee,
                        payments,
                    });
                }
                Err(NonceError::Full) => keeper.put_back(group.payments, stage),
                // Every payment is placed once: what is in a row never waits.
                Err(error) => self.core.alarm(&format!("a nonce could not be reserved: {error}")),
            }
        }
        actions
    }

    fn drop_failed(&self, keeper: &mut Keeper, key: Key, failure: Failure) {
        let payment = keeper.payments.remove(&key);
        if keeper.durable.remove(&key) {
            keeper.writes.push(Write::Delete {
                key: rows::waiting(&self.address(), &key),
            });
        }
        match failure {
            Failure::Refused(decline) => self.core.decline(&key, decline),
            Failure::Used => {
                let until = payment.map_or(0, |payment| payment.valid_before);
                self.core.watched.insert(key, until);
                self.core.owners.remove(&key);
                let core = self.core.clone();
                tokio::spawn(async move { core.answer_used(key).await });
            }
        }
    }
}

impl Core {
    /// The token has the nonce of a payment that none of our rows explains: the next blocks say by what.
    pub(super) async fn answer_used(&self, key: Key) {
        match self.is_used_by_now(&key).await {
            Ok(true) => self.tell(&key, &Outcome::Moved),
            Ok(false) => {
                let used = decline(
                    "invalid_exact_evm_nonce_already_used",
                    "the authorization was used for another transfer",
                );
                self.decline(&key, used);
            }
            // Whoever waits is told by the follower, or by nobody.
            Err(error) => tracing::warn!(error, "what used an authorization is not known yet"),
        }
    }

    /// Whether a movement of this authorization is known once everything was read that the chain has now.
    pub(super) async fn is_used_by_now(&self, key: &Key) -> Result<bool, String> {
        use purser_chains::evm::node::BlockTag;
        const PATIENCE: Duration = Duration::from_secs(10);
        let head = self
            .node
            .header(BlockTag::Latest)
            .await
            .map_err(|error| error.to_string())?;
        let head = head.ok_or("no endpoint has a block")?;
        let read = tokio::time::timeout(PATIENCE, self.read_up_to(head.number)).await;
        read.map_err(|_| "the follower is behind")?;
        let used = self.used(key).await.map_err(|error| error.to_string())?;
        Ok(used.is_some())
    }
}

impl Keeper {
    /// A payment is sent once, however often it is submitted.
    fn take(&mut self, payment: Arc<Payment>) {
        let key = payment.key();
        if !self.placed.contains_key(&key) && !self.payments.contains_key(&key) {
            self.payments.insert(key, payment);
            self.waiting.push_back(key);
        }
    }

    fn put_back(&mut self, keys: Vec<Key>, stage: Option<Stage>) {
        match stage {
            Some(stage) => self.retry.push_front(Group {
                payments: keys,
                stage,
                gas_limit: 0,
            }),
            None => keys.into_iter().rev().for_each(|key| self.waiting.push_front(key)),
        }
    }

    fn place(&mut self, nonce: u64, group: Group<Key>) {
        for key in &group.payments {
            self.placed.insert(*key, nonce);
        }
        let form = Form {
            keys: group.payments,
            carried: 0,
            lengths: Vec::new(),
            stage: group.stage,
            gas_limit: group.gas_limit,
            counted: false,
        };
        self.forms.insert(nonce, form);
    }
}

impl Load {
    /// For how long a key that could not pay for gas is asked last, in milliseconds.
    pub(super) const STARVED_MS: u64 = 60_000;
}
