//! Partition of each job type.

use super::Job;

impl Job {
    /// Partition with its own concurrency limit, so that a slow dependency does not delay other jobs.
    pub const fn partition_key(&self) -> Option<u128> {
        match self {
            Self::DeliverWebhook { endpoint, .. } => Some(endpoint.0),
            _ => None,
        }
    }
}
