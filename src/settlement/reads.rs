//! Reads of a chain while a caller waits: bounded in number and time; and what was found a moment ago, bounded in size and age.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// How long a caller waits for the chain before its payment is claimed.
pub const DEADLINE: Duration = Duration::from_millis(1_500);

/// Reads that may run at the same time.
#[derive(Debug)]
pub struct Reads {
    room: Semaphore,
    deadline: Duration,
}

impl Reads {
    /// At most so many, each within [`DEADLINE`].
    pub const fn at_once(most: usize) -> Self {
        Self::within(most, DEADLINE)
    }

    const fn within(most: usize, deadline: Duration) -> Self {
        Self {
            room: Semaphore::const_new(most),
            deadline,
        }
    }

    /// What a read came to; `None` if there is no room for it, or it takes too long: then it is given up.
    pub async fn run<T>(&self, read: impl Future<Output = T>) -> Option<T> {
        let _room = self.room.try_acquire().ok()?;
        tokio::time::timeout(self.deadline, read).await.ok()
    }
}

/// What was found a moment ago, by its name. A clock in milliseconds that never goes back is the caller's.
#[derive(Debug)]
pub struct Recent<K, V> {
    kept_ms: u64,
    most: usize,
    found: Mutex<HashMap<K, (V, u64)>>,
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// Keeps each for so long, and so many at most.
    pub fn new(kept_ms: u64, most: usize) -> Self {
        Self {
            kept_ms,
            most,
            found: Mutex::default(),
        }
    }

    /// Keeps what was found now. What is too old makes room first; if nothing is, everything goes: it is only asked for again.
    pub fn insert(&self, key: K, value: V, now_ms: u64) {
        let mut found = self.found.lock();
        if found.len() >= self.most {
            found.retain(|_, (_, at_ms)| now_ms < at_ms.saturating_add(self.kept_ms));
        }
        if found.len() >= self.most {
            found.clear();
        }
        found.insert(key, (value, now_ms));
    }

    /// What was found, and when, if it is young enough.
    pub fn get(&self, key: &K, now_ms: u64) -> Option<(V, u64)> {
        let found = self.found.lock();
        found
            .get(key)
            .filter(|(_, at_ms)| self.is_young(*at_ms, now_ms))
            .cloned()
    }

    /// The same, and it is forgotten: it is used once.
    pub fn take(&self, key: &K, now_ms: u64) -> Option<(V, u64)> {
        let found = self.found.lock().remove(key);
        found.filter(|(_, at_ms)| self.is_young(*at_ms, now_ms))
    }

    const fn is_young(&self, at_ms: u64, now_ms: u64) -> bool {
        now_ms < at_ms.saturating_add(self.kept_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Aim: a read that has no room or no end is given up, and its room is free again.
    #[tokio::test]
    async fn a_read_has_room_and_time_or_is_given_up() {
        let none = Reads::at_once(0);
        assert_eq!(none.run(async { 7 }).await, None);
        let one = Reads::within(1, Duration::ZERO);
        assert_eq!(one.run(std::future::pending::<()>()).await, None);
        let inner = async { one.run(async { 8 }).await };
        assert_eq!(one.run(inner).await, Some(None), "there is room for one");
        assert_eq!(one.run(async { 9 }).await, Some(9));
    }

    // Aim: each answer has an end, the number has a bound, and what is taken is gone.
    #[test]
    fn what_was_found_is_kept_for_a_moment() {
        let recent = Recent::new(100, 2);
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
