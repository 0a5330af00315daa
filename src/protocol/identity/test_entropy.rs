//! Deterministic entropy for tests: different values within a run, the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::port::Entropy;
use sha2::{Digest, Sha256};

/// Hashes of a seed and a counter.
pub(crate) struct CountingEntropy {
    seed: u64,
    drawn: AtomicU64,
}

impl CountingEntropy {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            drawn: AtomicU64::new(0),
        }
    }
}

impl Entropy for CountingEntropy {
    fn random(&self) -> u128 {
        let count = self.drawn.fetch_add(1, Ordering::Relaxed);
        let hash = Sha256::digest([self.seed.to_be_bytes(), count.to_be_bytes()].concat());
        hash[..16].iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
    }
}
