//! State shared by the port's actors and its callers.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dashmap::{DashMap, DashSet};
use parking_lot::{Mutex, RwLock};
use purser_actors::money::Usdc;
use purser_actors::port::Decline;
use purser_chains::evm::blocks::{Finality, Follower};
use purser_chains::evm::node::{BlockTag, Node};
use purser_chains::evm::usdc::Token;
use purser_chains::evm::{Address, U256};
use purser_chains::rpc::Clock;
use purser_storage::Store;
use ractor::ActorRef;
use tokio::sync::{oneshot, watch};

use super::follower;
use super::gas_key;
use super::loads::Load;
use super::losses::LostGas;
use super::payer_funds::PayerDebits;
use super::prechecking::Prechecks;
use super::rows::{self, Key, MovementRow, RowError};
use super::settings::BaseSettings;
use crate::gate::Gate;

/// The outcome of a submitted payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A transfer that uses its authorization is on the chain and in the rows.
    Settled,
    /// The payment will not be sent in the current state.
    Declined(Decline),
}

/// The chain, up to the height that was read and stored.
pub(super) type View = Follower<MovementRow>;

const HOUR_MS: u64 = 3_600_000;

/// State of the Base port; see the module.
pub(super) struct Core {
    pub(super) settings: BaseSettings,
    pub(super) token: Token,
    pub(super) node: Node,
    /// Whether the chain was verified to be the one in the settings.
    pub(super) gate: Arc<Gate>,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    view: RwLock<Arc<View>>,
    /// The height of the view.
    tip: watch::Sender<u64>,
    outcome_waiters: DashMap<Key, Vec<oneshot::Sender<Outcome>>>,
    /// The gas key that owns each payment: no other key may sign for it.
    pub(super) owners: DashMap<Key, Address>,
    /// Pending debits of payers.
    pub(super) payer_debits: PayerDebits,
    /// Payments whose authorizations are stored although they moved none of our funds. The value is the second until
    /// which they can settle.
    pub(super) watched: DashMap<Key, u64>,
    /// Wallets other than the treasury whose transfers are stored.
    pub(super) wallets: DashSet<Address>,
    pub(super) lost_gas: Mutex<HashMap<Address, LostGas>>,
    alarmed: Mutex<HashSet<String>>,
    /// The running actors of the gas keys.
    pub(super) actors: DashMap<Address, ActorRef<gas_key::Message>>,
    /// Load of each gas key, and whether it was reported as out of gas.
    pub(super) loads: DashMap<Address, Load>,
    /// Result of the last check before submission, and when it was made.
    pub(super) checked: DashMap<Key, (bool, u64)>,
    /// Checks before claims.
    pub(super) prechecks: Prechecks,
    /// Time of the last proof request, by payment.
    pub(super) proofs: DashMap<Key, u64>,
    /// Time of the last read that reached the newest block, plus 1, in milliseconds; 0 before the first read.
    read_ms: AtomicU64,
    /// The running actor that reads the blocks.
    pub(super) follower: Mutex<Option<ActorRef<follower::Message>>>,
    /// The chain has replaced blocks that were final: nothing is read until an operator accepts the rollback.
    pub(super) has_final_reorg: AtomicBool,
    /// Nothing becomes final: the endpoints disagree, or too few answer.
    pub(super) is_stalled: AtomicBool,
    pub(super) counters: Counters,
}

/// Counters since the port was opened.
#[derive(Debug, Default)]
pub struct Counters {
    /// Gas of transactions that were included, in gwei.
    pub gas_spent_gwei: AtomicU64,
    /// The part of it that was spent on payments that did not settle, in gwei.
    pub gas_lost_gwei: AtomicU64,
    /// Transactions sent for the first time.
    pub transactions: AtomicU64,
    /// Payments in those transactions.
    pub payments: AtomicU64,
    /// Replacement transactions, sent at a higher price.
    pub replacements: AtomicU64,
    /// Payments that were declined before any gas was spent.
    pub declined: AtomicU64,
    /// Reorgs that were followed.
    pub reorganizations: AtomicU64,
    /// Blocks whose stored transfers differ from those that two endpoints have shown.
    pub mismatches: AtomicU64,
    /// Alarms that an operator should look at; the log has the details.
    pub alarms: AtomicU64,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
}

impl Core {
    pub(super) fn new(
        settings: BaseSettings,
        node: Node,
        (store, clock): (Arc<dyn Store>, Arc<dyn Clock>),
        view: View,
        gate: Arc<Gate>,
    ) -> Self {
        let token = &settings.token;
        Self {
            token: Token::new(settings.chain_id, token.address, &token.name, &token.version),
            tip: watch::Sender::new(view.tip().map_or(0, |tip| tip.number)),
            view: RwLock::new(Arc::new(view)),
            settings,
            gate,
            node,
            store,
            clock,
            outcome_waiters: DashMap::new(),
            owners: DashMap::new(),
            payer_debits: PayerDebits::default(),
            watched: DashMap::new(),
            actors: DashMap::new(),
            loads: DashMap::new(),
            checked: DashMap::new(),
            prechecks: Prechecks::default(),
            wallets: DashSet::new(),
            lost_gas: Mutex::default(),
            alarmed: Mutex::default(),
            proofs: DashMap::new(),
            read_ms: AtomicU64::new(0),
            follower: Mutex::default(),
            has_final_reorg: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
            counters: Counters::default(),
        }
    }

    pub(super) fn treasury(&self) -> [u8; 20] {
        self.settings.treasury.address().into_array()
    }

    /// The stored view of the chain. Take it before reading rows: a depth that follows from it is then at most what the
    /// rows support.
    pub(super) fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    /// Publishes a view that is durable.
    pub(super) fn publish(&self, view: View) {
        let tip = view.tip().map_or(0, |tip| tip.number);
        *self.view.write() = Arc::new(view);
        self.tip.send_replace(tip);
    }

    /// Records that the newest block was read.
    pub(super) fn mark_read(&self) {
        self.read_ms
            .store(self.clock.now_ms().saturating_add(1), Ordering::Release);
    }

    /// Whether the newest block was read a moment ago.
    pub(super) fn is_up_to_date(&self) -> bool {
        const MOMENT_MS: u64 = 30_000;
        let read_ms = self.read_ms.load(Ordering::Acquire);
        read_ms > 0 && self.clock.now_ms() < read_ms.saturating_add(MOMENT_MS)
    }

    /// Why no new payment is accepted; `None` if payments are accepted.
    pub(super) fn stall_reason(&self) -> Option<Cow<'static, str>> {
        let why = self.gate.closed_reason();
        why.or_else(|| self.read_stall_reason().map(Cow::Borrowed))
    }

    fn read_stall_reason(&self) -> Option<&'static str> {
        if self.has_final_reorg.load(Ordering::Acquire) {
            return Some(
                "the chain has replaced blocks that were final; once two endpoints show the new ones, `purser admin chains accept base` \
                 has them read",
            );
        }
        if !self.is_up_to_date() {
            return Some("the newest blocks could not be read");
        }
        let stalled = self.is_stalled.load(Ordering::Acquire);
        stalled.then_some("no two endpoints show the same blocks: nothing becomes final")
    }

    /// Waits until a block of this height was read and stored.
    pub(super) async fn wait_until_read(&self, number: u64) {
        let mut tip = self.tip.subscribe();
        // The sender lives as long as `self`.
        let _ = tip.wait_for(|tip| *tip >= number).await;
    }

    /// Waits until a block of this height was read and, if there are two endpoints, both have shown the same of it.
    pub(super) async fn wait_until_cross_checked(&self, number: u64) {
        let mut tip = self.tip.subscribe();
        let is_checked = |tip: &u64| {
            let checked = self.view().cross_checked();
            *tip >= number && checked.is_none_or(|checked| checked >= number)
        };
        let _ = tip.wait_for(is_checked).await;
    }

    /// Subscribes to a payment's outcome. Call it before the request that may produce the outcome.
    pub(super) fn subscribe_outcome(&self, key: Key) -> oneshot::Receiver<Outcome> {
        let (sender, outcome) = oneshot::channel();
        let mut waiting = self.outcome_waiters.entry(key).or_default();
        waiting.retain(|sender| !sender.is_closed());
        waiting.push(sender);
        outcome
    }

    /// Drops the subscription unless another caller is still waiting.
    pub(super) fn unsubscribe_outcome(&self, key: &Key) {
        self.outcome_waiters.remove_if_mut(key, |_, waiting| {
            waiting.retain(|sender| !sender.is_closed());
            waiting.is_empty()
        });
    }

    pub(super) fn notify(&self, key: &Key, outcome: &Outcome) {
        if let Some((_, waiting)) = self.outcome_waiters.remove(key) {
            for sender in waiting {
                let _ = sender.send(outcome.clone());
            }
        }
    }

    /// No gas key has the payment and none will send it: all waiting callers get the reason.
    pub(super) fn decline(&self, key: &Key, decline: Decline) {
        Counters::add(&self.counters.declined, 1);
        self.release_payment(key);
        self.notify(key, &Outcome::Declined(decline));
    }

    /// The transfer that used an authorization, if it is still on the chain.
    pub(super) async fn used(&self, key: &Key) -> Result<Option<MovementRow>, RowError> {
        let Some(row) = self.store.read(&rows::used(key)).await? else {
            return Ok(None);
        };
        let place = rows::last_number(&row.value).ok_or_else(|| RowError("the place of a movement".into()))?;
        let found: Option<MovementRow> = rows::read(&*self.store, &rows::movement(place)).await?;
        Ok(found.filter(|row| !row.reorged))
    }

    /// Whether a transfer is at the depth required for its amount.
    pub(super) fn is_final(&self, view: &View, row: &MovementRow, amount: Usdc) -> bool {
        self.is_at_depth(view, row, self.settings.finality_of(amount))
    }

    pub(super) fn is_at_depth(&self, view: &View, row: &MovementRow, finality: Finality) -> bool {
        let canonical = view.is_canonical(row.block, row.block_hash.into());
        canonical != Some(false) && view.is_final(row.block, finality)
    }

    /// The block tag on which proofs rest, as nodes expect it; `None` as long as it is not known.
    pub(super) fn proof_tag(&self) -> Option<BlockTag> {
        match self.settings.proof {
            Finality::Safe => Some(BlockTag::Safe),
            Finality::Finalized => Some(BlockTag::Finalized),
            depth => {
                let header = self.view().final_header(depth)?;
                Some(BlockTag::Number(header.number))
            }
        }
    }

    /// Forgets payments that can never settle.
    pub(super) fn purge_expired(&self, chain_s: u64) {
        const SPARE_S: u64 = 3_600;
        let now_ms = self.clock.now_ms();
        self.watched
            .retain(|_, until_s| until_s.saturating_add(SPARE_S) > chain_s);
        self.proofs.retain(|_, at_ms| at_ms.saturating_add(HOUR_MS) > now_ms);
        self.checked
            .retain(|_, (_, at_ms)| at_ms.saturating_add(HOUR_MS) > now_ms);
    }

    /// Logs and counts an alarm for an operator.
    pub(super) fn alarm(&self, what: &str) {
        Counters::add(&self.counters.alarms, 1);
        tracing::error!(
            chain = self.settings.chain_id,
            what,
            "the port for Base needs an operator"
        );
    }

    /// Like `alarm`, but once for the life of the process.
    pub(super) fn alarm_once(&self, what: &str, why: &str) {
        const MOST: usize = 10_000;
        let mut sender = self.alarmed.lock();
        if sender.len() < MOST && sender.insert(what.to_owned()) {
            self.alarm(&format!("{what}: {why}"));
        }
    }
}

/// Converts wei to gwei, rounded down.
pub(super) fn gwei(wei: U256) -> u64 {
    (wei / U256::from(1_000_000_000_u64)).try_into().unwrap_or(u64::MAX)
}

pub(super) fn decline(reason: &str, message: &str) -> Decline {
    Decline {
        reason: reason.into(),
        message: message.into(),
    }
}
