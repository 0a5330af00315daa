//! Dependencies of the engine in tests: clock, ids, fake providers and store, all controlled by the test.

pub(crate) mod bank;
pub(crate) mod bridge;
pub(crate) mod counter_entity;
pub(crate) mod gift_cards;
pub(crate) mod harness;
pub(crate) mod holdings;
pub(crate) mod identity;
pub(crate) mod issuer;
pub(crate) mod lists;
pub(crate) mod payouts;
pub(crate) mod ports;
pub(crate) mod receivers;
pub(crate) mod reloadable_cards;
pub(crate) mod sellers;
pub(crate) mod settings;
pub(crate) mod store;

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use purser_actors::port::{Clock, Entropy, Timestamp};
use sha2::{Digest, Sha256};

/// Panics with this text are part of a test and are not printed.
pub(crate) const EXPECTED_PANIC: &str = "a panic that the test ordered";

/// Suppresses the output of expected panics; others print as usual.
pub(crate) fn quiet_expected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.payload().downcast_ref::<String>();
            if text.is_none_or(|text| text != EXPECTED_PANIC) {
                print(info);
            }
        }));
    });
}

/// Starts at a fixed time, advances with the machine's monotonic clock, and can be set forward.
pub(crate) struct TestClock {
    started: Instant,
    offset_ms: AtomicU64,
}

/// 2026-11-20T12:00:00Z: noon, so that no test crosses midnight on its own.
pub(crate) const NOON_MS: u64 = 1_795_176_000_000;

impl TestClock {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            offset_ms: AtomicU64::new(NOON_MS),
        }
    }

    pub(crate) fn advance(&self, ms: u64) {
        self.offset_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let run = self.started.elapsed().as_millis() as u64;
        Timestamp(self.offset_ms.load(Ordering::SeqCst) + run)
    }
}

/// Deterministic random numbers of a seed.
pub(crate) struct SeededEntropy {
    seed: u64,
    taken: AtomicU64,
}

impl SeededEntropy {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            taken: AtomicU64::new(0),
        }
    }
}

impl Entropy for SeededEntropy {
    fn random(&self) -> u128 {
        let n = self.taken.fetch_add(1, Ordering::SeqCst);
        let hash = Sha256::digest([self.seed.to_be_bytes(), n.to_be_bytes()].concat());
        u128::from_be_bytes(*hash.first_chunk().expect("a digest has 32 bytes"))
    }
}

/// Polls until the condition holds; the deadline lets a broken engine fail instead of hang.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        assert!(Instant::now() < deadline, "never came true: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Runs `n` futures concurrently, each in its own task, and returns their results in order.
pub(crate) async fn together<F: Future<Output: Send> + Send + 'static>(n: u8, one: impl Fn(u8) -> F) -> Vec<F::Output> {
    let tasks: Vec<_> = (0..n).map(|n| tokio::spawn(one(n))).collect();
    let mut ends = Vec::with_capacity(tasks.len());
    for task in tasks {
        ends.push(task.await.expect("a task ends"));
    }
    ends
}

/// Fails instead of hanging.
pub(crate) async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    let Ok(value) = tokio::time::timeout(limit, future).await else {
        panic!("never ended: {what}");
    };
    value
}
