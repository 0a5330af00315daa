//! The timer of one connection, over which hyper limits the time that a request's head may take.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

/// One sleep of the runtime that runs on from request to request, and is moved only when it ends before the deadline. A
/// sleep for each request would be set and removed under a lock of the runtime, although nearly none ends.
#[derive(Clone)]
pub(super) struct ConnectionTimer(Arc<Mutex<Pin<Box<tokio::time::Sleep>>>>);

impl ConnectionTimer {
    /// For a connection whose first deadline is about this far away. hyper waits for one deadline at a time.
    pub(super) fn new(first: Duration) -> Self {
        Self(Arc::new(Mutex::new(Box::pin(tokio::time::sleep(first)))))
    }
}

impl Timer for ConnectionTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline {
            timer: self.clone(),
            at: deadline.into(),
        })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

struct Deadline {
    timer: ConnectionTimer,
    at: tokio::time::Instant,
}

impl Sleep for Deadline {}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut sleep = self.timer.0.lock();
        if sleep.deadline() > self.at {
            sleep.as_mut().reset(self.at);
        }
        while sleep.as_mut().poll(context).is_ready() {
            if sleep.deadline() == self.at {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(self.at);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: each deadline ends at its own time, whether the sleep before it was shorter, longer, or has ended.
    #[tokio::test(start_paused = true)]
    async fn deadline_ends_at_its_own_time() {
        let timer = ConnectionTimer::new(Duration::from_secs(10));
        for seconds in [10, 3, 20, 0, 5] {
            let began = tokio::time::Instant::now();
            timer
                .sleep_until((began + Duration::from_secs(seconds)).into_std())
                .await;
            assert_eq!(began.elapsed().as_secs(), seconds);
            // The head of a request arrives in time; the answer takes longer than its deadline or not as long.
            let unused = timer.sleep(Duration::from_secs(4));
            let soon = tokio::time::timeout(Duration::from_millis(1), unused).await;
            assert!(soon.is_err(), "{seconds}");
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
    }
}
