//! Lanes: of work that has one, only a few tries run at once, the others wait behind them, and none of them takes a place
//! that work of another lane needs. What waits in memory is bounded too: beyond it a row waits instead.

use std::collections::{HashMap, VecDeque};

use purser_storage::{Batch, CommitError, Condition, Write, codec};
use ractor::ActorRef;

use super::{Order, Supervisor};
use crate::kernel::effect::Effect;
use crate::kernel::table;

/// Tries of one lane at once.
const RUNNING_MAX: usize = 8;
/// Effects of one lane that wait in memory.
const WAITING_MAX: usize = 1_000;
/// Effects of all lanes that wait in memory, beyond which each lane has [`WAITING_FEW`].
const ALL_WAITING_MAX: usize = 20_000;
const WAITING_FEW: usize = 16;
/// How long a row waits instead, in milliseconds; up to as long again is added.
const PUT_OFF_MS: u64 = 30_000;

#[derive(Default)]
struct Lane {
    running: usize,
    waiting: VecDeque<Effect>,
}

/// The lanes of one supervisor.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: HashMap<u128, Lane>,
    waiting: usize,
}

/// What becomes of an effect that is due.
pub(super) enum Entry {
    /// It may run.
    Runs(Effect),
    /// It runs when one before it has ended.
    Waits,
    /// Too many wait already.
    Full(Effect),
}

impl Lanes {
    pub(super) fn enter(&mut self, effect: Effect) -> Entry {
        let Some(name) = effect.work.lane() else {
            return Entry::Runs(effect);
        };
        let lane = self.lanes.entry(name).or_default();
        if lane.running < RUNNING_MAX {
            lane.running += 1;
            return Entry::Runs(effect);
        }
        let most = match self.waiting < ALL_WAITING_MAX {
            true => WAITING_MAX,
            false => WAITING_FEW,
        };
        if lane.waiting.len() >= most {
            return Entry::Full(effect);
        }
        lane.waiting.push_back(effect);
        self.waiting += 1;
        Entry::Waits
    }

    /// A try has ended; what may run in its place.
    pub(super) fn leave(&mut self, effect: &Effect) -> Option<Effect> {
        let name = effect.work.lane()?;
        let lane = self.lanes.get_mut(&name)?;
        if let Some(next) = lane.waiting.pop_front() {
            self.waiting -= 1;
            return Some(next);
        }
        lane.running -= 1;
        if lane.running == 0 {
            self.lanes.remove(&name);
        }
        None
    }
}

impl Supervisor {
    /// Lets a row wait in an effect's place: it comes due again like any other timer.
    pub(super) fn put_off(&self, myself: ActorRef<Order>, mut effect: Effect) {
        let jitter = (self.ground.entropy.random() % u128::from(PUT_OFF_MS)) as u64;
        effect.next_at = self.ground.clock.now().plus_ms(PUT_OFF_MS + jitter);
        let batch = Batch {
            conditions: vec![Condition::Present(table::effect(effect.id))],
            writes: vec![
                Write::Delete {
                    key: table::effect(effect.id),
                },
                Write::Put {
                    key: table::timer(effect.next_at, effect.id),
                    revision: 0,
                    value: codec::encode(&effect),
                },
            ],
            ..Batch::default()
        };
        self.ground.store.commit(
            batch,
            Box::new(move |done| match done {
                // It was completed meanwhile, or the store stops and the next start finds it.
                Ok(_) | Err(CommitError::Condition(_) | CommitError::Stopped) => {}
                Err(_) => drop(myself.cast(Order::Start(effect))),
            }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{DeliveryId, EffectId, EndpointId};
    use crate::kernel::effect::Work;
    use crate::port::Timestamp;

    fn effect(id: u128, endpoint: u128) -> Effect {
        let work = Work::PostWebhook {
            delivery: DeliveryId(id),
            endpoint: EndpointId(endpoint),
            round: 1,
        };
        Effect::new(EffectId(id), work, Timestamp(1))
    }

    fn runs(entry: &Entry) -> bool {
        matches!(entry, Entry::Runs(_))
    }

    // Aim: a lane runs a few and lets some wait, in order; another is not kept waiting by it, and nothing is left of one
    // that has ended.
    #[test]
    fn a_lane_runs_a_few_and_keeps_no_other_waiting() {
        let (mut lanes, all) = (Lanes::default(), (RUNNING_MAX + WAITING_MAX) as u128);
        let entries: Vec<Entry> = (0..all).map(|id| lanes.enter(effect(id, 1))).collect();
        assert_eq!(entries.iter().filter(|entry| runs(entry)).count(), RUNNING_MAX);
        assert!(matches!(lanes.enter(effect(all, 1)), Entry::Full(_)));
        assert!(runs(&lanes.enter(effect(all + 1, 2))), "another lane");
        for id in 0..WAITING_MAX as u128 {
            let next = lanes.leave(&effect(id, 1)).map(|next| next.id);
            assert_eq!(next, Some(EffectId(id + RUNNING_MAX as u128)));
        }
        for _ in 0..RUNNING_MAX {
            assert_eq!(lanes.leave(&effect(0, 1)), None);
        }
        assert_eq!(lanes.leave(&effect(all + 1, 2)), None);
        assert!(lanes.lanes.is_empty() && lanes.waiting == 0);
    }

    // Aim: however many lanes there are, what waits in memory is bounded.
    #[test]
    fn what_waits_in_memory_is_bounded() {
        let mut lanes = Lanes::default();
        for lane in 0..3_000_u128 {
            for n in 0..100 {
                lanes.enter(effect(lane * 1_000 + n, lane));
            }
        }
        assert!(
            lanes.waiting <= ALL_WAITING_MAX + 3_000 * WAITING_FEW,
            "{}",
            lanes.waiting
        );
        let last = lanes.lanes.get(&2_999).map(|lane| lane.waiting.len());
        assert_eq!(last, Some(WAITING_FEW), "nobody is kept out");
    }
}
