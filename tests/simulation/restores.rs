//! A backup in the middle of a run, and a restore that loses everything after it. Chains, providers and clients
//! continue from the lost history. A payment is a product or a credit once, a transfer is sent once, and revocations
//! remain.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use purser::revocations::{Entry, entry_of};
use purser::service::restore::LogCoverage;
use purser_actors::engine::{Attribution, Engine, GateHold, IncomingDecision, LostHistory, RestoreWindow};
use purser_actors::entity::account::Account;
use purser_actors::entity::incoming::Status;
use purser_actors::entity::payment::Payment;
use purser_actors::entity::withdrawal::{self, Withdrawal};
use purser_actors::id::{Wallet, WithdrawalId};
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::kernel::{EntityKind, table};
use purser_actors::port::{AttributedTransfer, Authorization, Timestamp};
use purser_storage::codec;
use purser_storage::disk::Disk as _;
use purser_storage::sim_disk::{SeededRng, SimDisk};
use purser_storage::snapshot::MemoryRows;
use purser_storage::{JournalStore, RestoreMarker, StoredEvent};

use crate::account_steps::durable;
use crate::agents::WalletPaymentStep;
use crate::card_balances::durable_entities;
use crate::chain::received;
use crate::checks::restored::credited_deposits;
use crate::clients::{ClientLog, Clients, is_gift, wallet};
use crate::environment::Environment;
use crate::order_operators::act;
use crate::own_purchases;
use crate::plan::{Plan, Step, WALLETS, pick};
use crate::reference_store::ReferenceStore;
use crate::store::SimStore;
use crate::withdrawals::{FIRST_OUTGOING, NUMBERS_PER_REQUEST, fault_plan_of};

/// The file that a backup is in.
const FILE: &str = "backup";
/// Longer than anything that is signed here can land after it was.
const EXPIRY_MS: u64 = 150_000;

/// A backup, and what was true when it was made.
struct Backup {
    disk: SimDisk,
    reference: ReferenceStore,
    client_log: ClientLog,
    /// What had been sent, as it was sent.
    sent: BTreeMap<u32, Vec<u8>>,
    /// When it was made: responses after it are missing from the restored ledger.
    made: u64,
}

/// The backup that there is, and the restore that there was.
#[derive(Default)]
pub(crate) struct Archive {
    backup: Option<Backup>,
    mark: Option<RestoreMarker>,
    /// What was ended, as it is kept beside the store.
    log: Vec<Entry>,
    /// Whether that was there at the restore.
    covered: bool,
    /// Payments that an operator sees to.
    pub(crate) manual_payments: BTreeSet<u32>,
}

impl Archive {
    pub(crate) const fn has_backup(&self) -> bool {
        self.backup.is_some()
    }

    /// Records revocations that are about to be reported.
    pub(crate) fn record(&mut self, events: &[StoredEvent]) {
        let records = events
            .iter()
            .filter_map(|event| EventRecord::read(&event.subject, &event.payload).ok());
        self.log.extend(records.filter_map(|record| entry_of(&record)));
    }

    /// Whether the backup has an account.
    pub(crate) fn was_covered(&self, account: &Wallet) -> bool {
        let key = table::entity(EntityKind::Account, &account.key());
        let rows = self.backup.as_ref().map(|backup| &backup.reference.rows);
        rows.is_some_and(|rows| rows.contains_key(&key))
    }

    /// Whether the backup has this withdrawal as signed.
    pub(crate) fn had_signed(&self, authorization: &Authorization) -> bool {
        let Some(backup) = &self.backup else { return false };
        let prefix = table::entity(EntityKind::Withdrawal, &[]);
        let rows = backup.reference.rows.iter().filter(|(key, _)| key.starts_with(&prefix));
        rows.filter_map(|(_, row)| codec::decode::<Withdrawal>(&row.value).ok())
            .any(|withdrawal| match withdrawal.status {
                withdrawal::Status::Sent(sent) => sent.authorization == *authorization,
                _ => false,
            })
    }

    /// The last restore.
    pub(crate) const fn mark(&self) -> Option<RestoreMarker> {
        self.mark
    }

    /// What the process knows about the last restore.
    pub(crate) fn forgotten(&self) -> (Option<LostHistory>, Option<RestoreWindow>) {
        (self.lost(), self.restored())
    }

    /// When nothing may leave.
    pub(crate) fn restored(&self) -> Option<RestoreWindow> {
        self.mark.map(|mark| RestoreWindow {
            since: Timestamp(mark.backed_up_at_ms.saturating_sub(EXPIRY_MS)),
            until: Timestamp(mark.restored_at_ms).plus_ms(EXPIRY_MS),
            at: Timestamp(mark.restored_at_ms),
        })
    }

    /// The period without records.
    fn lost(&self) -> Option<LostHistory> {
        self.mark.map(|mark| LostHistory {
            since: Timestamp(mark.backed_up_at_ms),
            restored: Timestamp(mark.restored_at_ms),
            until: Timestamp(mark.restored_at_ms).plus_ms(EXPIRY_MS),
        })
    }
}

/// Adds a restore to a plan, with its own random numbers. Such a run excludes steps that a restore cannot recover. It
/// has purchases from providers, withdrawals, agent wallets, keys and freezes.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x7265_7374_6f72_6573);
    if !chance.one_in(4) {
        return;
    }
    plan.steps.retain(is_retained);
    let length = plan.steps.len() as u64;
    let from = chance.next_below(length * 2 / 3 + 1);
    // Often while a spend is reserved and nothing of it is signed: the lost history goes on with it.
    let spends = |step: &Step| matches!(step, Step::Agent(WalletPaymentStep::Pays(_)));
    let spend = plan.steps.iter().skip(from as usize).position(spends);
    let from = match spend.filter(|_| chance.one_in(2)) {
        Some(behind) => {
            let after = from as usize + behind + 1;
            let ms = pick(&mut chance, &[1, 5, 20]);
            plan.steps.insert(after, Step::Wait { ms });
            after as u64 + 1
        }
        None => from,
    };
    let length = plan.steps.len() as u64;
    let to = from + 1 + chance.next_below(length - from + 1);
    let down_ms = pick(&mut chance, &[0, 3_000, 40_000]);
    let covered = !chance.one_in(5);
    let step = Step::Restore { down_ms, covered };
    let to = (to as usize).min(plan.steps.len());
    plan.steps.insert(to, step);
    plan.steps.insert(from as usize, Step::BackUp);
    if chance.one_in(2) {
        present_again(plan, from as usize..to + 1);
    }
}

/// At rest, clients present the payments of the lost history again. What the store did not know then was credited and
/// buys nothing more.
fn present_again(plan: &mut Plan, lost: Range<usize>) {
    let behind = lost.end + 1;
    let paid = plan.steps[lost].iter().filter_map(|step| match step {
        Step::Pay { payment, request, .. } => Some((*payment, *request)),
        _ => None,
    });
    let paid: BTreeMap<u32, u8> = paid.collect();
    let again = paid.into_iter().map(|(payment, request)| Step::Pay {
        payment,
        request,
        client_timeout_ms: None,
    });
    let again: Vec<Step> = std::iter::once(Step::Rest).chain(again).collect();
    plan.steps.splice(behind..behind, again);
}

fn is_retained(step: &Step) -> bool {
    match step {
        Step::Pay { payment, .. } => is_made(*payment),
        Step::Agent(WalletPaymentStep::Pays(nth)) => own_purchases::payment_of(*nth).is_none_or(is_made),
        Step::Bank { .. }
        | Step::CardBalance(_)
        | Step::OperatorAction { .. }
        | Step::Identity { .. }
        | Step::Answer { .. }
        | Step::Issuer { .. }
        | Step::Form { .. }
        | Step::Recipient { .. }
        // Times in a backup are compared with the chains' clock.
        | Step::SetClock { .. } => false,
        _ => true,
    }
}

/// Whether a payment is for a prepaid card or a gift card.
fn is_made(payment: u32) -> bool {
    !crate::top_ups::is_top_up(payment) && (is_gift(payment) || payment % 6 < 2)
}

/// Everything durable now, onto a disk of its own.
pub(crate) fn back_up(world: &Environment, store: &SimStore) {
    let disk = SimDisk::new();
    let shadow = world.reference.lock().clone();
    match store.journal.backup_on(&disk, FILE) {
        Ok(seq) if seq == shadow.seq => {}
        other => return world.report_violation("backup.seq", format!("{other:?}, and {} is durable", shadow.seq)),
    }
    world.trace(|| format!("backed up to {}", shadow.seq));
    let (notes, made) = (world.client_log.lock().clone(), world.next_sequence());
    world.archive.lock().backup = Some(Backup {
        disk,
        reference: shadow,
        client_log: notes,
        sent: world.chain.lock().sent(),
        made,
    });
}

/// The store of the last life is gone, and what was backed up is there in its place.
pub(crate) fn restore(world: &Environment, down_ms: u64, covered: bool) {
    let mut archive = world.archive.lock();
    let Some(backup) = &archive.backup else { return };
    world.advance_offline(down_ms);
    world.disk.kill();
    for name in world.disk.list().unwrap_or_default() {
        world.disk.remove(&name).expect("it was listed");
    }
    world.disk.sync_dir().expect("no fault is set");
    world.source.set_image(MemoryRows::default());
    let mark = match JournalStore::restore_on(&backup.disk, FILE, &world.disk, world.machine_ms()) {
        Ok(mark) => mark,
        Err(error) => return world.report_violation("restore.refused", error.to_string()),
    };
    world.trace(|| format!("restored: {mark:?}"));
    world.reference.lock().recall(&backup.reference, mark.first_seq);
    world.client_log.lock().recall(&backup.client_log, backup.made, covered);
    world.chain.lock().recall(&backup.sent);
    world
        .subscribers
        .lock()
        .iter_mut()
        .for_each(crate::subscribers::SimSubscriber::recall);
    archive.mark = Some(mark);
    archive.covered = covered;
}

/// Outgoing transfers that an operator has attributed, by transaction.
pub(crate) fn attributed_transfers(world: &Environment) -> BTreeSet<String> {
    let shadow = world.reference.lock();
    let rows = shadow
        .rows
        .iter()
        .filter(|(key, _)| key[0] == table::ATTRIBUTED_TRANSFER);
    rows.map(|(_, row)| {
        codec::decode::<AttributedTransfer>(&row.value)
            .unwrap()
            .transfer
            .transaction
    })
    .collect()
}

/// What a start does first in a store that was restored, as the service does it.
pub(crate) async fn start_restored(world: &Environment, engine: &Engine) {
    let (mark, log) = {
        let archive = world.archive.lock();
        (archive.mark, archive.covered.then(|| archive.log.clone()))
    };
    let Some(mark) = mark else { return };
    let known = match &log {
        Some(log) => LogCoverage::Complete(log),
        None => LogCoverage::Partial(&[]),
    };
    if let Err(error) = purser::service::restore::reapply_revocations(engine, mark, known).await
        && !world.is_crashed()
    {
        // As the binary: it does not serve, and is started again.
        world.trace(|| format!("the start fails: {error}"));
        world.crash("as it cannot begin");
    }
}

/// What operators do after a restore, and with what waits for an account that is frozen.
pub(crate) async fn operate(clients: &Clients) {
    let (world, engine) = (&clients.environment, &clients.engine);
    let held = engine.gated_jobs().await.unwrap_or_default();
    if held.iter().any(|(_, why)| *why == GateHold::AccountFrozen) {
        // Nothing is at rest before it may leave.
        for number in 0..WALLETS as u8 {
            let account: Option<Account> = durable(world, EntityKind::Account, &wallet(number).key());
            if account.is_some_and(|account| account.frozen.is_some()) {
                clients.freeze(number, false);
            }
        }
    }
    if world.archive.lock().mark().is_some() {
        attribute_transfers(world, engine).await;
        rule(world, engine).await;
    }
}

/// An operator attributes each outgoing transfer of the lost history: to the withdrawal that waits for it, else to the
/// account that requested it if its balance suffices, else to losses.
async fn attribute_transfers(world: &Environment, engine: &Engine) {
    for unexplained in engine.untracked_transfers().await.unwrap_or_default() {
        let transfer = &unexplained.transfer;
        let name = transfer.name().to_string();
        let n = u32::from_be_bytes(*transfer.fingerprint.last_chunk().unwrap());
        let waits = unexplained.candidates.iter().filter_map(|name| name.parse().ok());
        let own = waits
            .filter(|id: &WithdrawalId| fault_plan_of(id.0 as u32) == fault_plan_of(n))
            .map(Attribution::Withdrawal);
        let holder = wallet(((n - FIRST_OUTGOING) / NUMBERS_PER_REQUEST % 3) as u8);
        let all: Vec<_> = own.chain([Attribution::Account(holder), Attribution::Loss]).collect();
        for booking in all {
            let by = act(2);
            let result = engine.attribute_transfer(&name, (booking, None), (&by, "seen on the chain".into()));
            let result = result.await;
            world.trace(|| format!("operator: {name} is {booking:?}: {result:?}"));
            if result.is_ok() {
                break;
            }
        }
    }
}

/// An operator credits each waiting incoming transfer to its sender.
async fn rule(world: &Environment, engine: &Engine) {
    for (_, incoming) in engine.incoming_transfers(None, 1_000).await.unwrap_or_default() {
        if incoming.status != Status::Waiting {
            continue;
        }
        let (id, by) = (incoming.transfer.id(), act(2));
        // What a provider has made of it reaches its buyer by hand.
        // A run with a restore has no top-ups: what left was for something else.
        let made = incoming
            .provider_report
            .as_ref()
            .filter(|shows| !shows.contains("maybe for a top-up"));
        let rule = match made {
            Some(_) => IncomingDecision::OperatorFunds,
            None => IncomingDecision::Credit {
                account: None,
                keep_payout: false,
            },
        };
        let result = engine.decide_incoming(id, rule, (&by, "theirs".into())).await;
        world.trace(|| format!("operator: {id} is {rule:?}: {result:?}"));
        if result.is_ok() && rule == IncomingDecision::OperatorFunds {
            let n = u32::from_be_bytes(*incoming.transfer.fingerprint.last_chunk().unwrap());
            world.archive.lock().manual_payments.insert(own_purchases::canonical(n));
        }
    }
}

/// Transfers of the lost history that are still open: none once every outgoing one is attributed and every incoming one
/// is in the ledger.
pub(crate) fn unresolved(world: &Environment, engine: &Engine) -> Vec<String> {
    if world.archive.lock().mark().is_none() {
        return Vec::new();
    }
    let taken = credited_deposits(world);
    let settled: BTreeSet<String> = durable_entities::<Payment>(world, EntityKind::Payment)
        .into_iter()
        .filter_map(|(_, payment)| payment.transaction().map(str::to_owned))
        .collect();
    let held = engine
        .are_withdrawals_paused()
        .then(|| "something that left is not explained".to_owned());
    let undecided = taken
        .values()
        .filter(|(_, incoming)| incoming.is_open())
        .map(|(id, incoming)| format!("{id} is {:?}", incoming.status));
    let unknown = received(world)
        .into_iter()
        .filter(|(_, transfer)| !settled.contains(&transfer.transaction) && !taken.contains_key(&transfer.transaction))
        .map(|(n, transfer)| {
            format!(
                "payment {n} came in by {} and is not in the ledger",
                transfer.transaction
            )
        });
    held.into_iter().chain(undecided).chain(unknown).collect()
}
