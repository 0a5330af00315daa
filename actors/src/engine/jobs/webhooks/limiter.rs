//! The two rooms that tries take place in, and what is counted of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use purser_storage::stats::{Histogram, HistogramSnapshot};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::{NO_RESPONSE, PostOutcome};
use crate::engine::webhooks::WebhookSettings;
use crate::id::{Wallet, WebhookId};
use crate::kernel::AttemptFailure;

/// When a try that found no room looks again, in milliseconds; jitter is added.
const FULL_RETRY_MS: u64 = 1_000;
/// The same of one that waits for another try to the same endpoint.
const BUSY_RETRY_MS: u64 = 1_000;

/// What part of the quick room an account has, at least one place: whoever has many endpoints that take their time leaves
/// room for all others.
const MAX_ACCOUNT_FRACTION: usize = 8;

/// What tries came to, in the order of [`PostFigures::outcomes`].
pub const OUTCOMES: [&str; 6] = ["delivered", "refused", "throttled", "gone", "no_answer", "not_called"];

/// From an event to the end of the first try that delivers it, in milliseconds.
const BOUNDS_MS: &[u64] = &[5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000];

/// What is counted of posting.
#[derive(Clone, Debug)]
pub struct WebhookStats {
    /// Tries since the start, by [`OUTCOMES`].
    pub outcomes: [u64; OUTCOMES.len()],
    /// Milliseconds from an event to its delivery, where the first try did it.
    pub first_ms: HistogramSnapshot,
    /// Tries that hang, or go to endpoints that did not answer last time.
    pub slow: usize,
}

/// Who may be tried when.
pub(in crate::engine) struct DeliveryLimiter {
    quick: Arc<Semaphore>,
    /// Of accounts that have a place in the quick room, or wait for one.
    shares: DashMap<Wallet, Arc<Semaphore>>,
    share_max: usize,
    pub(super) slow: Arc<Semaphore>,
    slow_max: usize,
    /// Whether an endpoint answered last time.
    pub(super) well: DashMap<WebhookId, bool>,
    /// Endpoints that are tried in the slow room.
    tried: DashMap<WebhookId, ()>,
    outcomes: [AtomicU64; OUTCOMES.len()],
    pub(super) first_ms: Histogram,
}

/// A place in a room.
pub(super) enum DeliveryPermit {
    Healthy(HealthyPermit),
    Degraded(DegradedPermit),
}

/// A place in the quick room, which is one of its account's.
pub(super) struct HealthyPermit {
    rooms: Arc<DeliveryLimiter>,
    owner: Wallet,
    own: Option<OwnedSemaphorePermit>,
    place: Option<OwnedSemaphorePermit>,
}

impl Drop for HealthyPermit {
    fn drop(&mut self) {
        (self.own, self.place) = (None, None);
        // Whoever waits holds the account's share too; the last one out removes it.
        let shares = &self.rooms.shares;
        shares.remove_if(&self.owner, |_, share| Arc::strong_count(share) == 1);
    }
}

/// The one place of an endpoint in the slow room.
pub(super) struct DegradedPermit {
    rooms: Arc<DeliveryLimiter>,
    endpoint: WebhookId,
    _place: OwnedSemaphorePermit,
}

impl Drop for DegradedPermit {
    fn drop(&mut self) {
        self.rooms.tried.remove(&self.endpoint);
    }
}

impl DeliveryLimiter {
    pub(in crate::engine) fn new(settings: &WebhookSettings) -> Arc<Self> {
        Arc::new(Self {
            quick: Arc::new(Semaphore::new(settings.quick_max)),
            shares: DashMap::new(),
            share_max: (settings.quick_max / MAX_ACCOUNT_FRACTION).max(1),
            slow: Arc::new(Semaphore::new(settings.slow_max)),
            slow_max: settings.slow_max,
            well: DashMap::new(),
            tried: DashMap::new(),
            outcomes: Default::default(),
            first_ms: Histogram::new(BOUNDS_MS),
        })
    }

    pub(in crate::engine) fn stats(&self) -> WebhookStats {
        WebhookStats {
            outcomes: self.outcomes.each_ref().map(|n| n.load(Ordering::Relaxed)),
            first_ms: self.first_ms.snapshot(),
            slow: self.slow_max.saturating_sub(self.slow.available_permits()),
        }
    }

    /// A place for a try to an endpoint that answered last time. It waits for one of its account's, and only then for room.
    pub(super) async fn acquire_healthy(self: &Arc<Self>, owner: Wallet) -> Result<DeliveryPermit, AttemptFailure> {
        let share = self
            .shares
            .entry(owner)
            .or_insert_with(|| Arc::new(Semaphore::new(self.share_max)))
            .clone();
        // From here on the share is removed by the drop, even if whoever waits is gone.
        let mut taken = HealthyPermit {
            rooms: self.clone(),
            owner,
            own: None,
            place: None,
        };
        let closed = |e: AcquireError| AttemptFailure::temporary(e.to_string());
        taken.own = Some(share.acquire_owned().await.map_err(closed)?);
        taken.place = Some(self.quick.clone().acquire_owned().await.map_err(closed)?);
        Ok(DeliveryPermit::Healthy(taken))
    }

    /// A place for a try to any other, if there is one now.
    pub(super) fn try_acquire_degraded(
        self: &Arc<Self>,
        endpoint: WebhookId,
        jitter: u64,
    ) -> Result<DeliveryPermit, AttemptFailure> {
        if self.tried.insert(endpoint, ()).is_some() {
            return Err(AttemptFailure::defer(BUSY_RETRY_MS + jitter % BUSY_RETRY_MS));
        }
        match self.slow.clone().try_acquire_owned() {
            Ok(place) => Ok(DeliveryPermit::Degraded(DegradedPermit {
                rooms: self.clone(),
                endpoint,
                _place: place,
            })),
            Err(_) => {
                self.tried.remove(&endpoint);
                Err(AttemptFailure::defer(FULL_RETRY_MS + jitter % (4 * FULL_RETRY_MS)))
            }
        }
    }

    pub(super) fn record(&self, end: &PostOutcome) {
        let place = match end {
            Ok(posted) => match posted.status {
                200..300 => 0,
                410 => 3,
                429 | 503 => 2,
                _ => 1,
            },
            Err(NO_RESPONSE) => 4,
            Err(_) => 5,
        };
        self.outcomes[place].fetch_add(1, Ordering::Relaxed);
    }
}
