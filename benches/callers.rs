//! Closed-loop callers: each waits for its answer before it asks again.

use std::future::Future;
use std::time::{Duration, Instant};

/// What the callers saw.
pub(crate) struct Calls {
    /// Duration of each acknowledged call, in microseconds.
    pub(crate) latencies: Vec<u32>,
    /// From the first call to the last answer, in seconds.
    pub(crate) seconds: f64,
}

/// Lets `callers` call for `time`. `start` makes a caller; the caller makes one call at a time and says whether it was
/// acknowledged.
pub(crate) async fn closed_loop<C, F>(callers: usize, time: Duration, start: impl Fn(usize) -> C) -> Calls
where
    C: FnMut() -> F + Send + 'static,
    F: Future<Output = bool> + Send,
{
    let begun = Instant::now();
    let until = begun + time;
    let tasks: Vec<_> = (0..callers)
        .map(|n| {
            let mut call = start(n);
            tokio::spawn(async move {
                let mut latencies = Vec::with_capacity(4096);
                let mut now = Instant::now();
                while now < until {
                    if !call().await {
                        return None;
                    }
                    let after = Instant::now();
                    latencies.push(u32::try_from((after - now).as_micros()).unwrap_or(u32::MAX));
                    now = after;
                }
                Some(latencies)
            })
        })
        .collect();
    let mut latencies = Vec::new();
    let mut lost = 0;
    for task in tasks {
        match task.await {
            Ok(Some(own)) => latencies.extend(own),
            _ => lost += 1,
        }
    }
    // A caller that was refused would make its row look fast.
    assert_eq!(lost, 0, "every call of a bench is acknowledged");
    Calls {
        latencies,
        seconds: begun.elapsed().as_secs_f64(),
    }
}
