//! The clock and the randomness of the machine the command runs on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use purser_actors::port::{Clock, Entropy, Timestamp};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::CliError;

/// The machine's wall clock.
pub(super) struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Random numbers from a seed of the operating system: SHA-256 over the seed and a counter. Seeding can fail, drawing
/// cannot, so a failure never becomes a weak key.
pub(super) struct MachineEntropy {
    seed: Zeroizing<[u8; 32]>,
    drawn: AtomicU64,
}

impl MachineEntropy {
    pub(super) fn seed() -> Result<Self, CliError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut())
            .map_err(|error| CliError::Connection(format!("the system gives no random numbers: {error}")))?;
        Ok(Self {
            seed,
            drawn: AtomicU64::new(0),
        })
    }
}

impl Entropy for MachineEntropy {
    fn random(&self) -> u128 {
        let count = self.drawn.fetch_add(1, Ordering::Relaxed);
        let hash = Sha256::new()
            .chain_update(self.seed.as_slice())
            .chain_update(count.to_be_bytes())
            .finalize();
        let mut number = [0; 16];
        number.copy_from_slice(&hash[..16]);
        u128::from_be_bytes(number)
    }
}
