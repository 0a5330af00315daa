//! What every family stands on.

use std::sync::Arc;

use purser_storage::Store;
use tokio::runtime::Handle;

use crate::kernel::OutboxJob;
use crate::port::{Clock, Entropy};

/// Starts effects that have become durable.
pub trait JobStarter: Send + Sync {
    /// Must not block; called on the committing thread.
    fn start(&self, effect: OutboxJob);
}

/// What every family is built from.
#[derive(Clone)]
pub struct EntityDeps {
    /// Where entities live.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub entropy: Arc<dyn Entropy>,
    /// Where effects go.
    pub job_starter: Arc<dyn JobStarter>,
    /// Where activations run.
    pub runtime: Handle,
    /// Limits.
    pub limits: ActivationLimits,
}

/// How long and how many.
#[derive(Clone, Copy, Debug)]
pub struct ActivationLimits {
    /// Resident entities of one family, at most; above it the longest idle are passivated first.
    pub max_active: usize,
    /// Idle time before passivation, in milliseconds.
    pub passivate_after_ms: u64,
    /// First pause before an actor that died is started again, in milliseconds; doubles each time.
    pub restart_ms: u64,
    /// Longest such pause, in milliseconds.
    pub restart_max_ms: u64,
    /// Failed loads before an entity is quarantined.
    pub quarantine_after: u32,
}
