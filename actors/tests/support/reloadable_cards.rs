//! The issuer's card program, scripted: what each call meets, and what is true of balances and cards whatever the answers
//! were. It outlives a crash of the engine.

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
    standing: CardSnapshot,
}

#[derive(Default)]
struct IssuerState {
    turns: VecDeque<CallBehavior>,
    /// Cents left on each account.
    balances: BTreeMap<[u8; 20], u64>,
    cards: BTreeMap<CardId, Card>,
    steered: BTreeMap<JobId, CardId>,
    /// What is set aside, and whether it ended as paid.
    reserved: BTreeMap<JobId, (HoldRequest, Option<bool>)>,
    refused: BTreeMap<JobId, Option<String>>,
    words: Vec<CardEvent>,
    /// The next so many questions after a reservation get no answer.
    silent: u32,
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

/// What happens after a call was carried out.
fn after(turn: CallBehavior) -> Result<(), PortError> {
    match turn {
        CallBehavior::Lost => Err(error(ErrorKind::Unknown)),
        CallBehavior::Panics => panic!("{}", super::EXPECTED_PANIC),
        CallBehavior::Works | CallBehavior::Busy | CallBehavior::No => Ok(()),
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
    fn turn(&mut self) -> Result<CallBehavior, PortError> {
        match self.turns.pop_front().unwrap_or(CallBehavior::Works) {
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
        change(&mut card.standing);
        card.standing.sequence += 1;
        let standing = card.standing.clone();
        let number = self.words.len() as u64 + 1;
        self.words.push(CardEvent {
            number,
            card: id,
            standing,
        });
    }

    fn close(&mut self, id: CardId) {
        let card = &self.cards[&id];
        let (account, left) = (card.account, card.standing.activity.available);
        *self.balances.entry(account).or_default() += left.get();
        self.changed(id, |standing| {
            standing.state = CardState::Closed;
            standing.activity.available = Cents::ZERO;
        });
    }

    fn open(&mut self, order: &OpenCardRequest, turn: CallBehavior) -> OpenCardResult {
        if let Some(known) = self.cards.get(&order.card) {
            assert_eq!(known.key, order.key, "a card is ordered under one key");
            return OpenCardResult::Open(issued(order.key));
        }
        if turn == CallBehavior::No {
            self.refused.insert(order.key, Some("no".into()));
        } else if !self.refused.contains_key(&order.key) && !self.take(order.account, order.amount) {
            self.refused.insert(order.key, None);
        }
        match self.refused.get(&order.key) {
            Some(None) => OpenCardResult::InsufficientBalance,
            Some(Some(reason)) => OpenCardResult::Declined {
                reason: reason.as_str().into(),
            },
            None => {
                let standing = CardSnapshot {
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
                    standing,
                };
                self.cards.insert(order.card, card);
                OpenCardResult::Open(issued(order.key))
            }
        }
    }
}

impl FakeReloadableCards {
    /// The next calls, in order. Without one a call works.
    pub(crate) fn turns(&self, turns: &[CallBehavior]) {
        self.0.lock().turns.extend(turns);
    }

    /// Loads an account.
    pub(crate) fn load(&self, account: [u8; 20], cents: u64) {
        *self.0.lock().balances.entry(account).or_default() += cents;
    }

    /// What is left of it.
    pub(crate) fn left(&self, account: &[u8; 20]) -> u64 {
        self.0.lock().balances.get(account).copied().unwrap_or(0)
    }

    /// Cents that are on cards.
    pub(crate) fn on_cards(&self) -> u64 {
        let truth = self.0.lock();
        truth.cards.values().map(|c| c.standing.activity.available.get()).sum()
    }

    /// The next so many questions after a reservation get no answer.
    pub(crate) fn be_silent(&self, times: u32) {
        self.0.lock().silent = times;
    }

    /// Forgets what was set aside, as no issuer should.
    pub(crate) fn forget_reservations(&self) {
        self.0.lock().reserved.clear();
    }

    /// How each reservation ended.
    pub(crate) fn reservations(&self) -> Vec<Option<bool>> {
        self.0.lock().reserved.values().map(|(_, ended)| *ended).collect()
    }

    /// A merchant charges a card; whether the issuer took it.
    pub(crate) fn charge(&self, id: CardId, cents: u64) -> bool {
        let mut truth = self.0.lock();
        let card = truth.cards[&id].clone();
        let left = card.standing.activity.available.get();
        if card.standing.state != CardState::Open || cents > left {
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
        truth.changed(id, |standing| {
            standing.activity.available = Cents::new(left - cents);
            standing.activity.transactions.insert(0, one);
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
                let turn = truth.turn()?;
                (turn, truth.open(order, turn))
            };
            after(turn).map(|()| opening)
        })
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        Box::pin(async move {
            let (turn, standing) = {
                let mut truth = self.0.lock();
                let turn = truth.turn()?;
                let state = truth
                    .cards
                    .get(&order.card)
                    .ok_or_else(|| error(ErrorKind::Permanent))?
                    .standing
                    .state;
                if truth.steered.insert(order.key, order.card).is_none() && turn != CallBehavior::No {
                    match (state, order.wish) {
                        (CardState::Open, CardAction::Pause) => {
                            truth.changed(order.card, |standing| standing.state = CardState::Paused);
                        }
                        (CardState::Paused, CardAction::Resume) => {
                            truth.changed(order.card, |standing| standing.state = CardState::Open);
                        }
                        (CardState::Open | CardState::Paused, CardAction::Close) => truth.close(order.card),
                        _ => {}
                    }
                }
                (turn, truth.cards[&order.card].standing.clone())
            };
            after(turn).map(|()| standing)
        })
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        let truth = self.0.lock();
        let words = truth.words.iter().filter(|word| word.number > after).take(limit);
        let words = words.cloned().collect();
        Box::pin(std::future::ready(Ok(words)))
    }

    fn hold<'a>(&'a self, order: &'a HoldRequest) -> BoxFuture<'a, Result<HoldResult, PortError>> {
        Box::pin(async move {
            let (turn, reservation) = {
                let mut truth = self.0.lock();
                let turn = truth.turn()?;
                let key = order.key;
                let known = truth.reserved.get(&key).map(|(_, ended)| *ended);
                let reservation = if let Some(ended) = known {
                    ended.map_or(HoldResult::Held, |paid| HoldResult::AlreadySettled { paid })
                } else if turn == CallBehavior::No {
                    truth.refused.insert(key, Some("no".into()));
                    HoldResult::Declined { reason: "no".into() }
                } else if truth.refused.contains_key(&key) || !truth.take(order.account, order.amount) {
                    truth.refused.insert(key, None);
                    HoldResult::InsufficientBalance
                } else {
                    truth.reserved.insert(key, (order.clone(), None));
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
            if truth.silent > 0 {
                truth.silent -= 1;
                return Err(error(ErrorKind::Unknown));
            }
            let known = truth.reserved.get(&key).map(|(_, ended)| *ended);
            Ok(known.map_or(HoldStatus::NotFound, |ended| {
                ended.map_or(HoldStatus::Held, |paid| HoldStatus::Settled { paid })
            }))
        })
    }

    fn settle_hold(&self, key: JobId, paid: bool) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let turn = {
                let mut truth = self.0.lock();
                let turn = truth.turn()?;
                let (order, ended) = truth
                    .reserved
                    .get_mut(&key)
                    .ok_or_else(|| error(ErrorKind::Permanent))?;
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
