//! Scripted issuer of prepaid cards: a list of behaviors, and its own true record of the cards. It survives a crash of
//! the engine.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, CardAction, CardActionRequest, CardActivity, CardEvent, CardIssuer, CardSnapshot, CardState,
    CardTransaction, ErrorKind, IssueCardRequest, IssueResult, IssuedCard, PortError, Timestamp, TransactionStatus,
};

use super::ports::error;

/// Behavior of the issuer's next call. Without one it issues the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IssuerBehavior {
    Ready,
    NotYet,
    Declines,
    /// The card is issued, but the response is lost.
    ResponseLost,
    Busy,
    Panics,
    /// Fails permanently: an operator must decide.
    Broken,
}

#[derive(Default)]
pub(crate) struct FakeIssuer {
    error_bytes: AtomicU64,
    behaviors: Mutex<VecDeque<IssuerBehavior>>,
    cards: Mutex<HashMap<JobId, IssuedCard>>,
    calls: Mutex<Vec<JobId>>,
    /// Snapshots by the issuer's reference, with our card id.
    snapshots: Mutex<HashMap<String, (CardId, CardSnapshot)>>,
    applied_actions: Mutex<HashSet<JobId>>,
    events: Mutex<Vec<(CardId, CardSnapshot)>>,
}

impl FakeIssuer {
    /// Changes a card and reports it.
    fn changed(&self, issuer_ref: &str, change: impl FnOnce(&mut CardSnapshot)) -> CardSnapshot {
        let mut snapshots = self.snapshots.lock();
        let (card, snapshot) = snapshots.get_mut(issuer_ref).expect("a card that was made");
        let before = snapshot.clone();
        change(snapshot);
        if *snapshot != before {
            snapshot.sequence += 1;
            self.events.lock().push((*card, snapshot.clone()));
        }
        snapshot.clone()
    }

    /// A merchant charges a card; the transaction is accepted or declined.
    pub(crate) fn charge(&self, card: CardId, cents: u64) {
        let name = self.name_of(card);
        self.changed(&name, |snapshot| {
            let left = snapshot.activity.available.get();
            let taken = snapshot.state == CardState::Open && cents <= left;
            let nth = snapshot.activity.transactions.len();
            snapshot.activity.transactions.insert(
                0,
                CardTransaction {
                    id: format!("txn-{nth}"),
                    merchant: "Bookshop".into(),
                    amount: Cents::new(cents),
                    at: Timestamp(nth as u64 + 1),
                    status: if taken {
                        TransactionStatus::Settled
                    } else {
                        TransactionStatus::Declined
                    },
                    reason: (!taken).then(|| "insufficient_funds".to_owned()),
                },
            );
            if taken {
                snapshot.activity.available = Cents::new(left - cents);
            }
        });
    }

    /// Sets the total released from the remainder of an ended card.
    pub(crate) fn set_released(&self, card: CardId, cents: u64) {
        let name = self.name_of(card);
        self.changed(&name, |snapshot| snapshot.released = Cents::new(cents));
    }

    fn name_of(&self, card: CardId) -> String {
        let snapshots = self.snapshots.lock();
        let found = snapshots.iter().find(|(_, (known, _))| *known == card);
        found.map(|(name, _)| name.clone()).expect("a card that was made")
    }

    /// Sets the behaviors of the next calls, in order.
    pub(crate) fn set_behaviors(&self, behaviors: &[IssuerBehavior]) {
        self.behaviors.lock().extend(behaviors);
    }

    /// Sets the length of a busy issuer's error text, in bytes.
    pub(crate) fn set_error_bytes(&self, bytes: u64) {
        self.error_bytes.store(bytes, Ordering::SeqCst);
    }

    fn busy(&self) -> PortError {
        let mut busy = error(ErrorKind::Temporary, "issue");
        let length = self.error_bytes.load(Ordering::SeqCst) as usize;
        busy.message.push_str(&"é".repeat(length / 2));
        busy
    }

    /// Number of issued cards.
    pub(crate) fn cards(&self) -> usize {
        self.cards.lock().len()
    }

    /// The keys of all calls.
    pub(crate) fn calls(&self) -> Vec<JobId> {
        self.calls.lock().clone()
    }

    fn make(&self, order: &IssueCardRequest) -> IssuedCard {
        let mut cards = self.cards.lock();
        let number = cards.len();
        let card = cards.entry(order.key).or_insert_with(|| IssuedCard {
            issuer_ref: format!("ref-{number}"),
            last4: format!("{:04}", 4242 + number),
            exp_month: 12,
            exp_year: 2031,
            sealed: order.card.0.to_be_bytes().to_vec(),
        });
        let snapshot = CardSnapshot {
            sequence: 0,
            state: CardState::Open,
            activity: CardActivity::loaded(order.amount),
            released: Cents::ZERO,
        };
        let mut snapshots = self.snapshots.lock();
        snapshots
            .entry(card.issuer_ref.clone())
            .or_insert((order.card, snapshot));
        card.clone()
    }
}

impl CardIssuer for FakeIssuer {
    /// Snapshot after its actions; after the first query, it has one transaction.
    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        Box::pin(async move {
            match self.behaviors.lock().pop_front().unwrap_or(IssuerBehavior::Ready) {
                IssuerBehavior::Busy => Err(self.busy()),
                IssuerBehavior::Panics => panic!("{}", super::EXPECTED_PANIC),
                _ => Ok(self.changed(issuer_ref, |snapshot| {
                    snapshot.activity.transactions = vec![CardTransaction {
                        id: issuer_ref.to_owned(),
                        merchant: "Bookshop".into(),
                        amount: Cents::new(1),
                        at: Timestamp(1),
                        status: TransactionStatus::Settled,
                        reason: None,
                    }];
                })),
            }
        })
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        Box::pin(async move {
            let silent = match self.behaviors.lock().pop_front().unwrap_or(IssuerBehavior::Ready) {
                IssuerBehavior::Busy => return Err(self.busy()),
                IssuerBehavior::Panics => panic!("{}", super::EXPECTED_PANIC),
                behavior => behavior == IssuerBehavior::ResponseLost,
            };
            let is_new = self.applied_actions.lock().insert(order.key);
            let snapshot = self.changed(&order.issuer_ref, |snapshot| {
                let to = match (snapshot.state, order.action) {
                    _ if !is_new => return,
                    (CardState::Closed, _) => return,
                    (_, CardAction::Pause) => CardState::Paused,
                    (_, CardAction::Resume) => CardState::Open,
                    (_, CardAction::Close) => CardState::Closed,
                };
                snapshot.state = to;
                if to == CardState::Closed {
                    snapshot.released = snapshot.activity.available;
                    snapshot.activity.available = Cents::ZERO;
                }
            });
            match silent {
                true => std::future::pending().await,
                false => Ok(snapshot),
            }
        })
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        let words = self.events.lock();
        let events = words.iter().enumerate().map(|(n, word)| (n as u64 + 1, word));
        let events = events.filter(|(number, _)| *number > after).take(limit);
        let events = events.map(|(number, (card, snapshot))| CardEvent {
            position: number,
            card: *card,
            snapshot: snapshot.clone(),
        });
        let events = events.collect();
        Box::pin(async move { Ok(events) })
    }

    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> BoxFuture<'a, Result<IssueResult, PortError>> {
        Box::pin(async move {
            self.calls.lock().push(order.key);
            let behavior = self.behaviors.lock().pop_front().unwrap_or(IssuerBehavior::Ready);
            match behavior {
                IssuerBehavior::Ready => Ok(IssueResult::Ready(self.make(order))),
                IssuerBehavior::NotYet => Ok(IssueResult::Pending { retry_after_ms: 2 }),
                IssuerBehavior::Declines => Ok(IssueResult::Declined {
                    reason: "the issuer says no".into(),
                }),
                IssuerBehavior::ResponseLost => {
                    self.make(order);
                    std::future::pending().await
                }
                IssuerBehavior::Busy => Err(self.busy()),
                IssuerBehavior::Panics => panic!("{}", super::EXPECTED_PANIC),
                IssuerBehavior::Broken => Err(error(ErrorKind::Permanent, "issue")),
            }
        })
    }
}
