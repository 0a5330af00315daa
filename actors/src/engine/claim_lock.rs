//! Serialises claims of one payment, or under one identifier, within this process.
//!
//! The store decides which claim wins. A second claim sent at the same moment only loses, and takes with it whatever
//! its account had decided after it. The same payment therefore waits here for the first claim's result and then joins.
//! Another payment under the same identifier waits too, and takes the identifier's lock first.

use std::sync::Arc;

use dashmap::DashMap;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Locks of claims in progress, by payment number or digest of an identifier.
pub(super) type ClaimLocks = Arc<DashMap<u128, Arc<Mutex<()>>>>;

/// The right to claim, passed on when dropped.
pub(super) struct ClaimLock {
    locks: ClaimLocks,
    key: u128,
    guard: Option<OwnedMutexGuard<()>>,
    /// Whether another claim had it before: then the payment may be known by now.
    pub(super) waited: bool,
}

impl ClaimLock {
    pub(super) async fn acquire(turns: &ClaimLocks, of: u128) -> Self {
        let line = turns.entry(of).or_default().clone();
        // From here on the drop removes the entry, even if the caller is cancelled while it waits.
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
        // Each waiting claim holds a reference to the lock. The last one removes it.
        self.locks.remove_if(&self.key, |_, line| Arc::strong_count(line) == 1);
    }
}
