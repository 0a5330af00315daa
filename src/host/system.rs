//! The machine's clocks, randomness and memory settings: the only module that gets them from the operating system.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use purser_actors::port::{Clock, Entropy, Timestamp};

/// Randomness for P-256 signatures.
pub use ring::rand::SystemRandom;

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl SystemClock {
    fn since_1970() -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// Microseconds since 1970: the journal's cursors are based on them.
    pub fn micros(self) -> u64 {
        u64::try_from(Self::since_1970().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(Self::since_1970().as_millis()).unwrap_or(u64::MAX))
    }
}

/// Measures durations. For metrics only: no decision depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since the start.
    pub fn micros(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// The operating system's randomness, fetched per thread in pages.
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
            // Never empty here; each number is returned once.
            pool.pop().unwrap_or_default()
        })
    }
}

/// Without randomness no id, nonce or key can be generated, so the process ends instead of guessing.
fn fill(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        tracing::error!(%error, "the operating system has no randomness");
        std::process::abort();
    }
}

/// Raises the limit of open files and sockets as far as the system allows: most systems start with 1,024 and allow more
/// on request. Returns the new limit, `None` for no limit.
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

/// Disables transparent huge pages for this process, where supported (Linux). A service with many small allocations
/// uses little of each 2 MiB page that the kernel clears, which took a seventh of a paid call. Call it before anything
/// else.
pub fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    // If the system rejects it, the only cost is time and memory.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
