//! Payout rails, pretended: each order is taken once under its key and has a course of its own. What a rail says is said in
//! its own time, told twice, late, or behind newer words; its answers get lost, hang, and repeat what is old.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use purser_actors::id::{EffectId, PayoutId};
use purser_actors::kernel::Kind;
use purser_actors::payout::{Payout, Target};
use purser_actors::port::payout::{PayoutOrder, PayoutRails, RailState, Recall, Report, Told};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};
use purser_actors::product::Line;

use crate::applicants::fate_of_order;
use crate::fate::{Course, Send};
use crate::owners::durable;
use crate::world::{ORDERED_PANIC, World};

/// Time between two words of a rail that goes on, in milliseconds.
const PAUSE_MS: u64 = 400;

/// An order as a rail knows it.
pub(crate) struct Slip {
    pub(crate) payout: PayoutId,
    course: Course,
    /// Every word so far; the last one is the truth.
    pub(crate) said: Vec<RailState>,
    /// Words with their time.
    to_come: VecDeque<(u64, RailState)>,
}

#[derive(Default)]
pub(crate) struct Rails {
    pub(crate) slips: BTreeMap<EffectId, Slip>,
    told: Vec<Told>,
    /// Said, and not told yet.
    held: Vec<(PayoutId, Report)>,
    calls: BTreeMap<EffectId, usize>,
    /// The highest number from which somebody read on.
    heard: u64,
}

fn waits() -> RailState {
    RailState::InProcess { retry_after_ms: 200 }
}

fn paid() -> RailState {
    RailState::Complete {
        reference: "paid".into(),
    }
}

/// In more words than a row takes.
fn failed() -> RailState {
    let reason = "no".repeat(20_000);
    RailState::Failed { reason: reason.into() }
}

fn returned() -> RailState {
    RailState::Returned { reason: "back".into() }
}

/// Everything that a rail will say of an order.
fn words(course: Course, line: Line) -> Vec<RailState> {
    let stopped = RailState::Cancelled {
        reason: "stopped".into(),
    };
    match course {
        Course::Declines => vec![failed()],
        Course::Fails => vec![waits(), failed()],
        Course::Cancels => vec![waits(), stopped],
        Course::PaysAndReturns => vec![waits(), paid(), waits(), returned()],
        Course::ReturnsThrice => vec![waits(), paid(), waits(), returned(), failed(), returned()],
        Course::ReturnsAtOnce => vec![waits(), returned()],
        Course::PaysThenFails => vec![waits(), paid(), failed()],
        Course::FailsThenPays { .. } => vec![waits(), failed(), waits(), paid()],
        // Only an app has somebody who could claim it.
        Course::Unclaimed if line == Line::AppPayment => vec![waits()],
        Course::Pays | Course::Unclaimed => vec![waits(), paid()],
    }
}

impl Slip {
    fn last(&self) -> &RailState {
        self.said.last().expect("a rail answers an order with a word")
    }

    fn report(&self, nth: usize) -> Report {
        Report {
            sequence: nth as u64 + 1,
            state: self.said[nth].clone(),
        }
    }
}

impl Rails {
    /// Whether everything has been said, told, and read.
    pub(crate) fn is_heard(&self) -> bool {
        let silent = self.slips.values().all(|slip| slip.to_come.is_empty());
        silent && self.held.is_empty() && self.heard >= self.told.len() as u64
    }

    fn tell(&mut self, payout: PayoutId, report: Report) {
        let number = self.told.len() as u64 + 1;
        self.told.push(Told { number, payout, report });
    }

    /// Says what is due, and tells it now or behind what comes next.
    fn speak(&mut self, world: &World) {
        let (now, calm) = (world.true_ms(), world.is_calm());
        for (payout, report) in std::mem::take(&mut self.held) {
            self.tell(payout, report);
        }
        let mut fresh = Vec::new();
        for slip in self.slips.values_mut() {
            while slip.to_come.front().is_some_and(|(due, _)| *due <= now || calm) {
                let (_, state) = slip.to_come.pop_front().expect("it is there");
                slip.said.push(state);
                let newest = slip.said.len() - 1;
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
                    self.tell(payout, report.clone());
                    self.tell(payout, report);
                }
                2 => {
                    self.tell(payout, report);
                    self.tell(payout, old);
                }
                _ => self.tell(payout, report),
            }
        }
        if calm {
            for (payout, report) in std::mem::take(&mut self.held) {
                self.tell(payout, report);
            }
        }
    }

    fn take(&mut self, world: &World, order: &PayoutOrder, course: Course) {
        let now = world.true_ms();
        self.slips.entry(order.key).or_insert_with(|| {
            let words = words(course, order.line).into_iter().enumerate();
            Slip {
                payout: order.payout,
                course,
                said: Vec::new(),
                to_come: words.map(|(n, word)| (now + n as u64 * PAUSE_MS, word)).collect(),
            }
        });
        self.speak(world);
    }

    fn recall(&mut self, world: &World, key: EffectId) -> Recall {
        self.speak(world);
        let Some(slip) = self.slips.get_mut(&key) else {
            return Recall::Done;
        };
        let late = matches!(slip.course, Course::FailsThenPays { gone: false });
        match slip.last() {
            RailState::Complete { .. } if !late => Recall::TooLate,
            RailState::Failed { .. } | RailState::Cancelled { .. } | RailState::Returned { .. } => Recall::Done,
            RailState::Complete { .. } | RailState::InProcess { .. } => {
                slip.to_come = VecDeque::from([(0, returned())]);
                self.speak(world);
                Recall::Done
            }
        }
    }
}

pub(crate) struct SimRails(pub(crate) Arc<World>);

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "pay out",
        message: "as the plan says".into(),
    }
}

impl SimRails {
    /// Nobody orders what is not durably bought, for another amount, or under two keys; nothing leaves before the form.
    fn judge(&self, order: &PayoutOrder) {
        let stored: Option<Payout> = durable(&self.0, Kind::Payout, &order.payout.0.to_be_bytes());
        let sold = stored.is_some_and(|payout| {
            let known = !matches!(payout.plan.target, Target::Card(None));
            let same = (payout.amount, payout.currency) == (order.amount, order.currency);
            known && same && payout.key == order.key && payout.plan.target.line() == order.line
        });
        if !sold {
            self.0.object("payout.early", format!("{order:?} is not durably sold"));
        }
        let rails = self.0.rails.lock();
        let others = rails.slips.iter().filter(|(_, slip)| slip.payout == order.payout);
        let keys = others.filter(|(key, _)| **key != order.key).count();
        drop(rails);
        if keys != 0 {
            self.0
                .object("payout.keys", format!("{} was ordered twice", order.payout));
        }
    }

    async fn answer(&self, order: &PayoutOrder) -> Result<Report, PortError> {
        let world = &self.0;
        world.linger(world.below(80)).await;
        let n = fate_of_order(order.amount);
        let (course, sends) = world
            .plan
            .fates
            .get(&n)
            .map_or((Course::Pays, [].as_slice()), |fate| (fate.course, &fate.send));
        let call = {
            let mut rails = world.rails.lock();
            let calls = rails.calls.entry(order.key).or_default();
            *calls += 1;
            *calls - 1
        };
        let met = sends
            .get(call)
            .copied()
            .filter(|_| !world.is_calm())
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
            Send::Slow(ms) => world.linger(ms).await,
            _ => {}
        }
        let (newest, first) = {
            let mut rails = world.rails.lock();
            rails.take(world, order, course);
            let slip = &rails.slips[&order.key];
            (slip.report(slip.said.len() - 1), slip.report(0))
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

impl PayoutRails for SimRails {
    fn send<'a>(&'a self, order: &'a PayoutOrder) -> BoxFuture<'a, Result<Report, PortError>> {
        Box::pin(async move {
            self.0.pass().await;
            self.judge(order);
            let _one = self.0.alone.enter(&self.0, "payout.at_once", order.key.0);
            let answer = self.answer(order).await;
            self.0.pass().await;
            answer
        })
    }

    fn ordered(&self, key: EffectId) -> BoxFuture<'_, Result<Option<Report>, PortError>> {
        Box::pin(async move {
            let world = &self.0;
            world.pass().await;
            if !world.is_calm() && world.one_in(6) {
                return Err(error(ErrorKind::Unknown));
            }
            let mut rails = world.rails.lock();
            rails.speak(world);
            Ok(rails.slips.get(&key).map(|slip| slip.report(slip.said.len() - 1)))
        })
    }

    fn recall(&self, key: EffectId, payout: PayoutId) -> BoxFuture<'_, Result<Recall, PortError>> {
        Box::pin(async move {
            let world = &self.0;
            world.pass().await;
            let stored: Option<Payout> = durable(world, Kind::Payout, &payout.0.to_be_bytes());
            if !stored.is_some_and(|p| p.key == key && (p.is_credited() || matches!(p.plan.target, Target::App(..)))) {
                world.object("recall.early", format!("{payout} is asked back"));
            }
            world.linger(world.below(80)).await;
            let weather = if world.is_calm() { 9 } else { world.below(10) };
            if weather == 0 {
                return Err(error(ErrorKind::Temporary));
            }
            let recall = world.rails.lock().recall(world, key);
            world.trace(|| format!("rail: {payout} is asked back in weather {weather}: {recall:?}"));
            match weather {
                1 => return Err(error(ErrorKind::Unknown)),
                2 => std::future::pending().await,
                _ => {}
            }
            world.pass().await;
            Ok(recall)
        })
    }

    fn told(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Told>, PortError>> {
        Box::pin(async move {
            let world = &self.0;
            world.pass().await;
            let weather = if world.is_calm() { 9 } else { world.below(12) };
            match weather {
                0 => return Err(error(ErrorKind::Unknown)),
                1 => world.linger(900).await,
                2 if world.one_in(4) => panic!("{ORDERED_PANIC}"),
                _ => {}
            }
            let mut rails = world.rails.lock();
            rails.speak(world);
            rails.heard = rails.heard.max(after);
            let from = usize::try_from(after).unwrap_or(usize::MAX).min(rails.told.len());
            Ok(rails.told[from..].iter().take(limit).cloned().collect())
        })
    }
}
