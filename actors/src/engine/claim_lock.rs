//! One claim of a payment, or under an identifier, at a time within this process.
//!
//! The store decides who claims a payment; a second claim sent at the same moment only loses, and takes with it whatever
//! its account had decided behind it. So the same payment waits here for the first claim's answer and then joins; so does
//! another payment under the same identifier, which takes that turn first.

use std::sync::Arc;

use dashmap::DashMap;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// What is being claimed now, by the number of a payment or the digest of an identifier.
pub(super) type ClaimLocks = Arc<DashMap<u128, Arc<Mutex<()>>>>;

/// The right to claim; the next in line has it when this is dropped.
pub(super) struct ClaimLock {
    locks: ClaimLocks,
    key: u128,
    guard: Option<OwnedMutexGuard<()>>,
    /// Whether somebody else had it before: then the payment may be known by now.
    pub(super) waited: bool,
}

impl ClaimLock {
    pub(super) async fn acquire(turns: &ClaimLocks, of: u128) -> Self {
        let line = turns.entry(of).or_default().clone();
        // From here on the entry is removed by the drop, even if the caller goes away while it waits.
        let mut turn = Self {
            locks: turns.clone(),
            key: of,
            guard: None,
            waited: false,
        };
        turn.guard = match line.clone().try_lock_owned() {
            Ok(guard) => Some(guard),
            Err(_) => {
                turn.waited = true;
                Some(line.lock_owned().await)
            }
        };
        turn
    }
}

impl Drop for ClaimLock {
    fn drop(&mut self) {
        self.guard = None;
        // Whoever waits holds the line too; the last one out removes it.
        self.locks.remove_if(&self.key, |_, line| Arc::strong_count(line) == 1);
    }
}
