//! Requests that wait until an API key is claimed, woken when its signup changes. The number of waiters is bounded in
//! total and per key. A client that gets no slot polls again later.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;
use purser_actors::id::ApiKeyId;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// A lost connection may still wait while its agent sends a new request.
const MAX_PER_KEY: usize = 2;

pub struct SignupWaiters {
    waiting: DashMap<ApiKeyId, WaiterList>,
    all: AtomicUsize,
    max_waiters: usize,
}

#[derive(Default)]
struct WaiterList {
    notify: Arc<Notify>,
    count: usize,
}

impl SignupWaiters {
    /// `most`: waiters in total.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            waiting: DashMap::new(),
            all: AtomicUsize::new(0),
            max_waiters: most,
        })
    }

    /// Reserves a slot to wait for a key; `None` when all are taken. Take the slot, start to listen, and then check
    /// whether the key was already claimed.
    pub fn wait_for(self: &Arc<Self>, key: ApiKeyId) -> Option<WaitSlot> {
        if self.all.fetch_add(1, Ordering::AcqRel) >= self.max_waiters {
            self.all.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        let mut waiting = self.waiting.entry(key).or_default();
        waiting.count += 1;
        let place = WaitSlot {
            waiters: self.clone(),
            key,
            notify: waiting.notify.clone(),
        };
        let crowded = waiting.count > MAX_PER_KEY;
        drop(waiting);
        (!crowded).then_some(place)
    }

    /// Wakes the waiters of a key.
    pub fn notify(&self, key: ApiKeyId) {
        if let Some(waiting) = self.waiting.get(&key) {
            waiting.notify.notify_waiters();
        }
    }

    /// Number of current waiters.
    pub fn count(&self) -> usize {
        self.all.load(Ordering::Acquire)
    }
}

/// A slot for one waiter; released when dropped.
pub struct WaitSlot {
    waiters: Arc<SignupWaiters>,
    key: ApiKeyId,
    notify: Arc<Notify>,
}

impl WaitSlot {
    /// Resolves when the key changes after this call.
    pub fn woken(&self) -> Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for WaitSlot {
    fn drop(&mut self) {
        if let dashmap::Entry::Occupied(mut entry) = self.waiters.waiting.entry(self.key) {
            entry.get_mut().count -= 1;
            if entry.get().count == 0 {
                entry.remove();
            }
        }
        self.waiters.all.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const KEY: ApiKeyId = ApiKeyId(1);

    // Checks: two wait for one key and a third cannot, and the total is bounded. A released slot can be taken again,
    // and keys without waiters leave no state.
    #[test]
    fn number_of_waiters_is_bounded() {
        let arrivals = SignupWaiters::new(3);
        let first = arrivals.wait_for(KEY).unwrap();
        let second = arrivals.wait_for(KEY).unwrap();
        assert!(arrivals.wait_for(KEY).is_none());
        let third = arrivals.wait_for(ApiKeyId(2)).unwrap();
        assert!(arrivals.wait_for(ApiKeyId(3)).is_none());
        assert_eq!(arrivals.count(), 3);
        drop(first);
        let again = arrivals.wait_for(KEY).unwrap();
        drop((second, third, again));
        assert_eq!((arrivals.count(), arrivals.waiting.len()), (0, 0));
    }

    // Checks: a waiter is woken by its own key only, also if the change happens before its first poll.
    #[tokio::test]
    async fn waiter_is_woken_only_by_its_own_key() {
        use futures_util::FutureExt as _;
        let arrivals = SignupWaiters::new(3);
        let place = arrivals.wait_for(KEY).unwrap();
        let mut woken = Box::pin(place.woken());
        arrivals.notify(ApiKeyId(2));
        assert!(woken.as_mut().now_or_never().is_none());
        let late = place.woken();
        arrivals.notify(KEY);
        woken.await;
        late.await;
    }
}
