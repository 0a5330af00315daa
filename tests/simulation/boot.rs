//! What happens to the disk between two lives, and how a process comes up on it.

use std::sync::Arc;

use purser_storage::disk::Disk;
use purser_storage::sim_disk::{FaultSchedule, SeededRng, SimDisk};
use purser_storage::snapshot::{MemoryRows, MemorySource};
use purser_storage::{JournalStore, OpenError, Store, StoreLimits};

use crate::checks;
use crate::environment::Environment;
use crate::plan::{CrashKind, Plan, Step};

/// Adds deaths that come twice to a plan by chance of their own, so that all else in it stays as it was: what the first
/// one left is read and not yet durable when the second comes.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x7265_6c61_7073);
    let pays = |(_, step): &(usize, &Step)| matches!(step, Step::Pay { .. });
    let places: Vec<usize> = plan.steps.iter().enumerate().filter(pays).map(|(at, _)| at).collect();
    if chance.one_in(3) && !places.is_empty() {
        let at = places[chance.next_below(places.len() as u64) as usize];
        let after = chance.next_below(4);
        plan.steps.insert(at, Step::CrashOnRestart(after));
    }
}

/// The end of a life.
pub(crate) fn crash(world: &Environment, death: CrashKind) {
    world.trace(|| format!("{death:?}"));
    match death {
        CrashKind::Kill => world.disk.kill(),
        CrashKind::Restored(down_ms, covered) => crate::restores::restore(world, down_ms, covered),
        CrashKind::PowerCut | CrashKind::SnapshotsLost => world.with_chance(|chance| world.disk.power_cut(chance)),
    }
    if death == CrashKind::SnapshotsLost {
        world.source.set_image(MemoryRows::default());
    }
    world.source.die_after(None);
}

fn limits(plan: &Plan) -> StoreLimits {
    StoreLimits {
        segment_bytes: 64 << 10,
        group_bytes: 16 << 10,
        lag_limit_bytes: plan.lag_limit_bytes,
        export_every_bytes: 128 << 10,
        retention_bytes: plan.retention_bytes,
        ..StoreLimits::test()
    }
}

fn open(world: &Arc<Environment>, disk: &SimDisk, source: &MemorySource) -> Result<Arc<JournalStore>, OpenError> {
    let clock = world.clone();
    let now = Arc::new(move || clock.machine_ms() * 1_000);
    JournalStore::open_on(Arc::new(disk.clone()), source, limits(&world.plan), now, false)
}

/// Recovers, with the power going away now and then while it is at it, and looks at what came back.
pub(crate) fn boot(world: &Arc<Environment>, rough: bool) -> Option<Arc<JournalStore>> {
    while rough && world.one_in(8) {
        let faults = FaultSchedule::default();
        world.disk.set_faults(match world.below(4) {
            0 => FaultSchedule {
                reads_fail: true,
                ..faults
            },
            1 => FaultSchedule {
                read_only: true,
                ..faults
            },
            _ => FaultSchedule {
                dead_after: Some(world.below(60)),
                ..faults
            },
        });
        match open(world, &world.disk, &world.source) {
            Ok(store) => drop(store),
            Err(OpenError::Io(_)) => {}
            Err(error) => {
                world.report_violation("recovery.refused", error.to_string());
                return None;
            }
        }
        crash(
            world,
            if world.one_in(4) {
                CrashKind::Kill
            } else {
                CrashKind::PowerCut
            },
        );
    }
    if rough && world.one_in(4) {
        flip(world);
    }
    let journal = match open(world, &world.disk, &world.source) {
        Ok(journal) => journal,
        Err(error) => {
            world.report_violation("recovery.refused", error.to_string());
            return None;
        }
    };
    world.trace(|| format!("recovered up to {}", journal.durable_seq()));
    let recovered = world.reference.lock().recovered(&journal);
    if let Err((rule, detail)) = recovered {
        world.report_violation(rule, detail);
    }
    checks::inspect(world, &journal);
    world.violation().is_none().then_some(journal)
}

/// On a copy of the disk one bit of one file is wrong: what is damaged is refused or made again, and never believed.
fn flip(world: &Arc<Environment>) {
    let (disk, source) = (world.disk.copy(), MemorySource::default());
    source.set_image(world.source.image());
    let names = disk.list().unwrap_or_default();
    let Some(name) = names.get(world.below(names.len() as u64) as usize) else {
        return;
    };
    let flipped = disk.corrupt(name, |bytes| {
        let at = world.below(bytes.len() as u64) as usize;
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << world.below(8);
        }
    });
    let opened = open(world, &disk, &source);
    world.trace(|| {
        format!(
            "with one bit of {name} wrong ({flipped:?}): {:?}",
            opened.as_ref().err()
        )
    });
    if let Ok(journal) = opened {
        let mut shadow = world.reference.lock().clone();
        if let Err((rule, detail)) = shadow.recovered(&journal) {
            world.report_violation("damage.silent", format!("a bit of {name}: {rule}: {detail}"));
        }
    }
}
