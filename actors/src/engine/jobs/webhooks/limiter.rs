//! The two concurrency pools for delivery attempts, and their statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use purser_storage::stats::{Histogram, HistogramSnapshot};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::{NO_RESPONSE, PostOutcome};
use crate::engine::webhooks::WebhookSettings;
use crate::id::{Wallet, WebhookId};
use crate::kernel::AttemptFailure;

/// Delay before an attempt that found no permit looks again, in milliseconds; jitter is added.
const FULL_RETRY_MS: u64 = 1_000;
/// Delay before an attempt that waits for another attempt to the same endpoint, in milliseconds; jitter is added.
const BUSY_RETRY_MS: u64 = 1_000;

/// An account may use at most this fraction of the healthy pool, and at least one permit. An account with many slow
/// endpoints thus leaves capacity for others.
const MAX_ACCOUNT_FRACTION: usize = 8;

/// Outcomes of attempts, in the order of [`WebhookStats::outcomes`].
pub const OUTCOMES: [&str; 6] = ["delivered", "rejected", "throttled", "gone", "timeout", "not_sent"];

/// Histogram bounds in milliseconds, from an event to the end of the first attempt that delivers it.
const BOUNDS_MS: &[u64] = &[5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000];

/// Statistics of webhook deliveries.
#[derive(Clone, Debug)]
pub struct WebhookStats {
    /// Attempts since the start, by [`OUTCOMES`].
    pub outcomes: [u64; OUTCOMES.len()],
    /// Milliseconds from an event to its delivery by the first attempt.
    pub first_ms: HistogramSnapshot,
    /// Attempts in progress that are slow, or go to degraded endpoints.
    pub degraded: usize,
}

/// Limits concurrent delivery attempts.
pub(in crate::engine) struct DeliveryLimiter {
    healthy: Arc<Semaphore>,
    /// Accounts that have a permit of the healthy pool, or wait for one.
    per_account: DashMap<Wallet, Arc<Semaphore>>,
    max_per_account: usize,
    pub(super) degraded: Arc<Semaphore>,
    max_degraded: usize,
    /// Whether the last attempt to an endpoint got a response.
    pub(super) answered_last: DashMap<WebhookId, bool>,
    /// Endpoints with an attempt in the degraded pool.
    in_attempt: DashMap<WebhookId, ()>,
    outcomes: [AtomicU64; OUTCOMES.len()],
    pub(super) first_ms: Histogram,
}

/// A permit of one of the pools.
pub(super) enum DeliveryPermit {
    Healthy(HealthyPermit),
    Degraded(DegradedPermit),
}

/// A permit of the healthy pool, which also counts for its account.
pub(super) struct HealthyPermit {
    limiter: Arc<DeliveryLimiter>,
    owner: Wallet,
    account_permit: Option<OwnedSemaphorePermit>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for HealthyPermit {
    fn drop(&mut self) {
        (self.account_permit, self.permit) = (None, None);
        // A waiting task holds a reference to the account's semaphore too. The last one removes it.
        let shares = &self.limiter.per_account;
        shares.remove_if(&self.owner, |_, share| Arc::strong_count(share) == 1);
    }
}

/// The single permit of an endpoint in the degraded pool.
pub(super) struct DegradedPermit {
    limiter: Arc<DeliveryLimiter>,
    endpoint: WebhookId,
    _permit: OwnedSemaphorePermit,
}

impl Drop for DegradedPermit {
    fn drop(&mut self) {
        self.limiter.in_attempt.remove(&self.endpoint);
    }
}

impl DeliveryLimiter {
    pub(in crate::engine) fn new(settings: &WebhookSettings) -> Arc<Self> {
        Arc::new(Self {
            healthy: Arc::new(Semaphore::new(settings.max_concurrent_healthy)),
            per_account: DashMap::new(),
            max_per_account: (settings.max_concurrent_healthy / MAX_ACCOUNT_FRACTION).max(1),
            degraded: Arc::new(Semaphore::new(settings.max_concurrent_degraded)),
            max_degraded: settings.max_concurrent_degraded,
            answered_last: DashMap::new(),
            in_attempt: DashMap::new(),
            outcomes: Default::default(),
            first_ms: Histogram::new(BOUNDS_MS),
        })
    }

    pub(in crate::engine) fn stats(&self) -> WebhookStats {
        WebhookStats {
            outcomes: self.outcomes.each_ref().map(|n| n.load(Ordering::Relaxed)),
            first_ms: self.first_ms.snapshot(),
            degraded: self.max_degraded.saturating_sub(self.degraded.available_permits()),
        }
    }

    /// Acquires a permit for a healthy endpoint. Waits for a permit of its account first, and only then for one of the
    /// pool.
    pub(super) async fn acquire_healthy(self: &Arc<Self>, owner: Wallet) -> Result<DeliveryPermit, AttemptFailure> {
        let share = self
            .per_account
            .entry(owner)
            .or_insert_with(|| Arc::new(Semaphore::new(self.max_per_account)))
            .clone();
        // From here on the drop removes the account's semaphore, even if the waiting task is cancelled.
        let mut taken = HealthyPermit {
            limiter: self.clone(),
            owner,
            account_permit: None,
            permit: None,
        };
        let closed = |e: AcquireError| AttemptFailure::temporary(e.to_string());
        taken.account_permit = Some(share.acquire_owned().await.map_err(closed)?);
        taken.permit = Some(self.healthy.clone().acquire_owned().await.map_err(closed)?);
        Ok(DeliveryPermit::Healthy(taken))
    }

    /// Acquires a permit for a degraded endpoint, if one is available now.
    pub(super) fn try_acquire_degraded(
        self: &Arc<Self>,
        endpoint: WebhookId,
        jitter: u64,
    ) -> Result<DeliveryPermit, AttemptFailure> {
        if self.in_attempt.insert(endpoint, ()).is_some() {
            return Err(AttemptFailure::defer(BUSY_RETRY_MS + jitter % BUSY_RETRY_MS));
        }
        match self.degraded.clone().try_acquire_owned() {
            Ok(place) => Ok(DeliveryPermit::Degraded(DegradedPermit {
                limiter: self.clone(),
                endpoint,
                _permit: place,
            })),
            Err(_) => {
                self.in_attempt.remove(&endpoint);
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
