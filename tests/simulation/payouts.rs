//! Simulated payout rails: each order is accepted once per key and has its own course. Events are delayed, duplicated,
//! late or out of order. Responses get lost, hang, or repeat an old state.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use purser_actors::entity::payout::{Payout, PayoutTarget};
use purser_actors::id::{JobId, PayoutId};
use purser_actors::kernel::EntityKind;
use purser_actors::port::payouts::{
    PayoutEvent, PayoutRailStatus, PayoutRails, PayoutRequest, PayoutStatusUpdate, RecallResult,
};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};
use purser_actors::product::ProductLine;

use crate::account_steps::durable;
use crate::bank_applications::fault_plan_number;
use crate::environment::{Environment, ORDERED_PANIC};
use crate::fault_plan::{PayoutCourse, Send};

/// Time between two words of a rail that goes on, in milliseconds.
const PAUSE_MS: u64 = 400;

/// An order as a rail knows it.
pub(crate) struct RailOrder {
    pub(crate) payout: PayoutId,
    course: PayoutCourse,
    /// Every word so far; the last one is the truth.
    pub(crate) statuses: Vec<PayoutRailStatus>,
    /// Words with their time.
    upcoming: VecDeque<(u64, PayoutRailStatus)>,
}

#[derive(Default)]
pub(crate) struct RailLedger {
    pub(crate) orders: BTreeMap<JobId, RailOrder>,
    events: Vec<PayoutEvent>,
    /// Emitted, but not delivered yet.
    held: Vec<(PayoutId, PayoutStatusUpdate)>,
    calls: BTreeMap<JobId, usize>,
    /// The highest position that was read.
    read_sequence: u64,
}

fn waits() -> PayoutRailStatus {
    PayoutRailStatus::InProcess { retry_after_ms: 200 }
}

fn paid() -> PayoutRailStatus {
    PayoutRailStatus::Complete {
        reference: "paid".into(),
    }
}

/// In more words than a row takes.
fn failed() -> PayoutRailStatus {
    let reason = "no".repeat(20_000);
    PayoutRailStatus::Failed { reason: reason.into() }
}

fn returned() -> PayoutRailStatus {
    PayoutRailStatus::Returned { reason: "back".into() }
}

/// Everything that a rail will say of an order.
fn course_statuses(course: PayoutCourse, line: ProductLine) -> Vec<PayoutRailStatus> {
    let stopped = PayoutRailStatus::Cancelled {
        reason: "stopped".into(),
    };
    match course {
        PayoutCourse::Declines => vec![failed()],
        PayoutCourse::Fails => vec![waits(), failed()],
        PayoutCourse::Cancels => vec![waits(), stopped],
        PayoutCourse::PaysAndReturns => vec![waits(), paid(), waits(), returned()],
        PayoutCourse::ReturnsThrice => vec![waits(), paid(), waits(), returned(), failed(), returned()],
        PayoutCourse::ReturnsAtOnce => vec![waits(), returned()],
        PayoutCourse::PaysThenFails => vec![waits(), paid(), failed()],
        PayoutCourse::FailsThenPays { .. } => vec![waits(), failed(), waits(), paid()],
        // Only an app payout has a recipient who could claim it.
        PayoutCourse::Unclaimed if line == ProductLine::AppPayment => vec![waits()],
        PayoutCourse::Pays | PayoutCourse::Unclaimed => vec![waits(), paid()],
    }
}

impl RailOrder {
    fn last(&self) -> &PayoutRailStatus {
        self.statuses.last().expect("a rail answers an order with a word")
    }

    fn report(&self, nth: usize) -> PayoutStatusUpdate {
        PayoutStatusUpdate {
            sequence: nth as u64 + 1,
            status: self.statuses[nth].clone(),
        }
    }
}

impl RailLedger {
    /// Whether all events were emitted, delivered and read.
    pub(crate) fn is_fully_read(&self) -> bool {
        let silent = self.orders.values().all(|slip| slip.upcoming.is_empty());
        silent && self.held.is_empty() && self.read_sequence >= self.events.len() as u64
    }

    fn emit_event(&mut self, payout: PayoutId, report: PayoutStatusUpdate) {
        let number = self.events.len() as u64 + 1;
        self.events.push(PayoutEvent {
            position: number,
            payout,
            update: report,
        });
    }

    /// Says what is due, and tells it now or behind what comes next.
    fn emit_due(&mut self, world: &Environment) {
        let (now, calm) = (world.true_ms(), world.are_faults_over());
        for (payout, report) in std::mem::take(&mut self.held) {
            self.emit_event(payout, report);
        }
        let mut fresh = Vec::new();
        for slip in self.orders.values_mut() {
            while slip.upcoming.front().is_some_and(|(due, _)| *due <= now || calm) {
                let (_, state) = slip.upcoming.pop_front().expect("it is there");
                slip.statuses.push(state);
                let newest = slip.statuses.len() - 1;
                fresh.push((
                    slip.payout,
                    slip.report(newest),
                    slip.report(world.below(newest as u64 + 1) as usize),
                ));
            }
        }
        for (payout, report, old) in fresh {
            world.trace(|| format!("rail: of {payout} is said {report:?}"));
            match world.below(6) {
                0 => self.held.push((payout, report)),
                1 => {
                    self.emit_event(payout, report.clone());
                    self.emit_event(payout, report);
                }
                2 => {
                    self.emit_event(payout, report);
                    self.emit_event(payout, old);
                }
                _ => self.emit_event(payout, report),
            }
        }
        if calm {
            for (payout, report) in std::mem::take(&mut self.held) {
                self.emit_event(payout, report);
            }
        }
    }

    fn take(&mut self, world: &Environment, order: &PayoutRequest, course: PayoutCourse) {
        let now = world.true_ms();
        self.orders.entry(order.key).or_insert_with(|| {
            let words = course_statuses(course, order.line).into_iter().enumerate();
            RailOrder {
                payout: order.payout,
                course,
                statuses: Vec::new(),
                upcoming: words.map(|(n, word)| (now + n as u64 * PAUSE_MS, word)).collect(),
            }
        });
        self.emit_due(world);
    }

    fn recall(&mut self, world: &Environment, key: JobId) -> RecallResult {
        self.emit_due(world);
        let Some(slip) = self.orders.get_mut(&key) else {
            return RecallResult::Recalled;
        };
        let late = matches!(slip.course, PayoutCourse::FailsThenPays { is_lost: false });
        match slip.last() {
            PayoutRailStatus::Complete { .. } if !late => RecallResult::TooLate,
            PayoutRailStatus::Failed { .. }
            | PayoutRailStatus::Cancelled { .. }
            | PayoutRailStatus::Returned { .. } => RecallResult::Recalled,
            PayoutRailStatus::Complete { .. } | PayoutRailStatus::InProcess { .. } => {
                slip.upcoming = VecDeque::from([(0, returned())]);
                self.emit_due(world);
                RecallResult::Recalled
            }
        }
    }
}

pub(crate) struct SimPayouts(pub(crate) Arc<Environment>);

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "pay out",
        message: "as the plan says".into(),
    }
}

impl SimPayouts {
    /// An order needs a durable purchase, its amount and one key. Nothing is sent before the recipient's form.
    fn check_order(&self, order: &PayoutRequest) {
        let stored: Option<Payout> = durable(&self.0, EntityKind::Payout, &order.payout.0.to_be_bytes());
        let sold = stored.is_some_and(|payout| {
            let known = !matches!(payout.plan.target, PayoutTarget::Card(None));
            let same = (payout.amount, payout.currency) == (order.amount, order.currency);
            known && same && payout.key == order.key && payout.plan.target.line() == order.line
        });
        if !sold {
            self.0
                .report_violation("payout.early", format!("{order:?} is not durably sold"));
        }
        let rails = self.0.payouts.lock();
        let others = rails.orders.iter().filter(|(_, slip)| slip.payout == order.payout);
        let keys = others.filter(|(key, _)| **key != order.key).count();
        drop(rails);
        if keys != 0 {
            self.0
                .report_violation("payout.keys", format!("{} was ordered twice", order.payout));
        }
    }

    async fn answer(&self, order: &PayoutRequest) -> Result<PayoutStatusUpdate, PortError> {
        let world = &self.0;
        world.delay(world.below(80)).await;
        let n = fault_plan_number(order.amount);
        let (course, sends) = world
            .plan
            .fault_plans
            .get(&n)
            .map_or((PayoutCourse::Pays, [].as_slice()), |fault_plan| {
                (fault_plan.payout_course, &fault_plan.send)
            });
        let call = {
            let mut rails = world.payouts.lock();
            let calls = rails.calls.entry(order.key).or_default();
            *calls += 1;
            *calls - 1
        };
        let met = sends
            .get(call)
            .copied()
            .filter(|_| !world.are_faults_over())
            .unwrap_or(Send::Fine);
        world.trace(|| {
            format!(
                "rail: {} of payment {n} meets {met:?}, its course {course:?}",
                order.payout
            )
        });
        match met {
            Send::Busy => return Err(error(ErrorKind::Temporary)),
            Send::LostBefore => return Err(error(ErrorKind::Unknown)),
            Send::Slow(ms) => world.delay(ms).await,
            _ => {}
        }
        let (newest, first) = {
            let mut rails = world.payouts.lock();
            rails.take(world, order, course);
            let slip = &rails.orders[&order.key];
            (slip.report(slip.statuses.len() - 1), slip.report(0))
        };
        match met {
            Send::TakenAnswerLost => Err(error(ErrorKind::Unknown)),
            Send::TakenAndHangs => std::future::pending().await,
            Send::TakenAndPanics => panic!("{ORDERED_PANIC}"),
            Send::Stale => Ok(first),
            _ => Ok(newest),
        }
    }
}

impl PayoutRails for SimPayouts {
    fn send<'a>(&'a self, order: &'a PayoutRequest) -> BoxFuture<'a, Result<PayoutStatusUpdate, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            self.check_order(order);
            let _one = self.0.single_attempts.enter(&self.0, "payout.at_once", order.key.0);
            let answer = self.answer(order).await;
            self.0.crash_point_or_hang().await;
            answer
        })
    }

    fn find(&self, key: JobId) -> BoxFuture<'_, Result<Option<PayoutStatusUpdate>, PortError>> {
        Box::pin(async move {
            let world = &self.0;
            world.crash_point_or_hang().await;
            if !world.are_faults_over() && world.one_in(6) {
                return Err(error(ErrorKind::Unknown));
            }
            let mut rails = world.payouts.lock();
            rails.emit_due(world);
            Ok(rails.orders.get(&key).map(|slip| slip.report(slip.statuses.len() - 1)))
        })
    }

    fn recall(&self, key: JobId, payout: PayoutId) -> BoxFuture<'_, Result<RecallResult, PortError>> {
        Box::pin(async move {
            let world = &self.0;
            world.crash_point_or_hang().await;
            let stored: Option<Payout> = durable(world, EntityKind::Payout, &payout.0.to_be_bytes());
            if !stored
                .is_some_and(|p| p.key == key && (p.is_credited() || matches!(p.plan.target, PayoutTarget::App(..))))
            {
                world.report_violation("recall.early", format!("{payout} is asked back"));
            }
            world.delay(world.below(80)).await;
            let weather = if world.are_faults_over() { 9 } else { world.below(10) };
            if weather == 0 {
                return Err(error(ErrorKind::Temporary));
            }
            let recall = world.payouts.lock().recall(world, key);
            world.trace(|| format!("rail: {payout} is asked back in weather {weather}: {recall:?}"));
            match weather {
                1 => return Err(error(ErrorKind::Unknown)),
                2 => std::future::pending().await,
                _ => {}
            }
            world.crash_point_or_hang().await;
            Ok(recall)
        })
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<PayoutEvent>, PortError>> {
        Box::pin(async move {
            let world = &self.0;
            world.crash_point_or_hang().await;
            let weather = if world.are_faults_over() { 9 } else { world.below(12) };
            match weather {
                0 => return Err(error(ErrorKind::Unknown)),
                1 => world.delay(900).await,
                2 if world.one_in(4) => panic!("{ORDERED_PANIC}"),
                _ => {}
            }
            let mut rails = world.payouts.lock();
            rails.emit_due(world);
            rails.read_sequence = rails.read_sequence.max(after);
            let from = usize::try_from(after).unwrap_or(usize::MAX).min(rails.events.len());
            Ok(rails.events[from..].iter().take(limit).cloned().collect())
        })
    }
}
