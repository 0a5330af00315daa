//! What outlives the process: disk, time, chance, the outside; and what the simulator remembers to judge by.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::engine::Engine;
use purser_actors::port::{Clock, Entropy, Timestamp};
use purser_storage::sim_disk::{SeededRng, SimDisk};
use purser_storage::snapshot::MemorySource;
use sha2::{Digest, Sha256};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bank::BankTruth;
use crate::bridge::BridgeTransfers;
use crate::chain::Ledger;
use crate::clients::ClientLog;
use crate::identity::IdentityTruth;
use crate::order_operators::OrderOperators;
use crate::outages::Outages;
use crate::payouts::RailLedger;
use crate::plan::Plan;
use crate::providers::CardNumbers;
use crate::reference_store::ReferenceStore;
use crate::reloadable_cards::IssuerLedger;
use crate::restores::Archive;
use crate::seller::SellerLedger;
use crate::subscribers::SimSubscriber;
use crate::withdrawal_operators::OperatorState;

/// 2026-11-20T23:50:00Z: midnight comes within most runs, and with it a new day of the caps.
const START_MS: u64 = 1_795_218_600_000;

/// Panics with this text are part of a run and are not printed.
pub(crate) const ORDERED_PANIC: &str = "a panic that the simulation ordered";

/// Something that must never be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvariantViolation {
    /// Which rule is broken.
    pub(crate) rule: &'static str,
    pub(crate) detail: String,
}

/// What is armed to go wrong inside the process.
#[derive(Default)]
pub(crate) struct FaultTriggers {
    /// Commits of an actor until one panics: `true` before it is enqueued, `false` behind.
    pub(crate) panic: Option<(u32, bool)>,
    /// Reads of rows until the next failures, and their number.
    pub(crate) reads: Option<(u32, u32)>,
}

/// Work of which there is one try at a time.
#[derive(Default)]
pub(crate) struct SingleAttemptJobs(Mutex<BTreeSet<(&'static str, u128)>>);

/// An attempt in progress.
pub(crate) struct RunningAttempt<'a>(&'a SingleAttemptJobs, (&'static str, u128));

impl SingleAttemptJobs {
    pub(crate) fn enter<'a>(&'a self, world: &Environment, rule: &'static str, what: u128) -> RunningAttempt<'a> {
        if !self.0.lock().insert((rule, what)) && !world.is_crashed() {
            world.report_violation(rule, format!("{what:x} is tried twice at once"));
        }
        let running = self.0.lock().iter().filter(|(other, _)| *other == rule).count();
        if running > world.plan.settings.retry.max_concurrent && !world.is_crashed() {
            world.report_violation("limit.running", format!("{running} attempts of {rule}"));
        }
        RunningAttempt(self, (rule, what))
    }
}

impl Drop for RunningAttempt<'_> {
    fn drop(&mut self) {
        self.0.0.lock().remove(&self.1);
    }
}

pub(crate) struct Environment {
    pub(crate) single_attempts: SingleAttemptJobs,
    pub(crate) plan: Plan,
    pub(crate) disk: SimDisk,
    pub(crate) source: MemorySource,
    pub(crate) reference: Mutex<ReferenceStore>,
    pub(crate) chain: Mutex<Ledger>,
    pub(crate) card_numbers: Mutex<CardNumbers>,
    pub(crate) payouts: Mutex<RailLedger>,
    pub(crate) bridge: Mutex<BridgeTransfers>,
    pub(crate) bank: Mutex<BankTruth>,
    pub(crate) issuer: Mutex<IssuerLedger>,
    pub(crate) withdrawal_operators: Mutex<OperatorState>,
    pub(crate) seller: Mutex<SellerLedger>,
    pub(crate) order_operators: Mutex<OrderOperators>,
    pub(crate) identity: Mutex<IdentityTruth>,
    pub(crate) client_log: Mutex<ClientLog>,
    pub(crate) archive: Mutex<Archive>,
    pub(crate) outages: Mutex<Outages>,
    /// The engine of this life, for what calls it from outside.
    pub(crate) engine: Mutex<Option<Engine>>,
    pub(crate) subscribers: Mutex<Vec<SimSubscriber>>,
    pub(crate) fault_triggers: Mutex<FaultTriggers>,
    /// Faults are over: whatever is open must come to its end.
    pub(crate) faults_over: AtomicBool,
    chance: Mutex<SeededRng>,
    /// Time of the lives before this one.
    earlier_runs_ms: AtomicU64,
    run_started: Mutex<Option<Instant>>,
    /// How far the machine's clock is off.
    skew_ms: AtomicI64,
    sequence: AtomicU64,
    entropy_draws: AtomicU64,
    crash_countdown: Mutex<Option<u32>>,
    crashed: AtomicBool,
    crash_signal: Notify,
    /// The next life ends before it has written anything.
    pub(crate) crash_on_start: AtomicBool,
    crash_points: AtomicU64,
    runs: AtomicU64,
    violation: Mutex<Option<InvariantViolation>>,
    trace: Option<Mutex<Vec<String>>>,
}

impl Environment {
    pub(crate) fn new(plan: &Plan, traced: bool) -> Arc<Self> {
        Arc::new(Self {
            single_attempts: SingleAttemptJobs::default(),
            disk: SimDisk::seeded(plan.seed),
            source: MemorySource::default(),
            reference: Mutex::default(),
            chain: Mutex::default(),
            card_numbers: Mutex::default(),
            payouts: Mutex::default(),
            bridge: Mutex::default(),
            bank: Mutex::default(),
            issuer: Mutex::default(),
            withdrawal_operators: Mutex::default(),
            seller: Mutex::default(),
            order_operators: Mutex::default(),
            identity: Mutex::default(),
            client_log: Mutex::default(),
            archive: Mutex::default(),
            outages: Mutex::default(),
            engine: Mutex::default(),
            subscribers: Mutex::default(),
            fault_triggers: Mutex::default(),
            faults_over: AtomicBool::new(false),
            chance: Mutex::new(SeededRng::new(plan.seed ^ 0x5EED)),
            earlier_runs_ms: AtomicU64::new(0),
            run_started: Mutex::default(),
            skew_ms: AtomicI64::new(0),
            sequence: AtomicU64::new(1),
            entropy_draws: AtomicU64::new(0),
            crash_countdown: Mutex::default(),
            crashed: AtomicBool::new(false),
            crash_signal: Notify::new(),
            crash_on_start: AtomicBool::new(false),
            crash_points: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            violation: Mutex::default(),
            trace: traced.then(Mutex::default),
            plan: plan.clone(),
        })
    }

    pub(crate) fn below(&self, n: u64) -> u64 {
        self.chance.lock().next_below(n)
    }

    pub(crate) fn one_in(&self, n: u64) -> bool {
        self.chance.lock().one_in(n)
    }

    pub(crate) fn with_chance<T>(&self, act: impl FnOnce(&mut SeededRng) -> T) -> T {
        act(&mut self.chance.lock())
    }

    /// A number that only grows. It orders the responses.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether a subscriber may find that old events are gone.
    pub(crate) fn may_lose_events(&self) -> bool {
        self.plan.may_lose_events() || self.archive.lock().mark().is_some()
    }

    pub(crate) fn are_faults_over(&self) -> bool {
        self.faults_over.load(Ordering::Relaxed)
    }
}

/// Life and death of the process.
impl Environment {
    pub(crate) fn start_run(&self) {
        *self.run_started.lock() = Some(Instant::now());
        self.crashed.store(false, Ordering::Relaxed);
        self.runs.fetch_add(1, Ordering::Relaxed);
        *self.crash_countdown.lock() = None;
        *self.fault_triggers.lock() = FaultTriggers::default();
        self.outages.lock().clear_counts();
    }

    /// Called within the life's runtime, whose clock ends with it.
    pub(crate) fn end_run(&self) {
        *self.engine.lock() = None;
        let began = self.run_started.lock().take();
        let lived = began.map_or(0, |b| b.elapsed().as_millis() as u64);
        self.earlier_runs_ms.fetch_add(lived, Ordering::Relaxed);
    }

    /// The process dies after this number of further crash points.
    pub(crate) fn set_crash_countdown(&self, points: Option<u32>) {
        *self.crash_countdown.lock() = points;
    }

    /// A place where the process can die: whatever it does next never happens.
    pub(crate) fn crash_point(&self) -> bool {
        self.crash_points.fetch_add(1, Ordering::Relaxed);
        let mut fuse = self.crash_countdown.lock();
        match &mut *fuse {
            Some(0) => {
                *fuse = None;
                drop(fuse);
                self.crash("at a point");
            }
            Some(left) => *left -= 1,
            None => {}
        }
        !self.is_crashed()
    }

    pub(crate) fn crash(&self, how: &str) {
        if !self.crashed.swap(true, Ordering::Relaxed) {
            self.trace(|| format!("the process dies {how}"));
            self.crash_signal.notify_one();
        }
    }

    pub(crate) fn is_crashed(&self) -> bool {
        self.crashed.load(Ordering::Relaxed)
    }

    pub(crate) async fn wait_for_crash(&self) {
        while !self.is_crashed() {
            self.crash_signal.notified().await;
        }
    }

    /// A place where the process can die and the caller waits for an answer: the dead never get one.
    pub(crate) async fn crash_point_or_hang(&self) {
        if !self.crash_point() {
            std::future::pending::<()>().await;
        }
    }

    /// Time passes outside the process.
    pub(crate) async fn delay(&self, ms: u64) {
        if ms > 0 {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        self.crash_point_or_hang().await;
    }

    pub(crate) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    pub(crate) fn crash_points(&self) -> u64 {
        self.crash_points.load(Ordering::Relaxed)
    }
}

/// What went wrong, and how it came to that.
impl Environment {
    pub(crate) fn report_violation(&self, rule: &'static str, detail: impl Into<String>) {
        let detail = detail.into();
        self.trace(|| format!("OBJECTION {rule}: {detail}"));
        let mut objection = self.violation.lock();
        if objection.is_none() {
            *objection = Some(InvariantViolation { rule, detail });
        }
        drop(objection);
        // Nothing behind the first wrong is worth looking at.
        self.crash("of an objection");
    }

    pub(crate) fn violation(&self) -> Option<InvariantViolation> {
        self.violation.lock().clone()
    }

    pub(crate) fn trace(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            let line = format!("{:>9} {}", self.true_ms(), line());
            trace.lock().push(line);
        }
    }

    pub(crate) fn traced(&self) -> Vec<String> {
        self.trace.as_ref().map(|t| t.lock().clone()).unwrap_or_default()
    }
}

impl Environment {
    /// What the chain and everybody else goes by, in milliseconds since the run began.
    pub(crate) fn true_ms(&self) -> u64 {
        let lived = self.earlier_runs_ms.load(Ordering::Relaxed);
        lived + self.run_started.lock().map_or(0, |b| b.elapsed().as_millis() as u64)
    }

    pub(crate) fn machine_ms(&self) -> u64 {
        (START_MS + self.true_ms()).saturating_add_signed(self.skew_ms.load(Ordering::Relaxed))
    }

    /// Time in which no process is there.
    pub(crate) fn advance_offline(&self, ms: u64) {
        self.earlier_runs_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// What a chain's clock shows at a time of the run, in milliseconds since 1970.
    pub(crate) const fn stamp(true_ms: u64) -> Timestamp {
        Timestamp(START_MS + true_ms)
    }

    pub(crate) fn set_clock(&self, by_ms: i64) {
        self.skew_ms.fetch_add(by_ms, Ordering::Relaxed);
    }
}

impl Clock for Environment {
    fn now(&self) -> Timestamp {
        Timestamp(self.machine_ms())
    }
}

impl Entropy for Environment {
    fn random(&self) -> u128 {
        let n = self.entropy_draws.fetch_add(1, Ordering::Relaxed);
        let hash = Sha256::digest([self.plan.seed.to_be_bytes(), n.to_be_bytes()].concat());
        u128::from_be_bytes(*hash.first_chunk().unwrap())
    }
}
