//! What runs in the background for a network's facilitators.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::list::List;

/// Before work that ended by a panic begins again.
const RESTART: Duration = Duration::from_secs(1);

/// Reads `/supported` again and again until this is dropped.
pub struct Tending(JoinHandle<()>);

impl Tending {
    /// Starts at once.
    pub fn start(list: Arc<List>) -> Self {
        Self(tokio::spawn(async move {
            loop {
                let list = Arc::clone(&list);
                let mut work = Aborting(tokio::spawn(async move { list.tend().await }));
                let ended = (&mut work.0).await;
                tracing::error!(
                    ?ended,
                    "what reads the facilitators' /supported has ended and begins again"
                );
                tokio::time::sleep(RESTART).await;
            }
        }))
    }
}

impl Drop for Tending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Ends with whoever waits for it.
struct Aborting(JoinHandle<()>);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}
