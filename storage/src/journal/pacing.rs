//! When the next group may begin. Syncs are spaced while many callers commit at the same time, because each sync takes
//! processor time that those callers need.
//!
//! A pure rule over counts and times. Waiting must never leave the processors idle, so it looks at who is there:
//!
//! - Batches that are in a group or queued when its sync returns belong to different callers, who all wait for the
//!   journal. The most of late are `callers`. With few of them no group waits; with some the time is shorter.
//! - Half of `callers` is enough for a group: if all come back to the journal soon, one half commits while the other
//!   half works. If they do not, fewer callers are seen after such a group. They have other work (a paid call does much
//!   between its commits), and for some groups the time decides. It also decides now and then for a
//!   few groups, because more callers than before may have come.

use std::time::Duration;

/// With fewer callers syncs are not spaced.
const SOME_CALLERS: usize = 4;
/// With this many callers the whole spacing is kept; with fewer, their share of it.
const MANY_CALLERS: usize = 16;
/// Part of `callers` that is forgotten with each group, rounded up.
const FORGOTTEN: usize = 8;
/// Groups that keep their time after half of the callers was found not to be enough.
const GROUPS_BY_TIME: u32 = 16;
/// After this many groups of half of the callers, the next [`GROUPS_TO_LOOK`] keep their time.
const GROUPS_OF_HALF: u32 = 64;
const GROUPS_TO_LOOK: u32 = 2;

/// What a group's sync found when it returned, before anybody was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyncedGroup {
    /// Batches in the group.
    pub(crate) batches: usize,
    /// Batches that came meanwhile.
    pub(crate) queued: usize,
}

/// What to do before the next group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextGroup {
    Begin,
    /// Wait until this many batches are queued, at most this long; then ask again.
    Gather {
        enough: usize,
        at_most: Duration,
    },
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct SyncPacing {
    /// Longest time between the beginnings of two groups for which a batch waits. Zero: syncs are not spaced.
    spacing: Duration,
    callers: usize,
    /// Batches of the last group.
    last_batches: usize,
    /// Whether the group that begins now did not wait for its time, because half of the callers was enough.
    is_early: bool,
    /// Groups left for which half of the callers is not enough.
    by_time: u32,
    /// Early groups since the last ones by time.
    early_groups: u32,
}

impl SyncPacing {
    pub(crate) const fn new(spacing: Duration) -> Self {
        Self {
            spacing,
            callers: 0,
            last_batches: 0,
            is_early: false,
            by_time: 0,
            early_groups: 0,
        }
    }

    /// What to do `since` the last group began, with this many batches in the queue.
    pub(crate) fn next_group(&mut self, since: Duration, queued: usize) -> NextGroup {
        self.is_early = false;
        // A caller alone never waits.
        if self.last_batches < 2 || self.callers < SOME_CALLERS {
            return NextGroup::Begin;
        }
        let time = self.spacing * self.callers.min(MANY_CALLERS) as u32 / MANY_CALLERS as u32;
        let Some(at_most) = time.checked_sub(since).filter(|left| !left.is_zero()) else {
            return NextGroup::Begin;
        };
        let enough = if self.by_time > 0 {
            self.callers
        } else {
            self.callers.div_ceil(2)
        };
        if queued < enough {
            return NextGroup::Gather { enough, at_most };
        }
        self.is_early = self.by_time == 0;
        NextGroup::Begin
    }

    /// Learns from a group that is durable.
    pub(crate) fn synced(&mut self, group: SyncedGroup) {
        self.last_batches = group.batches;
        let seen = group.batches + group.queued;
        if std::mem::take(&mut self.is_early) {
            self.early_groups += 1;
            if seen < self.callers * 3 / 4 {
                (self.by_time, self.early_groups) = (GROUPS_BY_TIME, 0);
                return;
            }
            if self.early_groups == GROUPS_OF_HALF {
                (self.by_time, self.early_groups) = (GROUPS_TO_LOOK, 0);
            }
        } else {
            self.by_time = self.by_time.saturating_sub(1);
        }
        self.callers = seen.max(self.callers - self.callers.div_ceil(FORGOTTEN));
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::{BinaryHeap, VecDeque};

    use super::*;
    use crate::sim_disk::SeededRng;

    const SPACING_US: u64 = 1_000;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn gather(enough: usize, at_most_us: u64) -> NextGroup {
        NextGroup::Gather {
            enough,
            at_most: us(at_most_us),
        }
    }

    // Checks: what happens after these groups (batches, queued), with this time since the last one began and this queue.
    #[test]
    fn groups_wait_only_for_many_callers() {
        const PAIR: (usize, usize) = (8, 8);
        type Row = (&'static [(usize, usize)], u64, usize, NextGroup);
        let table: [Row; 14] = [
            // Nothing is known yet.
            (&[], 0, 0, NextGroup::Begin),
            (&[], 0, 100, NextGroup::Begin),
            // One caller alone, and few.
            (&[(1, 0), (1, 0)], 0, 1, NextGroup::Begin),
            (&[(2, 1), (2, 1)], 0, 1, NextGroup::Begin),
            (&[(64, 0), (1, 0)], 0, 1, NextGroup::Begin),
            // Some: their share of the time.
            (&[(2, 2)], 0, 1, gather(2, 250)),
            (&[(4, 4)], 100, 3, gather(4, 400)),
            // Many: the whole time.
            (&[PAIR], 0, 0, gather(8, 1_000)),
            (&[PAIR], 999, 7, gather(8, 1)),
            (&[(100, 28)], 300, 63, gather(64, 700)),
            // The time is over, or enough are there.
            (&[PAIR], 1_000, 1, NextGroup::Begin),
            (&[PAIR], 5_000, 0, NextGroup::Begin),
            (&[PAIR], 0, 8, NextGroup::Begin),
            // Callers who left are forgotten, an eighth of them a group.
            (&[PAIR, (2, 0), (2, 0), (2, 0)], 0, 1, gather(5, 625)),
        ];
        for (groups, since, queued, expected) in table {
            let mut pacing = SyncPacing::new(us(SPACING_US));
            for (batches, queued) in groups.iter().copied() {
                pacing.synced(SyncedGroup { batches, queued });
            }
            let next = pacing.next_group(us(since), queued);
            let rounded = match next {
                NextGroup::Gather { enough, at_most } => gather(enough, at_most.as_micros() as u64),
                NextGroup::Begin => next,
            };
            assert_eq!(rounded, expected, "{groups:?} since {since} with {queued}");
            // Without spacing no group waits.
            let mut off = SyncPacing::new(Duration::ZERO);
            for (batches, queued) in groups.iter().copied() {
                off.synced(SyncedGroup { batches, queued });
            }
            assert_eq!(off.next_group(us(since), queued), NextGroup::Begin);
        }
    }

    // Checks: if half of the callers began a group and then fewer are seen, the time decides for sixteen groups.
    #[test]
    fn time_decides_when_callers_are_elsewhere() {
        let mut pacing = SyncPacing::new(us(SPACING_US));
        let group = |batches, queued| SyncedGroup { batches, queued };
        pacing.synced(group(16, 0));
        assert_eq!(pacing.next_group(us(10), 8), NextGroup::Begin);
        pacing.synced(group(8, 4));
        // All are seen again: half stays enough.
        assert_eq!(pacing.next_group(us(10), 8), NextGroup::Begin);
        pacing.synced(group(7, 2));
        for _ in 0..16 {
            assert_eq!(pacing.next_group(us(0), 13), gather(14, 875));
            assert_eq!(pacing.next_group(us(2_000), 13), NextGroup::Begin);
            pacing.synced(group(14, 0));
        }
        assert_eq!(pacing.next_group(us(0), 6), gather(7, 875));
    }

    // Checks: while half of the callers stays enough, two of 66 groups keep their time, and new callers are seen then.
    #[test]
    fn new_callers_are_looked_for() {
        let mut pacing = SyncPacing::new(us(SPACING_US));
        let group = |batches, queued| SyncedGroup { batches, queued };
        pacing.synced(group(8, 8));
        for _ in 0..2 {
            for _ in 0..64 {
                assert_eq!(pacing.next_group(us(10), 8), NextGroup::Begin);
                pacing.synced(group(8, 8));
            }
            for _ in 0..2 {
                assert_eq!(pacing.next_group(us(10), 8), gather(16, 990));
                assert_eq!(pacing.next_group(us(20), 16), NextGroup::Begin);
                pacing.synced(group(16, 0));
            }
        }
        pacing.synced(group(16, 8));
        assert_eq!(pacing.next_group(us(10), 11), gather(12, 990));
    }

    /// Callers on two processors in virtual time: each works for some microseconds, commits, and so on.
    struct ClosedLoop {
        now: u64,
        events: BinaryHeap<Reverse<(u64, u64, Event)>>,
        /// Callers that wait for a processor.
        ready: VecDeque<usize>,
        processors: usize,
        queue: Vec<usize>,
        /// The group whose sync runs.
        group: Vec<usize>,
        gathering: Option<usize>,
        pacing: SyncPacing,
        began: u64,
        steps: Vec<usize>,
        works: &'static [u64],
        chance: SeededRng,
        commits: u64,
        groups: u64,
        order: u64,
    }

    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Worked(usize),
        Synced,
        TimeOver(u64),
    }

    /// Processor time of a group (write, sync, wake), and the time that the disk takes.
    const GROUP_US: u64 = 40;
    const SYNC_US: u64 = 100;
    const RUN_US: u64 = 400_000;
    /// In place of a caller: the committer.
    const COMMITTER: usize = usize::MAX;

    impl ClosedLoop {
        /// Runs it; returns commits and groups.
        fn run(callers: usize, works: &'static [u64], spacing_us: u64) -> (u64, u64) {
            let mut world = Self {
                now: 0,
                events: BinaryHeap::new(),
                ready: (0..callers).collect(),
                processors: 2,
                queue: Vec::new(),
                group: Vec::new(),
                gathering: None,
                pacing: SyncPacing::new(us(spacing_us)),
                began: 0,
                // Not all at the same step.
                steps: (0..callers).collect(),
                works,
                chance: SeededRng::new(7),
                commits: 0,
                groups: 0,
                order: 0,
            };
            world.dispatch();
            while let Some(Reverse((at, _, event))) = world.events.pop().filter(|next| next.0.0 < RUN_US) {
                world.now = at;
                world.handle(event);
                world.dispatch();
            }
            (world.commits, world.groups)
        }

        fn at(&mut self, after: u64, event: Event) {
            self.order += 1;
            self.events.push(Reverse((self.now + after, self.order, event)));
        }

        fn dispatch(&mut self) {
            while self.processors > 0
                && let Some(caller) = self.ready.pop_front()
            {
                self.processors -= 1;
                let work = match self.steps.get(caller) {
                    // As much on average.
                    Some(step) => {
                        let work = self.works[step % self.works.len()];
                        work / 2 + self.chance.next_below(work)
                    }
                    None => GROUP_US,
                };
                self.at(work, Event::Worked(caller));
            }
        }

        fn handle(&mut self, event: Event) {
            match event {
                Event::Worked(COMMITTER) => {
                    self.processors += 1;
                    self.at(SYNC_US, Event::Synced);
                }
                Event::Worked(caller) => {
                    self.processors += 1;
                    self.steps[caller] += 1;
                    self.queue.push(caller);
                    if self.gathering.is_none_or(|enough| self.queue.len() >= enough) {
                        self.consider();
                    }
                }
                Event::Synced => {
                    let (batches, queued) = (self.group.len(), self.queue.len());
                    self.pacing.synced(SyncedGroup { batches, queued });
                    self.commits += batches as u64;
                    self.groups += 1;
                    self.ready.extend(self.group.drain(..));
                    self.consider();
                }
                Event::TimeOver(began) if began == self.began && self.group.is_empty() => self.consider(),
                Event::TimeOver(_) => {}
            }
        }

        fn consider(&mut self) {
            if !self.group.is_empty() {
                return;
            }
            self.gathering = None;
            match self.pacing.next_group(us(self.now - self.began), self.queue.len()) {
                NextGroup::Gather { enough, at_most } => {
                    self.gathering = Some(enough);
                    self.at(at_most.as_micros() as u64 + 1, Event::TimeOver(self.began));
                }
                NextGroup::Begin if self.queue.is_empty() => {}
                NextGroup::Begin => {
                    self.began = self.now;
                    self.group = std::mem::take(&mut self.queue);
                    self.ready.push_front(COMMITTER);
                }
            }
        }
    }

    // Checks: in closed loops spacing saves most syncs of calls that do much between their commits, and raises their rate;
    // cheap commands are not slower, however many callers there are; one caller and two are as without.
    #[test]
    fn spacing_saves_syncs_and_costs_no_rate() {
        const PAID: &[u64] = &[100, 30, 60, 90];
        const CHEAP: [&[u64]; 4] = [&[6], &[12], &[25], &[40]];
        let paid = |spacing| ClosedLoop::run(64, PAID, spacing);
        let ((before, groups_before), (after, groups)) = (paid(0), paid(SPACING_US));
        assert!(after > before, "{after} of {before} commits");
        // Groups a commit, before and after.
        assert!(
            groups * before * 2 < groups_before * after,
            "{groups} groups of {groups_before}"
        );
        for work in CHEAP {
            for callers in [16, 64, 1_024] {
                let (before, _) = ClosedLoop::run(callers, work, 0);
                let (after, _) = ClosedLoop::run(callers, work, SPACING_US);
                assert!(after * 100 > before * 94, "{callers} × {work:?}: {after} of {before}");
            }
        }
        for callers in [1, 2] {
            assert_eq!(
                ClosedLoop::run(callers, PAID, 0),
                ClosedLoop::run(callers, PAID, SPACING_US)
            );
        }
    }
}
