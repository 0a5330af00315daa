//! The clocks, the randomness and the memory of the machine: the only place that asks the operating system for them.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use purser_actors::port::{Clock, Entropy, Timestamp};

/// Randomness for signatures by keys of P-256.
pub use ring::rand::SystemRandom;

/// The wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl SystemClock {
    fn since_1970() -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// Microseconds since 1970: what the journal's cursors are taken from.
    pub fn micros(self) -> u64 {
        u64::try_from(Self::since_1970().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(Self::since_1970().as_millis()).unwrap_or(u64::MAX))
    }
}

/// How long something takes. For figures only: nothing is decided by it.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// From now on.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since then.
    pub fn micros(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// The operating system's randomness, fetched a page at a time for each thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

/// Numbers fetched by one system call.
const PAGE: usize = 64;

thread_local! {
    static POOL: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
}

impl Entropy for SystemEntropy {
    fn random(&self) -> u128 {
        POOL.with_borrow_mut(|pool| {
            if pool.is_empty() {
                let mut bytes = [0; 16 * PAGE];
                fill(&mut bytes);
                pool.extend(bytes.as_chunks::<16>().0.iter().map(|b| u128::from_ne_bytes(*b)));
            }
            // Never empty here; each number is handed out once.
            pool.pop().unwrap_or_default()
        })
    }
}

/// Without randomness no id, nonce or key can be made, so the process ends rather than go on with a guess.
fn fill(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        tracing::error!(%error, "the operating system has no randomness");
        std::process::abort();
    }
}

/// Takes as many open files and sockets as the system allows this process: most systems begin with 1,024 and give more to
/// whoever asks. Gives how many there may be now, `None` for no limit.
pub fn raise_open_file_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: maximum,
        maximum,
    };
    match setrlimit(Resource::Nofile, all) {
        Ok(()) => maximum,
        Err(_) => current,
    }
}

/// Takes memory in small pages from here on, where the system knows the choice (Linux): a service of many small
/// allocations touches little of each 2 MiB that the kernel would clear for it, which took a seventh of a paid call.
/// Call it before anything else.
pub fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    // Refused, it costs time and memory and nothing else.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
