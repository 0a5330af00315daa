//! Dependencies of every registry.

use std::sync::Arc;

use purser_storage::Store;
use tokio::runtime::Handle;

use crate::kernel::OutboxJob;
use crate::port::{Clock, Entropy};

/// Starts jobs that have become durable.
pub trait JobStarter: Send + Sync {
    /// Must not block; called by the callback of the batch.
    fn start(&self, outbox_job: OutboxJob);
}

/// Shared dependencies of the registries.
#[derive(Clone)]
pub struct EntityDeps {
    /// Store of the entities.
    pub store: Arc<dyn Store>,
    /// Source of the time.
    pub clock: Arc<dyn Clock>,
    /// Source of ids.
    pub entropy: Arc<dyn Entropy>,
    /// Receiver of new jobs.
    pub job_starter: Arc<dyn JobStarter>,
    /// Runtime for activations.
    pub runtime: Handle,
    /// Limits on active entities and restarts.
    pub limits: ActivationLimits,
}

/// Limits on active entities and restarts.
#[derive(Clone, Copy, Debug)]
pub struct ActivationLimits {
    /// Maximum number of active entities of one kind; above it the longest idle are passivated first.
    pub max_active: usize,
    /// Idle time before passivation, in milliseconds.
    pub passivate_after_ms: u64,
    /// First delay before a crashed actor is restarted, in milliseconds; doubles each time.
    pub restart_ms: u64,
    /// Longest such delay, in milliseconds.
    pub restart_max_ms: u64,
    /// Failed loads before an entity is quarantined.
    pub quarantine_after: u32,
}
