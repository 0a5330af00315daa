//! Background tasks that restart after a panic.

use std::time::Duration;

use tokio::task::JoinHandle;

/// Delay before a task restarts after a panic.
const RESTART: Duration = Duration::from_secs(1);

/// Runs until the task returns, or until this is dropped.
pub struct Supervised(JoinHandle<()>);

impl Supervised {
    /// Starts at once. `what` names the task in the log.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        what: &'static str,
        work: impl Fn() -> F + Send + 'static,
    ) -> Self {
        Self(tokio::spawn(async move {
            loop {
                let mut running = Aborting(tokio::spawn(work()));
                match (&mut running.0).await {
                    Ok(()) => return,
                    Err(ended) => tracing::error!(what, %ended, "background work has ended and begins again"),
                }
                tokio::time::sleep(RESTART).await;
            }
        }))
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Aborts the task when the future that waits for it is dropped.
struct Aborting(JoinHandle<()>);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    // Checks: a task that panics restarts, a task that returns does not.
    #[tokio::test(start_paused = true)]
    async fn work_that_panics_begins_again() {
        let begun = Arc::new(AtomicU32::new(0));
        let counted = begun.clone();
        let running = Supervised::start("a test", move || {
            let n = counted.fetch_add(1, Ordering::SeqCst);
            async move { assert_ne!(n, 0, "the first time") }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(begun.load(Ordering::SeqCst), 2);
        assert!(running.0.is_finished());
    }
}
