//! The two rooms that tries take place in, and what is counted of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use purser_storage::stats::{Distribution, Histogram};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{CALLED, End};
use crate::engine::webhooks::WebhookSettings;
use crate::id::EndpointId;
use crate::kernel::Failure;

/// When a try that found no room looks again, in milliseconds; jitter is added.
const ROOM_AGAIN_MS: u64 = 1_000;
/// The same of one that waits for another try to the same endpoint.
const TURN_AGAIN_MS: u64 = 1_000;

/// What tries came to, in the order of [`PostFigures::outcomes`].
pub const OUTCOMES: [&str; 6] = ["delivered", "refused", "throttled", "gone", "no_answer", "not_called"];

/// From an event to the end of the first try that delivers it, in milliseconds.
const BOUNDS_MS: &[u64] = &[5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000];

/// What is counted of posting.
#[derive(Clone, Debug)]
pub struct PostFigures {
    /// Tries since the start, by [`OUTCOMES`].
    pub outcomes: [u64; OUTCOMES.len()],
    /// Milliseconds from an event to its delivery, where the first try did it.
    pub first_ms: Distribution,
    /// Tries that hang, or go to endpoints that did not answer last time.
    pub slow: usize,
}

/// Who may be tried when.
pub(in crate::engine) struct Rooms {
    quick: Arc<Semaphore>,
    pub(super) slow: Arc<Semaphore>,
    slow_max: usize,
    /// Whether an endpoint answered last time.
    pub(super) well: DashMap<EndpointId, bool>,
    /// Endpoints that are tried in the slow room.
    tried: DashMap<EndpointId, ()>,
    outcomes: [AtomicU64; OUTCOMES.len()],
    pub(super) first_ms: Histogram,
}

/// A place in a room.
pub(super) enum Place {
    Quick(OwnedSemaphorePermit),
    Slow(Turn),
}

/// The one place of an endpoint in the slow room.
pub(super) struct Turn {
    rooms: Arc<Rooms>,
    endpoint: EndpointId,
    _place: OwnedSemaphorePermit,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.rooms.tried.remove(&self.endpoint);
    }
}

impl Rooms {
    pub(in crate::engine) fn new(settings: &WebhookSettings) -> Arc<Self> {
        Arc::new(Self {
            quick: Arc::new(Semaphore::new(settings.quick_max)),
            slow: Arc::new(Semaphore::new(settings.slow_max)),
            slow_max: settings.slow_max,
            well: DashMap::new(),
            tried: DashMap::new(),
            outcomes: Default::default(),
            first_ms: Histogram::new(BOUNDS_MS),
        })
    }

    pub(in crate::engine) fn figures(&self) -> PostFigures {
        PostFigures {
            outcomes: self.outcomes.each_ref().map(|n| n.load(Ordering::Relaxed)),
            first_ms: self.first_ms.read(),
            slow: self.slow_max.saturating_sub(self.slow.available_permits()),
        }
    }

    pub(super) async fn enter(
        self: &Arc<Self>,
        endpoint: EndpointId,
        is_well: bool,
        jitter: u64,
    ) -> Result<Place, Failure> {
        if is_well {
            let place = self.quick.clone().acquire_owned().await;
            return place.map(Place::Quick).map_err(|e| Failure::temporary(e.to_string()));
        }
        if self.tried.insert(endpoint, ()).is_some() {
            return Err(Failure::not_yet(TURN_AGAIN_MS + jitter % TURN_AGAIN_MS));
        }
        match self.slow.clone().try_acquire_owned() {
            Ok(place) => Ok(Place::Slow(Turn {
                rooms: self.clone(),
                endpoint,
                _place: place,
            })),
            Err(_) => {
                self.tried.remove(&endpoint);
                Err(Failure::not_yet(ROOM_AGAIN_MS + jitter % (4 * ROOM_AGAIN_MS)))
            }
        }
    }

    pub(super) fn note(&self, end: &End) {
        let place = match end {
            Ok(posted) => match posted.status {
                200..300 => 0,
                410 => 3,
                429 | 503 => 2,
                _ => 1,
            },
            Err(CALLED) => 4,
            Err(_) => 5,
        };
        self.outcomes[place].fetch_add(1, Ordering::Relaxed);
    }
}
