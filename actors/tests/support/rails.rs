//! Payout rails in the test's hands.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use purser_actors::id::{EffectId, PayoutId};
use purser_actors::port::payout::{PayoutOrder, PayoutRails, RailState, Recall, Report, Told};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};

use super::ports::{Mood, error};

/// Pays once under one key, and tells what the test wants told.
#[derive(Default)]
pub(crate) struct Rails {
    moods: Mutex<VecDeque<Mood>>,
    calls: Mutex<Vec<PayoutOrder>>,
    paid: Mutex<HashMap<EffectId, PayoutId>>,
    words: Mutex<Vec<Told>>,
    recalls: Mutex<VecDeque<Result<Recall, PortError>>>,
    recalled: Mutex<Vec<PayoutId>>,
    known: Mutex<HashMap<EffectId, Report>>,
    silences: Mutex<VecDeque<ErrorKind>>,
}

pub(crate) fn in_process() -> RailState {
    RailState::InProcess { retry_after_ms: 2 }
}

pub(crate) fn complete() -> RailState {
    RailState::Complete {
        reference: "ref".into(),
    }
}

pub(crate) fn failed() -> RailState {
    RailState::Failed { reason: "no".into() }
}

pub(crate) fn came_back() -> RailState {
    RailState::Returned {
        reason: "account_closed".into(),
    }
}

impl Rails {
    /// The moods of the next orders, in order; without one they stay in process.
    pub(crate) fn moods(&self, moods: &[Mood]) {
        self.moods.lock().extend(moods);
    }

    /// Tells of a payout what nobody asked for.
    pub(crate) fn tell(&self, payout: PayoutId, sequence: u64, state: RailState) {
        let mut words = self.words.lock();
        let number = words.len() as u64 + 1;
        words.push(Told {
            number,
            payout,
            report: Report { sequence, state },
        });
    }

    /// What the next recalls come to.
    pub(crate) fn recalls(&self, recalls: impl IntoIterator<Item = Result<Recall, PortError>>) {
        self.recalls.lock().extend(recalls);
    }

    /// An order that this engine did not send, as a restored backup finds it.
    pub(crate) fn knows(&self, key: EffectId, sequence: u64, state: RailState) {
        self.known.lock().insert(key, Report { sequence, state });
    }

    /// What the next questions after an order come to, instead of an answer.
    pub(crate) fn silences(&self, kinds: &[ErrorKind]) {
        self.silences.lock().extend(kinds);
    }

    /// Payouts made.
    pub(crate) fn paid(&self) -> usize {
        self.paid.lock().len()
    }

    /// All orders, repeated ones too.
    pub(crate) fn calls(&self) -> Vec<PayoutOrder> {
        self.calls.lock().clone()
    }

    /// What was asked back.
    pub(crate) fn recalled(&self) -> Vec<PayoutId> {
        self.recalled.lock().clone()
    }
}

impl PayoutRails for Rails {
    fn send<'a>(&'a self, order: &'a PayoutOrder) -> BoxFuture<'a, Result<Report, PortError>> {
        Box::pin(async move {
            self.calls.lock().push(order.clone());
            let mood = self.moods.lock().pop_front().unwrap_or(Mood::NotYet);
            let report = |sequence, state| Ok(Report { sequence, state });
            match mood {
                Mood::Ready => {
                    self.paid.lock().insert(order.key, order.payout);
                    report(2, complete())
                }
                Mood::NotYet => report(1, in_process()),
                Mood::Declines => report(1, failed()),
                Mood::Panics => {
                    self.paid.lock().insert(order.key, order.payout);
                    panic!("{}", super::EXPECTED_PANIC);
                }
                Mood::Broken => Err(error(ErrorKind::Permanent, "pay out")),
                _ => Err(error(ErrorKind::Unknown, "pay out")),
            }
        })
    }

    fn ordered(&self, key: EffectId) -> BoxFuture<'_, Result<Option<Report>, PortError>> {
        Box::pin(async move {
            match self.silences.lock().pop_front() {
                Some(kind) => Err(error(kind, "ask after")),
                None => Ok(self.known.lock().get(&key).cloned()),
            }
        })
    }

    fn recall(&self, _: EffectId, payout: PayoutId) -> BoxFuture<'_, Result<Recall, PortError>> {
        Box::pin(async move {
            self.recalled.lock().push(payout);
            self.recalls.lock().pop_front().unwrap_or(Ok(Recall::Done))
        })
    }

    fn told(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Told>, PortError>> {
        Box::pin(async move {
            let words = self.words.lock();
            let after = words.iter().filter(|word| word.number > after);
            Ok(after.take(limit).cloned().collect())
        })
    }
}
