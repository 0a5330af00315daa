//! Limits for chain reads while a client waits (number and time), and a cache of their results (size and age).

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// Time limit of a read before a claim.
pub const DEADLINE: Duration = Duration::from_millis(1_500);

/// Limits of reads.
#[derive(Debug)]
pub struct ReadLimiter {
    permits: Semaphore,
    deadline: Duration,
}

impl ReadLimiter {
    /// At most `most` reads at the same time, each within [`DEADLINE`].
    pub const fn with_limit(most: usize) -> Self {
        Self::with_limit_and_deadline(most, DEADLINE)
    }

    const fn with_limit_and_deadline(most: usize, deadline: Duration) -> Self {
        Self {
            permits: Semaphore::const_new(most),
            deadline,
        }
    }

    /// The result of a read; `None` if the limit is reached or the read takes too long and is dropped.
    pub async fn run<T>(&self, read: impl Future<Output = T>) -> Option<T> {
        let _permit = self.permits.try_acquire().ok()?;
        tokio::time::timeout(self.deadline, read).await.ok()
    }
}

/// A cache of results. The caller passes the time in milliseconds, of a clock that never goes back.
#[derive(Debug)]
pub struct RecentCache<K, V> {
    ttl_ms: u64,
    max_entries: usize,
    entries: Mutex<HashMap<K, (V, u64)>>,
}

impl<K: Eq + Hash, V: Clone> RecentCache<K, V> {
    /// Each entry is valid for `ttl_ms` milliseconds; at most `max_entries` entries.
    pub fn new(ttl_ms: u64, max_entries: usize) -> Self {
        Self {
            ttl_ms,
            max_entries,
            entries: Mutex::default(),
        }
    }

    /// Inserts a result. At the limit, expired entries are removed; if there are none, all entries are.
    pub fn insert(&self, key: K, value: V, now_ms: u64) {
        let mut found = self.entries.lock();
        if found.len() >= self.max_entries {
            found.retain(|_, (_, at_ms)| now_ms < at_ms.saturating_add(self.ttl_ms));
        }
        if found.len() >= self.max_entries {
            found.clear();
        }
        found.insert(key, (value, now_ms));
    }

    /// A result and its time, unless it has expired.
    pub fn get(&self, key: &K, now_ms: u64) -> Option<(V, u64)> {
        let found = self.entries.lock();
        found
            .get(key)
            .filter(|(_, at_ms)| self.is_fresh(*at_ms, now_ms))
            .cloned()
    }

    /// Like [`Self::get`], and removes the entry.
    pub fn take(&self, key: &K, now_ms: u64) -> Option<(V, u64)> {
        let found = self.entries.lock().remove(key);
        found.filter(|(_, at_ms)| self.is_fresh(*at_ms, now_ms))
    }

    const fn is_fresh(&self, at_ms: u64, now_ms: u64) -> bool {
        now_ms < at_ms.saturating_add(self.ttl_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a read above the limit or without an end is dropped, and its permit is released.
    #[tokio::test]
    async fn a_read_has_a_permit_and_a_time_limit() {
        let none = ReadLimiter::with_limit(0);
        assert_eq!(none.run(async { 7 }).await, None);
        let one = ReadLimiter::with_limit_and_deadline(1, Duration::ZERO);
        assert_eq!(one.run(std::future::pending::<()>()).await, None);
        let inner = async { one.run(async { 8 }).await };
        assert_eq!(one.run(inner).await, Some(None), "one permit");
        assert_eq!(one.run(async { 9 }).await, Some(9));
    }

    // Checks: entries expire, their number is limited, and a taken entry is removed.
    #[test]
    fn results_are_cached_for_a_limited_time() {
        let recent = RecentCache::new(100, 2);
        recent.insert(1, "a", 0);
        assert_eq!(recent.get(&1, 99), Some(("a", 0)));
        assert_eq!(recent.get(&1, 100), None);
        assert_eq!(recent.take(&1, 99), Some(("a", 0)));
        assert_eq!(recent.get(&1, 0), None);
        recent.insert(1, "a", 0);
        assert_eq!(recent.take(&1, 100), None, "too old");

        recent.insert(1, "a", 0);
        recent.insert(2, "b", 50);
        recent.insert(3, "c", 120);
        assert_eq!((recent.get(&1, 120), recent.get(&2, 120)), (None, Some(("b", 50))));
        recent.insert(4, "d", 120);
        let left: Vec<_> = (1..=4).filter(|key| recent.get(key, 120).is_some()).collect();
        assert_eq!(left, [4], "none was too old");
    }
}
