//! Scripted card program of the issuer: the behavior of each call, and the true balances and cards. It survives a crash
//! of the engine.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;
use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, CardAction, CardActionRequest, CardActivity, CardEvent, CardSnapshot, CardState, CardTransaction,
    ErrorKind, HoldRequest, HoldResult, HoldStatus, IssuedCard, OpenCardRequest, OpenCardResult, PortError,
    ReloadableCardProvider, Timestamp, TransactionStatus,
};

use super::identity::CallBehavior;

#[derive(Clone, Debug)]
struct Card {
    key: JobId,
    account: [u8; 20],
    reusable: bool,
    snapshot: CardSnapshot,
}

#[derive(Default)]
struct IssuerState {
    behaviors: VecDeque<CallBehavior>,
    /// Cents left on each account.
    balances: BTreeMap<[u8; 20], u64>,
    cards: BTreeMap<CardId, Card>,
    applied_actions: BTreeMap<JobId, CardId>,
    /// Holds, and whether each ended as paid.
    holds: BTreeMap<JobId, (HoldRequest, Option<bool>)>,
    declined: BTreeMap<JobId, Option<String>>,
    events: Vec<CardEvent>,
    /// The next queries after a hold, this many, get no response.
    unanswered_hold_queries: u32,
}

#[derive(Default)]
pub(crate) struct FakeReloadableCards(Mutex<IssuerState>);

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "program",
        message: "as the script says".into(),
    }
}

/// Applies the behavior after a call was executed.
fn after(turn: CallBehavior) -> Result<(), PortError> {
    match turn {
        CallBehavior::ResponseLost => Err(error(ErrorKind::Unknown)),
        CallBehavior::Panics => panic!("{}", super::EXPECTED_PANIC),
        CallBehavior::Works | CallBehavior::Busy | CallBehavior::Declined => Ok(()),
    }
}

fn issued(key: JobId) -> IssuedCard {
    IssuedCard {
        issuer_ref: key.to_string(),
        last4: "4242".into(),
        exp_month: 12,
        exp_year: 2031,
        sealed: key.0.to_be_bytes().to_vec(),
    }
}

impl IssuerState {
    fn next_behavior(&mut self) -> Result<CallBehavior, PortError> {
        match self.behaviors.pop_front().unwrap_or(CallBehavior::Works) {
            CallBehavior::Busy => Err(error(ErrorKind::Temporary)),
            turn => Ok(turn),
        }
    }

    fn take(&mut self, account: [u8; 20], amount: Cents) -> bool {
        let left = self.balances.entry(account).or_default();
        let is_there = *left >= amount.get();
        if is_there {
            *left -= amount.get();
        }
        is_there
    }

    fn changed(&mut self, id: CardId, change: impl FnOnce(&mut CardSnapshot)) {
        let card = self.cards.get_mut(&id).expect("a card");
        change(&mut card.snapshot);
        card.snapshot.sequence += 1;
        let snapshot = card.snapshot.clone();
        let number = self.events.len() as u64 + 1;
        self.events.push(CardEvent {
            position: number,
            card: id,
            snapshot,
        });
    }

    fn close(&mut self, id: CardId) {
        let card = &self.cards[&id];
        let (account, left) = (card.account, card.snapshot.activity.available);
        *self.balances.entry(account).or_default() += left.get();
        self.changed(id, |snapshot| {
            snapshot.state = CardState::Closed;
            snapshot.activity.available = Cents::ZERO;
        });
    }

    fn open(&mut self, order: &OpenCardRequest, turn: CallBehavior) -> OpenCardResult {
        if let Some(known) = self.cards.get(&order.card) {
            assert_eq!(known.key, order.key, "a card is ordered under one key");
            return OpenCardResult::Open(issued(order.key));
        }
        if turn == CallBehavior::Declined {
            self.declined.insert(order.key, Some("no".into()));
        } else if !self.declined.contains_key(&order.key) && !self.take(order.account, order.amount) {
            self.declined.insert(order.key, None);
        }
        match self.declined.get(&order.key) {
            Some(None) => OpenCardResult::InsufficientBalance,
            Some(Some(reason)) => OpenCardResult::Declined {
                reason: reason.as_str().into(),
            },
            None => {
                let snapshot = CardSnapshot {
                    sequence: 0,
                    state: CardState::Open,
                    activity: CardActivity {
                        available: order.amount,
                        transactions: Vec::new(),
                    },
                    released: Cents::ZERO,
                };
                let card = Card {
                    key: order.key,
                    account: order.account,
                    reusable: order.reusable,
                    snapshot,
                };
                self.cards.insert(order.card, card);
                OpenCardResult::Open(issued(order.key))
            }
        }
    }
}

impl FakeReloadableCards {
    /// Sets the behaviors of the next calls, in order. Without one a call works.
    pub(crate) fn set_behaviors(&self, turns: &[CallBehavior]) {
        self.0.lock().behaviors.extend(turns);
    }

    /// Loads an account.
    pub(crate) fn load(&self, account: [u8; 20], cents: u64) {
        *self.0.lock().balances.entry(account).or_default() += cents;
    }

    /// Cents left on an account.
    pub(crate) fn left(&self, account: &[u8; 20]) -> u64 {
        self.0.lock().balances.get(account).copied().unwrap_or(0)
    }

    /// Cents that are on cards.
    pub(crate) fn on_cards(&self) -> u64 {
        let truth = self.0.lock();
        truth.cards.values().map(|c| c.snapshot.activity.available.get()).sum()
    }

    /// The next queries after a hold, this many, get no response.
    pub(crate) fn set_unanswered_hold_queries(&self, times: u32) {
        self.0.lock().unanswered_hold_queries = times;
    }

    /// Forgets every hold, as no real issuer should.
    pub(crate) fn clear_holds(&self) {
        self.0.lock().holds.clear();
    }

    /// Results of all holds.
    pub(crate) fn hold_results(&self) -> Vec<Option<bool>> {
        self.0.lock().holds.values().map(|(_, ended)| *ended).collect()
    }

    /// A merchant charges a card; returns whether the issuer accepted it.
    pub(crate) fn charge(&self, id: CardId, cents: u64) -> bool {
        let mut truth = self.0.lock();
        let card = truth.cards[&id].clone();
        let left = card.snapshot.activity.available.get();
        if card.snapshot.state != CardState::Open || cents > left {
            return false;
        }
        let one = CardTransaction {
            id: format!("txn-{cents}"),
            merchant: "Books".into(),
            amount: Cents::new(cents),
            at: Timestamp(1),
            status: TransactionStatus::Settled,
            reason: None,
        };
        truth.changed(id, |snapshot| {
            snapshot.activity.available = Cents::new(left - cents);
            snapshot.activity.transactions.insert(0, one);
        });
        if !card.reusable {
            truth.close(id);
        }
        true
    }
}

impl ReloadableCardProvider for FakeReloadableCards {
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> BoxFuture<'a, Result<OpenCardResult, PortError>> {
        Box::pin(async move {
            let (turn, opening) = {
                let mut truth = self.0.lock();
                let turn = truth.next_behavior()?;
                (turn, truth.open(order, turn))
            };
            after(turn).map(|()| opening)
        })
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        Box::pin(async move {
            let (turn, snapshot) = {
                let mut truth = self.0.lock();
                let turn = truth.next_behavior()?;
                let state = truth
                    .cards
                    .get(&order.card)
                    .ok_or_else(|| error(ErrorKind::Permanent))?
                    .snapshot
                    .state;
                if truth.applied_actions.insert(order.key, order.card).is_none() && turn != CallBehavior::Declined {
                    match (state, order.action) {
                        (CardState::Open, CardAction::Pause) => {
                            truth.changed(order.card, |snapshot| snapshot.state = CardState::Paused);
                        }
                        (CardState::Paused, CardAction::Resume) => {
                            truth.changed(order.card, |snapshot| snapshot.state = CardState::Open);
                        }
                        (CardState::Open | CardState::Paused, CardAction::Close) => truth.close(order.card),
                        _ => {}
                    }
                }
                (turn, truth.cards[&order.card].snapshot.clone())
            };
            after(turn).map(|()| snapshot)
        })
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        let truth = self.0.lock();
        let words = truth.events.iter().filter(|word| word.position > after).take(limit);
        let words = words.cloned().collect();
        Box::pin(std::future::ready(Ok(words)))
    }

    fn hold<'a>(&'a self, order: &'a HoldRequest) -> BoxFuture<'a, Result<HoldResult, PortError>> {
        Box::pin(async move {
            let (turn, reservation) = {
                let mut truth = self.0.lock();
                let turn = truth.next_behavior()?;
                let key = order.key;
                let known = truth.holds.get(&key).map(|(_, ended)| *ended);
                let reservation = if let Some(ended) = known {
                    ended.map_or(HoldResult::Held, |paid| HoldResult::AlreadySettled { paid })
                } else if turn == CallBehavior::Declined {
                    truth.declined.insert(key, Some("no".into()));
                    HoldResult::Declined { reason: "no".into() }
                } else if truth.declined.contains_key(&key) || !truth.take(order.account, order.amount) {
                    truth.declined.insert(key, None);
                    HoldResult::InsufficientBalance
                } else {
                    truth.holds.insert(key, (order.clone(), None));
                    HoldResult::Held
                };
                (turn, reservation)
            };
            after(turn).map(|()| reservation)
        })
    }

    fn hold_status(&self, key: JobId) -> BoxFuture<'_, Result<HoldStatus, PortError>> {
        Box::pin(async move {
            let mut truth = self.0.lock();
            if truth.unanswered_hold_queries > 0 {
                truth.unanswered_hold_queries -= 1;
                return Err(error(ErrorKind::Unknown));
            }
            let known = truth.holds.get(&key).map(|(_, ended)| *ended);
            Ok(known.map_or(HoldStatus::NotFound, |ended| {
                ended.map_or(HoldStatus::Held, |paid| HoldStatus::Settled { paid })
            }))
        })
    }

    fn settle_hold(&self, key: JobId, paid: bool) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let turn = {
                let mut truth = self.0.lock();
                let turn = truth.next_behavior()?;
                let (order, ended) = truth.holds.get_mut(&key).ok_or_else(|| error(ErrorKind::Permanent))?;
                let (account, amount) = (order.account, order.amount.get());
                match ended.replace(paid) {
                    None if !paid => *truth.balances.entry(account).or_default() += amount,
                    None => {}
                    Some(before) => assert_eq!(before, paid, "a reservation ends one way"),
                }
                turn
            };
            after(turn)
        })
    }
}
