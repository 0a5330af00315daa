//! A backup that is made in the middle of a run, and a restore that loses whatever came after it. The chains, the providers and
//! everybody who was told something go on as if nothing had been: what was paid is a product or a credit once, what left has
//! left once, and what was ended stays so.

use std::collections::BTreeSet;

use purser_actors::engine::{Booking, Engine, Restored};
use purser_actors::id::WithdrawalId;
use purser_actors::kernel::table;
use purser_actors::port::{Booked, Timestamp};
use purser_storage::codec;
use purser_storage::disk::Disk as _;
use purser_storage::fault::{Seeded, SimDisk};
use purser_storage::snapshot::MemoryRows;
use purser_storage::{JournalStore, RestoreMark};

use crate::agents::Agents;
use crate::clients::{Notes, is_gift, wallet};
use crate::desk::act;
use crate::own;
use crate::plan::{Plan, Step, pick};
use crate::shadow::Shadow;
use crate::store::SimStore;
use crate::withdrawals::{EACH, OUT, fate_of};
use crate::world::World;

/// The file that a backup is in.
const FILE: &str = "backup";
/// Longer than anything that is signed here can land after it was.
const QUIET_MS: u64 = 150_000;

/// A backup, and what was true when it was made.
struct Backup {
    disk: SimDisk,
    shadow: Shadow,
    notes: Notes,
    /// The moment at which it was made: what was told later is in no book once it is restored.
    made: u64,
}

/// The backup that there is, and the restore that there was.
#[derive(Default)]
pub(crate) struct Archive {
    backup: Option<Backup>,
    mark: Option<RestoreMark>,
}

impl Archive {
    pub(crate) const fn has_backup(&self) -> bool {
        self.backup.is_some()
    }

    /// The last restore.
    pub(crate) const fn mark(&self) -> Option<RestoreMark> {
        self.mark
    }

    /// What the process is told of the last restore.
    pub(crate) fn restored(&self) -> Option<Restored> {
        self.mark.map(|mark| Restored {
            since: Timestamp(mark.backed_up_at_ms.saturating_sub(QUIET_MS)),
            until: Timestamp(mark.restored_at_ms).plus_ms(QUIET_MS),
        })
    }
}

/// Adds a restore to a plan by chance of its own. What cannot be had back after one is left out of such a run: it has payments
/// for what makers make, withdrawals, managed wallets, keys and freezes.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = Seeded::new(plan.seed ^ 0x7265_7374_6f72_6573);
    if !chance.one_in(4) {
        return;
    }
    plan.steps.retain(is_kept);
    let length = plan.steps.len() as u64;
    let from = chance.below(length * 2 / 3 + 1);
    let to = from + 1 + chance.below(length - from + 1);
    let down_ms = pick(&mut chance, &[0, 3_000, 40_000]);
    plan.steps.insert((to as usize).min(plan.steps.len()), Step::Restore { down_ms });
    plan.steps.insert(from as usize, Step::BackUp);
}

fn is_kept(step: &Step) -> bool {
    match step {
        Step::Pay { payment, .. } => is_made(*payment),
        Step::Agent(Agents::Spends(nth)) => own::payment_of(*nth).is_none_or(is_made),
        Step::Bank { .. }
        | Step::Load(_)
        | Step::Desk { .. }
        | Step::Identity { .. }
        | Step::Answer { .. }
        | Step::Issuer { .. }
        | Step::Form { .. }
        | Step::Keep { .. }
        // The times of a backup are held against the chains'.
        | Step::SetClock { .. } => false,
        _ => true,
    }
}

/// Whether a payment is for a prepaid card or a gift card.
fn is_made(payment: u32) -> bool {
    !crate::top_ups::is_top_up(payment) && (is_gift(payment) || payment % 6 < 2)
}

/// Everything durable now, onto a disk of its own.
pub(crate) fn back_up(world: &World, store: &SimStore) {
    let disk = SimDisk::new();
    let shadow = world.shadow.lock().clone();
    match store.journal.backup_on(&disk, FILE) {
        Ok(seq) if seq == shadow.seq => {}
        other => return world.object("backup.seq", format!("{other:?}, and {} is durable", shadow.seq)),
    }
    world.trace(|| format!("backed up to {}", shadow.seq));
    let (notes, made) = (world.notes.lock().clone(), world.moment());
    world.archive.lock().backup = Some(Backup {
        disk,
        shadow,
        notes,
        made,
    });
}

/// The store of the last life is gone, and what was backed up is there in its place.
pub(crate) fn restore(world: &World, down_ms: u64) {
    let mut archive = world.archive.lock();
    let Some(backup) = &archive.backup else { return };
    world.pass_by(down_ms);
    world.disk.kill();
    for name in world.disk.list().unwrap_or_default() {
        world.disk.remove(&name).expect("it was listed");
    }
    world.disk.sync_dir().expect("no fault is set");
    world.source.set_image(MemoryRows::default());
    let mark = match JournalStore::restore_on(&backup.disk, FILE, &world.disk, world.machine_ms()) {
        Ok(mark) => mark,
        Err(error) => return world.object("restore.refused", error.to_string()),
    };
    world.trace(|| format!("restored: {mark:?}"));
    world.shadow.lock().recall(&backup.shadow, mark.first_seq);
    world.notes.lock().recall(&backup.notes, backup.made);
    world.watchers.lock().iter_mut().for_each(crate::watchers::Watcher::recall);
    archive.mark = Some(mark);
}

/// Departures that somebody has booked, by transaction.
pub(crate) fn booked(world: &World) -> BTreeSet<String> {
    let shadow = world.shadow.lock();
    let rows = shadow.rows.iter().filter(|(key, _)| key[0] == table::DEPARTURE);
    rows.map(|(_, row)| codec::decode::<Booked>(&row.value).unwrap().departure.transaction)
        .collect()
}

/// An operator says of each transfer that left in the lost history whose it was: of the withdrawal that waits for it, else of
/// whoever had asked for it, as far as there is enough; else it is a loss.
pub(crate) async fn operate(world: &World, engine: &Engine) {
    for unexplained in engine.unexplained().await.unwrap_or_default() {
        let departure = &unexplained.departure;
        let n = u32::from_be_bytes(*departure.mark.last_chunk().unwrap());
        let waits = unexplained.may_be.iter().filter_map(|name| name.parse().ok());
        let own = waits.map(Booking::Withdrawal).find(|booking| match booking {
            Booking::Withdrawal(WithdrawalId(id)) => fate_of(*id as u32) == fate_of(n),
            _ => false,
        });
        let holder = wallet(((n - OUT) / EACH % 3) as u8);
        for booking in own.into_iter().chain([Booking::Account(holder), Booking::Loss]) {
            let by = act(2);
            let told = engine.book(&departure.transaction, booking, (&by, "seen on the chain".into()));
            let told = told.await;
            world.trace(|| format!("operator: {} is {booking:?}: {told:?}", departure.transaction));
            if told.is_ok() {
                break;
            }
        }
    }
}
