//! Which work goes one behind the other.

use super::Job;

impl Job {
    /// Whose tries go one behind the other, a few at a time, so that what is slow there keeps no other waiting.
    pub const fn partition_key(&self) -> Option<u128> {
        match self {
            Self::DeliverWebhook { endpoint, .. } => Some(endpoint.0),
            _ => None,
        }
    }
}
