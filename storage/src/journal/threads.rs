//! The four threads of a store: committer, applier, janitor, exporter.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::core::StoreCore;
use super::pacing::SyncPacing;
use crate::journal::export;

/// Interval at which retention by age is checked when nothing else happens.
const IDLE: Duration = Duration::from_secs(60);
/// The longest pause of the applier between two chunks.
const YIELD_PAUSE: Duration = Duration::from_millis(5);

pub(crate) struct Threads {
    committer: Mutex<Option<JoinHandle<()>>>,
    others: Mutex<Vec<JoinHandle<()>>>,
    stop: Arc<AtomicBool>,
}

impl Threads {
    pub(crate) fn none() -> Self {
        Self {
            committer: Mutex::default(),
            others: Mutex::default(),
            stop: Arc::default(),
        }
    }

    /// Threads are named after their store, so that the system's tools can tell apart those of two stores in a process.
    /// Linux shows 15 bytes of a name.
    pub(crate) fn start(engine: &Arc<StoreCore>, store: &str) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let run = |name: &str, body: fn(&StoreCore, &AtomicBool)| {
            let (engine, stop) = (Arc::clone(engine), Arc::clone(&stop));
            Builder::new().name(format!("{store}-{name}")).spawn(move || {
                if catch_unwind(AssertUnwindSafe(|| body(&engine, &stop))).is_err() {
                    engine.fail("a thread of the store panicked", &"see the log");
                }
            })
        };
        let threads = Self::none();
        *threads.committer.lock() = Some(run("committer", commit)?);
        *threads.others.lock() = vec![
            run("applier", apply)?,
            run("janitor", maintain)?,
            run("exporter", export)?,
        ];
        Ok(Self { stop, ..threads })
    }

    /// Ends the committer first, so that the applier sees everything.
    pub(crate) fn stop(&self, engine: &StoreCore) {
        join(self.committer.lock().take());
        self.stop.store(true, Ordering::Release);
        for bell in [
            &engine.applier_notifier,
            &engine.janitor_notifier,
            &engine.exporter_notifier,
        ] {
            bell.notify();
        }
        let others: Vec<_> = self.others.lock().drain(..).collect();
        others.into_iter().for_each(|thread| join(Some(thread)));
    }
}

fn join(thread: Option<JoinHandle<()>>) {
    // The last handle to the store may be dropped by a callback on one of its own threads, which cannot wait for
    // itself.
    if let Some(thread) = thread.filter(|t| t.thread().id() != std::thread::current().id()) {
        // A panic in it has been reported by its own wrapper.
        let _ = thread.join();
    }
}

fn commit(engine: &StoreCore, _stop: &AtomicBool) {
    let mut committer = engine.committer.lock();
    let mut pacing = SyncPacing::new(Duration::from_millis(engine.limits.sync_spacing_ms));
    let mut last_group = Instant::now();
    while engine.wait_queued() {
        loop {
            if !committer.has_leftover() {
                engine.wait_for_group(&mut pacing, last_group);
            }
            let started = Instant::now();
            match catch_unwind(AssertUnwindSafe(|| committer.step(engine))) {
                Ok(true) => engine
                    .commit_stats
                    .group_us
                    .record(started.elapsed().as_micros() as u64),
                Ok(false) => break,
                // A sink panicked. The next step answers every pending batch.
                Err(_) => engine.fail("the committer panicked", &"see the log"),
            }
            if let Some(group) = committer.take_synced() {
                pacing.synced(group);
                last_group = started;
            }
        }
    }
}

fn apply(engine: &StoreCore, stop: &AtomicBool) {
    let interval = Duration::from_millis(engine.limits.apply_interval_ms);
    while !engine.has_failed() {
        let stopping = stop.load(Ordering::Acquire);
        let started = Instant::now();
        let (mut worked, mut durable) = (started, 0);
        // While commits continue and no caller waits for it, the applier leaves half of a processor to the threads that
        // callers wait for.
        let mut breathe = || {
            let before = std::mem::replace(&mut durable, engine.durable.load(Ordering::Acquire));
            if durable != before && !stopping && engine.overlay.active_bytes() < engine.limits.apply_bytes {
                std::thread::sleep(worked.elapsed().min(YIELD_PAUSE));
            }
            worked = Instant::now();
        };
        match engine.apply_step(&mut breathe) {
            Err(e) => engine.fail("the snapshots failed", &e),
            Ok(_) if stopping => break,
            // The pause is longer than the work: more writes of a key become one, and the committer gets the processor.
            Ok(_) => wait_until_due(engine, stop, interval.max(started.elapsed() * 2)),
        }
    }
}

/// Waits until enough bytes wait for the snapshots, at most this long, or until the store stops.
fn wait_until_due(engine: &StoreCore, stop: &AtomicBool, at_most: Duration) {
    let begun = Instant::now();
    // The committer's notification may be older than the last application, which took what it was about.
    while engine.overlay.active_bytes() < engine.limits.apply_bytes.max(1)
        && !stop.load(Ordering::Acquire)
        && !engine.has_failed()
    {
        let left = at_most.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return;
        }
        engine.applier_notifier.wait(left);
    }
}

fn maintain(engine: &StoreCore, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) && !engine.has_failed() {
        if let Err(e) = engine.janitor_step() {
            engine.fail("the journal's upkeep failed", &e);
            break;
        }
        engine.janitor_notifier.wait(IDLE);
    }
}

fn export(engine: &StoreCore, stop: &AtomicBool) {
    loop {
        engine.exporter_notifier.wait(IDLE);
        if stop.load(Ordering::Acquire) || engine.has_failed() {
            break;
        }
        // Not fatal: the old export and the segments stay, only space is not freed.
        let result = export::export_if_due(engine).and_then(|()| export::retain(engine));
        if let Err(e) = result {
            tracing::error!(error = %e, "no export could be made; journal segments are kept");
        }
    }
}
