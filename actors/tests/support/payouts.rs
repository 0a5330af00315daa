//! Fake payout rails.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use purser_actors::id::{JobId, PayoutId};
use purser_actors::port::payouts::{
    PayoutEvent, PayoutRailStatus, PayoutRails, PayoutRequest, PayoutStatusUpdate, RecallResult,
};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};

use super::ports::{IssuerBehavior, error};

/// Payout rails that pay once under one key and report what the test sets.
#[derive(Default)]
pub(crate) struct FakePayouts {
    behaviors: Mutex<VecDeque<IssuerBehavior>>,
    calls: Mutex<Vec<PayoutRequest>>,
    paid: Mutex<HashMap<JobId, PayoutId>>,
    events: Mutex<Vec<PayoutEvent>>,
    recalls: Mutex<VecDeque<Result<RecallResult, PortError>>>,
    recalled: Mutex<Vec<PayoutId>>,
    known: Mutex<HashMap<JobId, PayoutStatusUpdate>>,
    find_errors: Mutex<VecDeque<ErrorKind>>,
}

pub(crate) fn in_process() -> PayoutRailStatus {
    PayoutRailStatus::InProcess { retry_after_ms: 2 }
}

pub(crate) fn complete() -> PayoutRailStatus {
    PayoutRailStatus::Complete {
        reference: "ref".into(),
    }
}

pub(crate) fn failed() -> PayoutRailStatus {
    PayoutRailStatus::Failed { reason: "no".into() }
}

pub(crate) fn returned_status() -> PayoutRailStatus {
    PayoutRailStatus::Returned {
        reason: "account_closed".into(),
    }
}

impl FakePayouts {
    /// Sets the behaviors of the next orders, in order; without one, orders stay in process.
    pub(crate) fn set_behaviors(&self, behaviors: &[IssuerBehavior]) {
        self.behaviors.lock().extend(behaviors);
    }

    /// Reports an event without a query.
    pub(crate) fn add_event(&self, payout: PayoutId, sequence: u64, state: PayoutRailStatus) {
        let mut words = self.events.lock();
        let number = words.len() as u64 + 1;
        words.push(PayoutEvent {
            position: number,
            payout,
            update: PayoutStatusUpdate {
                sequence,
                status: state,
            },
        });
    }

    /// Sets the results of the next recalls.
    pub(crate) fn recalls(&self, recalls: impl IntoIterator<Item = Result<RecallResult, PortError>>) {
        self.recalls.lock().extend(recalls);
    }

    /// Adds an order that this engine did not send, as after a restore.
    pub(crate) fn add_known_order(&self, key: JobId, sequence: u64, state: PayoutRailStatus) {
        self.known.lock().insert(
            key,
            PayoutStatusUpdate {
                sequence,
                status: state,
            },
        );
    }

    /// Sets the errors of the next order queries.
    pub(crate) fn set_find_errors(&self, kinds: &[ErrorKind]) {
        self.find_errors.lock().extend(kinds);
    }

    /// Number of executed payouts.
    pub(crate) fn paid(&self) -> usize {
        self.paid.lock().len()
    }

    /// All orders, repeated ones included.
    pub(crate) fn calls(&self) -> Vec<PayoutRequest> {
        self.calls.lock().clone()
    }

    pub(crate) fn recalled(&self) -> Vec<PayoutId> {
        self.recalled.lock().clone()
    }
}

impl PayoutRails for FakePayouts {
    fn send<'a>(&'a self, order: &'a PayoutRequest) -> BoxFuture<'a, Result<PayoutStatusUpdate, PortError>> {
        Box::pin(async move {
            self.calls.lock().push(order.clone());
            let behavior = self.behaviors.lock().pop_front().unwrap_or(IssuerBehavior::NotYet);
            let report = |sequence, state| {
                Ok(PayoutStatusUpdate {
                    sequence,
                    status: state,
                })
            };
            match behavior {
                IssuerBehavior::Ready => {
                    self.paid.lock().insert(order.key, order.payout);
                    report(2, complete())
                }
                IssuerBehavior::NotYet => report(1, in_process()),
                IssuerBehavior::Declines => report(1, failed()),
                IssuerBehavior::Panics => {
                    self.paid.lock().insert(order.key, order.payout);
                    panic!("{}", super::EXPECTED_PANIC);
                }
                IssuerBehavior::Broken => Err(error(ErrorKind::Permanent, "pay out")),
                _ => Err(error(ErrorKind::Unknown, "pay out")),
            }
        })
    }

    fn find(&self, key: JobId) -> BoxFuture<'_, Result<Option<PayoutStatusUpdate>, PortError>> {
        Box::pin(async move {
            match self.find_errors.lock().pop_front() {
                Some(kind) => Err(error(kind, "ask after")),
                None => Ok(self.known.lock().get(&key).cloned()),
            }
        })
    }

    fn recall(&self, _: JobId, payout: PayoutId) -> BoxFuture<'_, Result<RecallResult, PortError>> {
        Box::pin(async move {
            self.recalled.lock().push(payout);
            self.recalls.lock().pop_front().unwrap_or(Ok(RecallResult::Recalled))
        })
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<PayoutEvent>, PortError>> {
        Box::pin(async move {
            let words = self.events.lock();
            let after = words.iter().filter(|word| word.position > after);
            Ok(after.take(limit).cloned().collect())
        })
    }
}
