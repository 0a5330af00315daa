//! The sandbox clock: the machine's time, moved forward by request and never back. The offset is in its own file. It is
//! synced before any caller sees it, so that a restart continues from there.
//!
//! Wallets date their signatures by their own clocks, which cannot be moved. Payments and chains therefore use the
//! machine's time.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::port::{Clock, Timestamp};

use purser_host::private_file;
use purser_host::system::SystemClock;

/// Maximum total offset: twenty years.
pub const MAX_OFFSET_MS: u64 = 20 * 366 * 86_400_000;

/// Why the time was not moved.
#[derive(Debug, thiserror::Error)]
pub enum AdvanceError {
    /// The total would exceed [`MAX_OFFSET_MS`].
    #[error("the time is not moved by more than twenty years in all")]
    TooFar,
    #[error("{0}")]
    Io(#[from] io::Error),
}

pub struct SandboxClock {
    file: PathBuf,
    offset_ms: AtomicU64,
    one: Mutex<()>,
}

impl SandboxClock {
    /// Opens the clock with the last process's offset: `clock.offset` in the directory, which must exist.
    ///
    /// # Errors
    /// When the file cannot be read, or has another format.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let file = directory.join("clock.offset");
        let damaged = || io::Error::new(ErrorKind::InvalidData, format!("{} is damaged", file.display()));
        let ahead = match fs::read_to_string(&file) {
            Ok(text) => text
                .trim()
                .parse()
                .ok()
                .filter(|ms| *ms <= MAX_OFFSET_MS)
                .ok_or_else(damaged)?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(Self {
            file,
            offset_ms: AtomicU64::new(ahead),
            one: Mutex::default(),
        })
    }

    /// Offset ahead of the machine's time, in milliseconds.
    pub fn offset_ms(&self) -> u64 {
        self.offset_ms.load(Ordering::Acquire)
    }

    /// Moves it forward. Blocks until that is durable.
    ///
    /// # Errors
    /// [`AdvanceError`]; the time is unchanged then.
    pub fn advance(&self, ms: u64) -> Result<(), AdvanceError> {
        let _one = self.one.lock();
        let ahead = self.offset_ms().saturating_add(ms);
        if ahead > MAX_OFFSET_MS {
            return Err(AdvanceError::TooFar);
        }
        private_file::replace(&self.file, format!("{ahead}\n").as_bytes())?;
        self.offset_ms.store(ahead, Ordering::Release);
        Ok(())
    }
}

impl Clock for SandboxClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_ms(self.offset_ms())
    }
}

/// Moves a provider's time on to the clock's. It never runs backwards.
pub fn advance(time: &mut Timestamp, clock: &dyn Clock) -> Timestamp {
    *time = clock.now().max(*time);
    *time
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: the next process sees the moved time, moving too far is rejected without a change, and a corrupt file is
    // an error, not zero.
    #[test]
    fn time_goes_forward_and_a_restart_keeps_it() {
        let directory = tempfile::tempdir().unwrap();
        let clock = SandboxClock::open(directory.path()).unwrap();
        let before = clock.now();
        clock.advance(86_400_000).unwrap();
        clock.advance(1_000).unwrap();
        assert!(clock.now() >= before.plus_ms(86_401_000));
        assert!(matches!(clock.advance(MAX_OFFSET_MS), Err(AdvanceError::TooFar)));
        let next = SandboxClock::open(directory.path()).unwrap();
        assert_eq!((clock.offset_ms(), next.offset_ms()), (86_401_000, 86_401_000));
        fs::write(directory.path().join("clock.offset"), "soon\n").unwrap();
        assert!(SandboxClock::open(directory.path()).is_err());
    }
}
