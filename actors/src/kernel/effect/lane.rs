//! Which work goes one behind the other.

use super::Work;

impl Work {
    /// Whose tries go one behind the other, a few at a time, so that what is slow there keeps no other waiting.
    pub const fn lane(&self) -> Option<u128> {
        match self {
            Self::PostWebhook { endpoint, .. } => Some(endpoint.0),
            _ => None,
        }
    }
}
