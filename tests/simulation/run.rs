//! One run: lives of the process on one disk, from birth through recovery to death, and a rest at the end at which
//! everything must have come to something.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use purser_actors::engine::{Engine, EngineDeps, Ports};
use purser_actors::kernel::{OutboxJob, table};
use purser_storage::sim_disk::FaultSchedule;
use purser_storage::{JournalStore, Store, codec};

use crate::bank::SimBank;
use crate::boot::{boot, crash};
use crate::bridge::SimBridge;
use crate::chain::SimChain;
use crate::checks;
use crate::clients::Clients;
use crate::endpoints::NoEndpoints;
use crate::environment::{Environment, InvariantViolation};
use crate::identity::SimIdentity;
use crate::order_operators::SimShredder;
use crate::outages;
use crate::payouts::SimPayouts;
use crate::plan::{CrashKind, Plan, Step};
use crate::providers::SimProviders;
use crate::reconciliation;
use crate::reloadable_cards::SimReloadableCards;
use crate::restores;
use crate::seller::SimSeller;
use crate::store::SimStore;
use crate::subscribers::{self, Stream};

/// What a run came to.
pub(crate) struct Outcome {
    pub(crate) violation: Option<InvariantViolation>,
    pub(crate) trace: Vec<String>,
    /// Points at which the process could have died.
    pub(crate) crash_points: u64,
    pub(crate) runs: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunEnd {
    Crashed,
    Rested,
}

/// Simulated time in which everything must have come to rest, in milliseconds.
const COMPLETION_TIMEOUT_MS: u64 = 3_600_000;

pub(crate) fn run(plan: &Plan, traced: bool) -> Outcome {
    let world = Environment::new(plan, traced);
    let mut at = 0;
    loop {
        let mut death = CrashKind::PowerCut;
        let end = run_until_crash(&world, &mut at, &mut death);
        if world.violation().is_some() {
            break;
        }
        world.trace(|| format!("buried after {death:?}"));
        crash(&world, death);
        if end == RunEnd::Rested {
            // What was at rest is still so after the power went.
            let last = in_a_runtime(&world, async {
                boot(&world, false);
                RunEnd::Rested
            });
            debug_assert!(last == RunEnd::Rested);
            break;
        }
    }
    Outcome {
        violation: world.violation(),
        trace: world.traced(),
        crash_points: world.crash_points(),
        runs: world.runs(),
    }
}

pub(crate) fn in_a_runtime<T>(world: &Arc<Environment>, life: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        // So that death comes between two tasks, wherever they are.
        .event_interval(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        world.start_run();
        let end = life.await;
        world.end_run();
        end
    })
}

fn run_until_crash(world: &Arc<Environment>, at: &mut usize, death: &mut CrashKind) -> RunEnd {
    in_a_runtime(world, async {
        let Some(journal) = boot(world, true) else {
            return RunEnd::Crashed;
        };
        tokio::select! {
            biased;
            () = world.wait_for_crash() => RunEnd::Crashed,
            () = script(world, journal, at, death) => RunEnd::Rested,
        }
    })
}

/// The simulated implementation of every port.
fn ports(world: &Arc<Environment>) -> Ports {
    Ports {
        settlement: Arc::new(SimChain(world.clone())),
        issuer: Arc::new(SimProviders(world.clone())),
        gift_cards: Arc::new(SimProviders(world.clone())),
        shredder: Arc::new(SimShredder(world.clone())),
        identity_check: Arc::new(SimIdentity(world.clone())),
        issuer_accounts: Arc::new(SimIdentity(world.clone())),
        payout_rails: Arc::new(SimPayouts(world.clone())),
        card_balances: Arc::new(SimBridge(world.clone())),
        reloadable_cards: Arc::new(SimReloadableCards(world.clone())),
        wallet_signer: Arc::new(SimSeller(world.clone())),
        paid_http: Arc::new(SimSeller(world.clone())),
        bridge: Arc::new(SimBridge(world.clone())),
        bank: Arc::new(SimBank(world.clone())),
        webhooks: Arc::new(NoEndpoints(world.clone())),
    }
}

/// The process, from its start to the plan's end.
async fn script(world: &Arc<Environment>, journal: Arc<JournalStore>, at: &mut usize, death: &mut CrashKind) {
    world.client_log.lock().waiting = 0;
    if world.crash_on_start.swap(false, Ordering::Relaxed) {
        world.trace(|| "a life that ends as it begins".into());
        world.set_crash_countdown(Some(0));
    }
    let store = SimStore::new(journal, world);
    let tasks = tokio::runtime::Handle::current().metrics();
    tokio::spawn(store.clone().commit_all());
    tokio::spawn(store.clone().run_maintenance());
    let mut stream = Stream::open(world, store.clone());
    let (lost, restored) = world.archive.lock().forgotten();
    let parts = EngineDeps {
        store: store.clone(),
        clock: world.clone(),
        entropy: world.clone(),
        ports: ports(world),
        lost_history: lost,
        restored,
        reconciler: reconciliation::watched(world),
        settings: world.plan.settings,
    };
    let engine = match Engine::start(parts).await {
        Ok(engine) => engine,
        Err(error) => return world.report_violation("start.refused", error.to_string()),
    };
    restores::start_restored(world, &engine).await;
    *world.engine.lock() = Some(engine.clone());
    let clients = Clients {
        environment: world.clone(),
        engine,
    };
    clients.set_up_recipients();
    while let Some(step) = world.plan.steps.get(*at) {
        *at += 1;
        world.trace(|| format!("step {at}: {step:?}"));
        match step {
            Step::Crash { how, .. } => *death = *how,
            // What was written is still to be read, and is not durable.
            Step::CrashOnRestart(_) => *death = CrashKind::Kill,
            Step::Restore { down_ms, covered } if world.archive.lock().has_backup() => {
                *death = CrashKind::Restored(*down_ms, *covered);
                world.crash("and its store with it");
            }
            _ => {}
        }
        perform(step, &clients, &store, &mut stream).await;
    }
    finish(&clients, &store).await;
    // Before the proof of the books, so that each can be seen to find what it should.
    reconciliation::check(world, store.clone()).await;
    disconnect_clients(&clients, &store, &mut stream).await;
    let alive = tasks.num_alive_tasks();
    world.trace(|| format!("at rest with {alive} tasks"));
    checks::at_rest(world, &clients.engine, &store, alive).await;
    if stream.hub.subscriptions() != 0 {
        world.report_violation("rest.subscriptions", format!("{} are left", stream.hub.subscriptions()));
    }
}

async fn perform(step: &Step, clients: &Clients, store: &SimStore, stream: &mut Stream) {
    let world = &clients.environment;
    let faults = FaultSchedule::default();
    match *step {
        Step::Pay {
            payment,
            request,
            client_timeout_ms: patience_ms,
        } => clients.pay(payment, request, patience_ms),
        Step::Withdraw { wallet, nth } => clients.withdraw(wallet, nth),
        Step::Bank { wallet, step: does } => clients.bank(wallet, does),
        Step::CardBalance(does) => clients.load(does),
        Step::Agent(does) => clients.agent(does),
        Step::Read { wallet } => clients.read(wallet),
        Step::Watch { wallet } => stream.watch(wallet),
        Step::Stall { watcher, ms } => stream.stall(watcher, ms),
        Step::Reconnect { watcher } => stream.connect(usize::from(watcher)),
        Step::SignIn { wallet, nonce } => clients.sign_in(wallet, nonce),
        Step::Link { wallet, uses } => clients.link(wallet, uses),
        Step::Freeze { wallet, frozen } => clients.freeze(wallet, frozen),
        Step::Card { payment, closes } => clients.card(payment, closes),
        Step::OperatorAction {
            payment,
            operator: who,
            step: does,
        } => clients.operate_order(payment, who, does),
        Step::Identity { wallet } => clients.start_identity(wallet),
        Step::Answer { wallet, passes, calls } => clients.answer_identity(wallet, passes, calls),
        Step::Issuer { wallet, linked } => clients.link_issuer(wallet, linked),
        Step::Form { payment } => clients.form(payment),
        Step::Recipient { wallet, step: keeps } => clients.change_recipient(wallet, keeps),
        Step::Wait { ms } => tokio::time::sleep(Duration::from_millis(ms)).await,
        Step::SetClock { by_ms } => world.set_clock(by_ms),
        Step::Panic { after, before } => world.fault_triggers.lock().panic = Some((after, before)),
        Step::ReadErrors { after, times } => world.fault_triggers.lock().reads = Some((after, times)),
        Step::SyncFails { after } => world.disk.set_faults(FaultSchedule {
            sync_fails_after: Some(after),
            ..faults
        }),
        Step::DiskFull { after_bytes } => world.disk.set_faults(FaultSchedule {
            capacity: Some(world.disk.used_bytes() + after_bytes),
            ..faults
        }),
        Step::CrashOnRestart(after) => {
            world.crash_on_start.store(true, Ordering::Relaxed);
            world.disk.set_faults(FaultSchedule {
                sync_fails_after: Some(after),
                ..faults
            });
        }
        Step::SnapshotsFail { after } => world.source.die_after(Some(after)),
        Step::Crash { after, .. } => world.set_crash_countdown(Some(after)),
        Step::Refresh { nth, back } => clients.refresh(nth, back),
        Step::BackUp => restores::back_up(world, store),
        // Nothing runs on from here.
        Step::Restore { .. } => world.crash_point_or_hang().await,
        Step::Key(does) => clients.key(does),
        Step::Outage { provider, ms, silent } => outages::start(world, provider, ms, silent),
        Step::Inspect => checks::inspect(world, &store.journal),
        Step::Rest => {
            finish(clients, store).await;
            checks::at_rest(world, &clients.engine, store, 0).await;
            world.faults_over.store(false, Ordering::Relaxed);
        }
    }
}

/// Faults are over: everybody gets an answer, every effect comes to its end, everything goes to sleep.
async fn finish(clients: &Clients, store: &SimStore) {
    let (world, engine) = (&clients.environment, &clients.engine);
    world.trace(|| "calm".into());
    world.faults_over.store(true, Ordering::Relaxed);
    world.set_crash_countdown(None);
    *world.fault_triggers.lock() = Default::default();
    world.disk.set_faults(FaultSchedule::default());
    world.source.die_after(None);
    world.crash_on_start.store(false, Ordering::Relaxed);
    let begun = world.true_ms();
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let jobs = engine.open_jobs(10_000).await.unwrap_or_default();
        crate::top_ups::operate(world, engine, &jobs).await;
        restores::operate(clients).await;
        if outages::operate(world, engine, &jobs).await {
            continue;
        }
        let waiting = world.client_log.lock().waiting;
        let asleep = engine.current_load().active_entities == 0;
        let heard = world.payouts.lock().is_fully_read()
            && world.bank.lock().is_fully_read()
            && world.issuer.lock().is_fully_read();
        let left = |e: &OutboxJob| !e.dead_lettered || crate::top_ups::moved_by(&e.job).is_some();
        let lost = restores::unresolved(world, engine);
        let conditions = [
            ("effects done", !jobs.iter().any(left)),
            ("clients answered", waiting == 0),
            ("actors asleep", asleep),
            ("providers heard", heard),
            ("no timer soon", !has_timer_soon(world)),
            ("restores over", lost.is_empty()),
            ("queue empty", store.headroom().queued == 0),
        ];
        let unmet = conditions.iter().filter(|(_, met)| !met).map(|(name, _)| *name);
        if conditions.iter().all(|(_, met)| *met) {
            return;
        }
        if world.true_ms() > begun + COMPLETION_TIMEOUT_MS {
            let census = engine.current_load();
            let unmet: Vec<&str> = unmet.collect();
            let detail = format!("not {unmet:?}: lost {lost:?}, {waiting} clients wait, {census:?}, open: {jobs:?}");
            return world.report_violation("rest.never", detail);
        }
    }
}

/// Whether a timer comes due before everything would be looked at.
fn has_timer_soon(world: &Environment) -> bool {
    let soon = world.machine_ms() + 120_000;
    let shadow = world.reference.lock();
    let mut timers = shadow.rows.iter().filter(|(key, _)| key[0] == table::TIMER);
    timers.any(|(_, row)| {
        codec::decode::<OutboxJob>(&row.value).is_ok_and(|outbox_job| outbox_job.next_attempt_at.0 < soon)
    })
}

/// Connected clients have received everything. Each subscriber reconnects, reads what it has not seen, and disconnects;
/// no state of it may remain.
async fn disconnect_clients(clients: &Clients, store: &SimStore, stream: &mut Stream) {
    let (world, engine) = (&clients.environment, &clients.engine);
    subscribers::settle().await;
    checks::inspect(world, &store.journal);
    subscribers::check_events(world, "stream.silence", &stream.listening());
    stream.connect_all();
    subscribers::settle().await;
    checks::inspect(world, &store.journal);
    subscribers::check_events(world, "stream.gap", &stream.all());
    stream.disconnect_all();
    // A timer for work that is already done still has to fire.
    let (tasks, begun) = (tokio::runtime::Handle::current().metrics(), world.true_ms());
    // Who compares lists may have met a difference meanwhile, whose actor goes to sleep again.
    let awake = || tasks.num_alive_tasks() > checks::max_idle_tasks(world) || engine.current_load().active_entities > 0;
    loop {
        while awake() && world.true_ms() < begun + COMPLETION_TIMEOUT_MS {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        subscribers::settle().await;
        // Reconciliation persists its position now and then.
        while store.headroom().queued > 0 {
            subscribers::settle().await;
        }
        // Meanwhile another difference may have been met.
        if !awake() || world.true_ms() >= begun + COMPLETION_TIMEOUT_MS {
            return;
        }
    }
}
